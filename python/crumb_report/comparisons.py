"""What the page says of crumb compare's rows. SPDX-License-Identifier: MIT"""
import os
from typing import Any

from .lines import Line, amount, amount_or_none, member
from .page import Section, Table
from .style import axis, figure, label, marker

SPEEDS = {"pack_gbps": "Pack (GB/s)", "unpack_gbps": "Unpack (GB/s)"}


def is_comparison(value: Any) -> bool:
    return isinstance(value, dict) and {"bits_per_element", "error"} <= set(value)


def _row(where: str, row: Any) -> list[Any]:
    file = os.path.basename(str(row.get("file", "")))
    return [member(where, row, "codec", str), file, amount(where, row, "bits_per_element"),
            amount_or_none(where, row, "error"), *(amount_or_none(where, row, key) for key in SPEEDS)]


def codecs(lines: list[Line]) -> list[str]:
    """Returns the curves' names."""
    return list(dict.fromkeys(member(where, row, "codec", str) for where, row in lines))


def sections(lines: list[Line]) -> list[Section]:
    rows, names = [_row(*line) for line in lines], codecs(lines)
    traces = []
    for i, name in enumerate(names):
        drawn = [row for row in rows if row[0] == name and row[2] and row[3]]
        traces.append({
            "type": "scatter", "mode": "markers", "name": label(name), "x": [row[2] for row in drawn], "meta": i,
            "y": [row[3] for row in drawn], "marker": marker(i, 9), "customdata": [label(row[1]) for row in drawn],
            "hovertemplate": "%{y:.3~g} of the squared norm<br>%{x:.4~g} bits an element<br>%{customdata}"
                             "<extra>%{fullData.name}</extra>"})
    drawn_figure = figure("Error against rate", traces, axis("Bits an element, whole frames", True),
                          axis("Squared error / squared norm", True, exponentformat="power"), 480)
    table = Table(["Codec", "File", "Bits an element", "Squared error / squared norm", *SPEEDS.values()], rows,
                  [names.index(row[0]) for row in rows])
    return [Section("Codecs on these gradients", "Codecs without an error, or whose error is 0, have no point.",
                    [drawn_figure, table])]
