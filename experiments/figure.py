"""A figure of results, as SVG that depends on them alone: lines over epochs, or a point a run. SPDX-License-Identifier: MIT"""
import math

# Okabe and Ito's colours, which most people can tell apart.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#000000"]
WIDTH, HEIGHT, LEFT, TOP, ROW = 640, 300, 60, 16, 16


def ticks(low, high, log):
    """Round values from low to high, at least two."""
    if log:
        return [m * 10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)
                if low * 0.999 <= m * 10.0 ** e <= high * 1.001]
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    while (high - low) / step > 6:
        step *= 2 if (high - low) / step < 12 else 2.5 if (high - low) / step < 15 else 5
    return [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


class Axis:
    """From values to pixels."""

    def __init__(self, values, log, first, last):
        low, high = min(values), max(values)
        if low == high:
            low, high = (low / 2, high * 2) if log and low > 0 else (low - 1, high + 1)
        self.log, self.low, self.high, self.first, self.last = log, low, high, first, last

    def place(self, value):
        a, b, c = (math.log(v) for v in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        return self.first + (self.last - self.first) * (c - a) / (b - a)

    def ticks(self):
        return [(self.place(value), f"{value:.4g}") for value in ticks(self.low, self.high, self.log)]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def draw(curves, x_title, y_title, x_log=False, y_log=False):
    """curves: a list of points by label. A curve of one point is a dot."""
    points = [point for curve in curves.values() for point in curve]
    x = Axis([p[0] for p in points], x_log, LEFT, WIDTH - 16)
    y = Axis([p[1] for p in points], y_log, TOP + HEIGHT, TOP)
    height = TOP + HEIGHT + 44 + ROW * len(curves)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    for at, text in x.ticks():
        out += [f'<path d="M{at:.1f} {TOP}V{TOP + HEIGHT}" stroke="#dddddd"/>',
                f'<text x="{at:.1f}" y="{TOP + HEIGHT + 14}" text-anchor="middle">{text}</text>']
    for at, text in y.ticks():
        out += [f'<path d="M{LEFT} {at:.1f}H{WIDTH - 16}" stroke="#dddddd"/>',
                f'<text x="{LEFT - 4}" y="{at + 4:.1f}" text-anchor="end">{text}</text>']
    out += [f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{TOP + HEIGHT + 30}" text-anchor="middle">{escape(x_title)}</text>',
            f'<text transform="translate(14 {TOP + HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">{escape(y_title)}</text>']
    for i, (label, curve) in enumerate(curves.items()):
        colour, dash = COLOURS[i % len(COLOURS)], ' stroke-dasharray="6 3"' if i >= len(COLOURS) else ""
        at = [(x.place(p[0]), y.place(p[1])) for p in curve]
        if len(at) > 1:
            out.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in at)}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>')
        out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in at]
        row = TOP + HEIGHT + 48 + ROW * i
        out += [f'<circle cx="{LEFT + 4}" cy="{row - 4}" r="4" fill="{colour}"/>', f'<text x="{LEFT + 14}" y="{row}">{escape(label)}</text>']
    return "\n".join(out) + "\n</svg>\n"
