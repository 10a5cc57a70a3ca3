"""Figures as Plotly has them, in one style: colours, axes, and curves that say their units under the pointer.
SPDX-License-Identifier: MIT"""
import html
from typing import Any, Mapping, Optional, Sequence

Figure = dict[str, Any]  # {"data": traces, "layout": ...}, Plotly's own JSON
Numbers = Sequence[Optional[float]]

# Okabe and Ito's colours, which most people can tell apart, on white and on black; violet stands for their yellow.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8a63d2", "#8c8c8c"]
DASHES = ["solid", "dash", "dot", "dashdot"]  # one for every round of colours
SYMBOLS = {"circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲"}  # the same, and as text
GREY = "#8c8c8c"


def colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def symbol(i: int) -> str:
    return list(SYMBOLS)[i // len(COLOURS) % len(SYMBOLS)]


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def label(text: str) -> str:
    """Returns text that Plotly shows as it is: it reads a few of HTML's tags."""
    return html.escape(printable(text), quote=False)


def short(text: str, most: int = 22) -> str:
    return text if len(text) <= most else text[:most - 1] + "…"


def _spread(traces: list[dict[str, Any]], key: str) -> float:
    """Returns by which factor positive values differ."""
    values = [value for trace in traces for value in trace[key] if isinstance(value, (int, float)) and value > 0]
    return max(values) / min(values) if values else 1.0


def axis(title: str, log: bool = False, **more: Any) -> dict[str, Any]:
    kind = {"type": "log", "exponentformat": "SI", "minexponent": 4} if log else {"rangemode": "tozero"}
    return {"title": {"text": title}, "automargin": True, "zeroline": False, "ticks": "outside", "ticklen": 4, **kind,
            **more}


def figure(title: str, traces: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any], height: int = 340,
           **layout: Any) -> Figure:
    for key, of in ("x", x), ("y", y):
        if of.get("type") == "log" and (spread := _spread(traces, key)) > 8:
            of["dtick"] = "D2" if spread < 2000 else 1  # labels at 1, 2 and 5, or at powers of ten only
    return {"data": traces, "layout": {
        "title": {"text": label(title), "font": {"size": 15}, "x": 0.02, "xanchor": "left"}, "xaxis": x, "yaxis": y,
        "height": height, "margin": {"l": 56, "r": 16, "t": 40, "b": 48}, "showlegend": False, "hovermode": "closest",
        "hoverlabel": {"namelength": -1, "align": "left"}, "font": {"family": "system-ui, sans-serif", "size": 12},
        **layout}}


def marker(i: int, size: int = 6) -> dict[str, Any]:
    return {"color": colour(i), "size": size, "symbol": symbol(i)}


def curve(i: int, name: str, x: Numbers, y: Numbers, hover: str, **more: Any) -> dict[str, Any]:
    """A line through points. i: its number, by which it has its colour; hover: in Plotly's terms, such as "%{y} s"."""
    return {"type": "scatter", "mode": "lines+markers", "name": label(name), "x": list(x), "y": list(y),
            "meta": i, "line": {"color": colour(i), "width": 2, "dash": DASHES[i // len(COLOURS) % len(DASHES)]},
            "marker": marker(i), "hovertemplate": hover + "<extra>%{fullData.name}</extra>", **more}


def stacked(title: str, rows: Sequence[str], parts: Mapping[str, tuple[str, Numbers]], unit: str) -> Figure:
    """A bar a row, of parts: by name their colour and a number a row."""
    traces = [{"type": "bar", "orientation": "h", "name": label(name), "y": list(range(len(rows))), "x": list(numbers),
               "marker": {"color": fill}, "customdata": [label(row) for row in rows],
               "hovertemplate": f"%{{x:.4~g}} {unit} {label(name)}<extra>%{{customdata}}</extra>"}
              for name, (fill, numbers) in parts.items()]
    ticks = {"tickmode": "array", "tickvals": list(range(len(rows))), "ticktext": [label(short(row)) for row in rows]}
    return figure(title, traces, axis(f"{title} ({unit})"),
                  {"autorange": "reversed", "automargin": True, "zeroline": False, "showgrid": False, **ticks},
                  130 + 26 * len(rows), barmode="stack", showlegend=True,
                  legend={"orientation": "h", "traceorder": "normal", "y": 1, "yanchor": "bottom", "x": 0})
