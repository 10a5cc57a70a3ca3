"""Figures of results in the style of crumb_report: lines over epochs, or a point a run. SPDX-License-Identifier: MIT"""
import os
import sys
import textwrap

from markdown import ROOT

sys.path.append(os.path.join(ROOT, "python"))
from crumb_report.style import axis, curve, figure, label  # noqa: E402

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, ROW = 560, 250, 80, 48, 52, 19  # pixels; ROW: a line of the legend


def panel_axes(number, count, titles, x_title, x_log, y_log):
    """Returns a panel's axes and its title. Panels stand in pairs."""
    columns, column, line = min(count, 2), number % 2, number // 2
    left = column / columns + (0.06 if column else 0)
    right = (column + 1) / columns - (0.06 if column + 1 < columns else 0)
    high = (TOP + HEIGHT + BOTTOM) * ((count + 1) // 2)
    top = 1 - (TOP + HEIGHT + BOTTOM) * line / high
    domains = {"x": [left, right], "y": [top - (TOP + HEIGHT) / high, top - TOP / high]}
    name = str(number + 1) if number else ""
    lines = "<br>".join(map(label, textwrap.wrap(titles[0], 70)))
    title = {"text": f"<b>{lines}</b>", "showarrow": False, "xref": "paper", "yref": "paper", "xanchor": "center",
             "x": (left + right) / 2, "y": domains["y"][1], "yanchor": "bottom", "font": {"size": 12}}
    return {f"xaxis{name}": axis(x_title, x_log, domain=domains["x"], anchor=f"y{name}", rangemode="normal"),
            f"yaxis{name}": axis(titles[1], y_log, domain=domains["y"], anchor=f"x{name}", rangemode="normal")}, title


def draw(panels, x_title, x_log=False, y_log=False, marks=None):
    """Returns a figure of panels in pairs: by their title and y's, lists of points by label; one point is a dot. marks:
    points by label that are drawn as crosses in every panel."""
    marks = marks or {}
    labels = list(dict.fromkeys([name for curves in panels.values() for name in curves] + list(marks)))
    traces, axes, titles, seen = [], {}, [], set()
    for number, (texts, curves) in enumerate(panels.items()):
        own_axes, title = panel_axes(number, len(panels), texts, x_title, x_log, y_log)
        axes.update(own_axes)
        titles.append(title)
        for name, points in [*curves.items(), *marks.items()]:
            x, y = zip(*sorted(points))
            crosses = name in marks and name not in curves
            more = {"mode": "markers", "marker": {"symbol": "x", "size": 8, "color": "#444444"}} if crosses else {}
            place = {"xaxis": f"x{number + 1}", "yaxis": f"y{number + 1}"} if number else {}
            traces.append(curve(labels.index(name), name.replace("`", ""), x, y, "", legendgroup=name,
                                showlegend=name not in seen, **place, **more))
            seen.add(name)
    high = (TOP + HEIGHT + BOTTOM) * ((len(panels) + 1) // 2)
    legend = {"x": 0, "y": 0, "xanchor": "left", "yanchor": "top", "traceorder": "normal"}
    return figure("", traces, axes.pop("xaxis"), axes.pop("yaxis"), high + ROW * len(labels) + 12, **axes,
                  width=WIDTH * min(len(panels), 2), annotations=titles, showlegend=True, legend=legend,
                  margin={"l": LEFT, "r": 16, "t": 0, "b": ROW * len(labels) + 12})
