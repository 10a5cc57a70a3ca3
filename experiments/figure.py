"""Figures of results, as SVG that depends on them alone: lines over epochs, or a point a run.
SPDX-License-Identifier: MIT"""
import math

# Okabe and Ito's colours, which most people can tell apart.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#000000"]
WIDTH, HEIGHT, LEFT, TOP, ROW = 560, 240, 60, 28, 16  # of a panel


def ticks(low, high, log):
    """Returns round values from low to high, at least two."""
    if log:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        there = [m * 10.0 ** e for e in decades for m in (1, 2, 5) if low * 0.999 <= m * 10.0 ** e <= high * 1.001]
        if len(there) > 1:
            return there
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    while (high - low) / step > 6:
        step *= 2 if (high - low) / step < 12 else 2.5 if (high - low) / step < 15 else 5
    return [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


class Axis:
    """Maps values to pixels."""

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


def panel(title, y_title, curves, x_title, x_log, y_log, marks):
    points = [point for curve in [*curves.values(), *marks.values()] for point in curve]
    x = Axis([p[0] for p in points], x_log, LEFT, WIDTH - 16)
    y = Axis([p[1] for p in points], y_log, TOP + HEIGHT, TOP)
    middle = (LEFT + WIDTH) / 2
    yield f'<text x="{middle:.0f}" y="{TOP - 10}" text-anchor="middle" font-weight="bold">{escape(title)}</text>'
    for at, text in x.ticks():
        yield f'<path d="M{at:.1f} {TOP}V{TOP + HEIGHT}" stroke="#dddddd"/>'
        yield f'<text x="{at:.1f}" y="{TOP + HEIGHT + 14}" text-anchor="middle">{text}</text>'
    for at, text in y.ticks():
        yield f'<path d="M{LEFT} {at:.1f}H{WIDTH - 16}" stroke="#dddddd"/>'
        yield f'<text x="{LEFT - 4}" y="{at + 4:.1f}" text-anchor="end">{text}</text>'
    yield f'<text x="{middle:.0f}" y="{TOP + HEIGHT + 30}" text-anchor="middle">{escape(x_title)}</text>'
    yield (f'<text transform="translate(14 {TOP + HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">'
           f'{escape(y_title)}</text>')
    for i, (label, curve) in enumerate(curves.items()):
        colour, again = COLOURS[i % len(COLOURS)], i >= len(COLOURS)
        line = f'fill="none" stroke="{colour}" stroke-width="1.5"' + (' stroke-dasharray="6 3"' if again else "")
        dot = f'fill="white" stroke="{colour}"' if again else f'fill="{colour}"'
        at = [(x.place(p[0]), y.place(p[1])) for p in sorted(curve)]
        if len(at) > 1:
            yield f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in at)}" {line}/>'
        yield from (f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" {dot}/>' for a, b in at)
        row = TOP + HEIGHT + 48 + ROW * i
        yield f'<circle cx="{LEFT + 4}" cy="{row - 4}" r="4" {dot}/>'
        yield f'<text x="{LEFT + 14}" y="{row}">{escape(label)}</text>'
    for i, (label, mark) in enumerate(marks.items(), len(curves)):
        row, line = TOP + HEIGHT + 48 + ROW * i, f'fill="none" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="2"'
        for a, b in [(x.place(p[0]), y.place(p[1])) for p in mark] + [(LEFT + 4, row - 4)]:
            yield f'<path d="M{a - 4:.1f} {b - 4:.1f}l8 8m0 -8l-8 8" {line}/>'
        yield f'<text x="{LEFT + 14}" y="{row}">{escape(label)}</text>'


def draw(panels, x_title, x_log=False, y_log=False, marks=None):
    """Returns a figure of panels in pairs: by their title and y's, lists of points by label; one point is a dot. marks:
    points by label that are drawn as crosses in every panel."""
    marks = marks or {}
    drawn, width, height, panels = [], WIDTH * min(len(panels), 2), 0, list(panels.items())
    for pair in (panels[i:i + 2] for i in range(0, len(panels), 2)):
        for i, (titles, curves) in enumerate(pair):
            drawn += [f'<g transform="translate({i * WIDTH} {height})">',
                      *panel(*titles, curves, x_title, x_log, y_log, marks), "</g>"]
        height += TOP + HEIGHT + 44 + ROW * max(len(curves) + len(marks) for _, curves in pair)
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                      'font-family="sans-serif" font-size="11">', 
                      f'<rect width="{width}" height="{height}" fill="white"/>', *drawn, "</svg>\n"])
