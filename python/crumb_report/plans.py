"""What the page says of crumb plan's rows. SPDX-License-Identifier: MIT"""
import math
from dataclasses import dataclass
from typing import Any, Callable, Optional

from .lines import Line, amount, amount_or_none, amounts, count, member, refuse
from .page import Cell, Section, Table
from .style import COLOURS, GREY, Figure, axis, colour, curve, figure, label, stacked

TERMS = {"compute": COLOURS[0], "codec": COLOURS[1], "inside": COLOURS[2], "latency": COLOURS[4], "wire": COLOURS[3]}
PLAIN = "all-reduce"


@dataclass
class Row:
    """A step on one cluster. swept: of a link that nobody asked about, drawn for the curve alone."""
    model: str
    codec: str
    plan: str
    nodes: int
    link: float
    step: float
    speed: float
    seconds: dict[str, float]
    pays_above: float
    pays_below: float
    swept: bool



def is_plan(value: Any) -> bool:
    return isinstance(value, dict) and "plan" in value and "samples_per_second" in value


def _row(where: str, row: Any) -> Row:
    link, step, speed = (amount(where, row, key) for key in ("link", "step", "samples_per_second"))
    seconds = amounts(where, row, "seconds")
    for term in TERMS:
        if term not in seconds:
            refuse(where, f'no seconds of "{term}"')
    if not link or not step or not speed:
        refuse(where, "a link, a step or a speed is 0")
    below = amount_or_none(where, row, "pays_below")
    return Row(member(where, row, "model", str), member(where, row, "codec", str), member(where, row, "plan", str),
               count(where, row, "nodes"), link, step, speed, seconds, amount_or_none(where, row, "pays_above") or 0,
               math.inf if below is None else below, row.get("swept") is True)


def rows_of(lines: list[Line]) -> list[Row]:
    """Returns the rows, which may differ in network, nodes, link, codec and plan."""
    rows: list[Row] = []
    computes: dict[str, float] = {}
    plain: dict[tuple[str, int, float], float] = {}
    for where, line in lines:
        row = _row(where, line)
        for key in "ranks", "gpus", "batch", "latency":
            if line.get(key) != lines[0][1].get(key):
                refuse(where, f'"{key}" is not that of the first line: a page is of one')
        if row.plan == PLAIN and computes.setdefault(row.model, row.seconds["compute"]) != row.seconds["compute"]:
            refuse(where, f"{row.model} computes for another time than before: a page is of one")
        at = row.model, row.nodes, row.link
        if row.plan == PLAIN and plain.setdefault(at, row.step) != row.step:
            refuse(where, "plain all-reduce takes another time than before: a page is of one cluster")
        rows.append(row)
    return rows


def names_of(rows: list[Row]) -> list[str]:
    """Returns the curves' names."""
    return list(dict.fromkeys(row.codec for row in rows if row.plan != PLAIN))


def _fastest(rows: list[Row], axis_of: str) -> list[Row]:
    """The fastest plan at each value of the axis, in order."""
    by: dict[float, Row] = {}
    for row in rows:
        at = getattr(row, axis_of)
        if at not in by or row.step < by[at].step:
            by[at] = row
    return [by[at] for at in sorted(by)]


def _plain_step(plain: Row, link: float) -> float:
    """Plain all-reduce's step over another link: only the time on the wire depends on it."""
    return plain.step + plain.seconds["wire"] * (plain.link / link - 1)


def _break_even(rows: list[Row]) -> Optional[float]:
    """The link at which a codec's curve crosses plain all-reduce's, where a plan of this curve's does."""
    links = [row.link for row in rows]
    for i, row in enumerate(rows):
        low, high = links[max(i - 1, 0)], links[min(i + 1, len(links) - 1)]
        for crossing in row.pays_below, row.pays_above:
            if low <= crossing <= high and crossing > 0:
                return crossing
    return None


def _plain_curve(rows: list[Row], axis_of: str, value: Callable[[Row], float], hover: str) -> dict[str, Any]:
    own = _fastest([row for row in rows if row.plan == PLAIN], axis_of)
    return {**curve(0, "plain all-reduce", [getattr(row, axis_of) for row in own], [value(row) for row in own], hover,
                    mode="lines", line={"color": GREY, "width": 6}, opacity=0.5), "meta": None}


def _against_links(rows: list[Row], names: list[str], title: str) -> Figure:
    plain = next((row for row in rows if row.plan == PLAIN), None)
    hover = "%{y:.3~s}s a step<br>%{x:.3~s}b/s"
    traces = [_plain_curve(rows, "link", lambda row: row.step, hover)]
    for i, name in enumerate(names):
        own = _fastest([row for row in rows if row.codec == name and row.plan != PLAIN], "link")
        traces.append(curve(i, name, [row.link for row in own], [row.step for row in own], hover + ", %{customdata}",
                            mode="lines", customdata=[label(row.plan) for row in own]))
        even = _break_even(own) if plain else None
        if even and plain:
            traces.append(curve(i, name, [even], [_plain_step(plain, even)], "breaks even at %{x:.3~s}b/s",
                                mode="markers", marker={"symbol": "x", "size": 11, "color": colour(i)}))
    asked = sorted({row.link for row in rows if not row.swept})
    marks = [{"type": "line", "x0": link, "x1": link, "y0": 0, "y1": 1, "yref": "paper",
              "line": {"color": GREY, "width": 1, "dash": "dot"}} for link in asked]
    return figure(title, traces, axis("Link (b/s)", True), axis("Time of a step (s)", True), 520,
                  shapes=marks if len(asked) < 8 else [])


def _against_nodes(rows: list[Row], names: list[str], title: str) -> Figure:
    hover = "%{y:.3~s} samples a second<br>%{x} nodes"
    traces = [_plain_curve(rows, "nodes", lambda row: row.speed, hover)]
    for i, name in enumerate(names):
        own = _fastest([row for row in rows if row.codec == name and row.plan != PLAIN], "nodes")
        traces.append(curve(i, name, [row.nodes for row in own], [row.speed for row in own], hover))
    return figure(title, traces, axis("Nodes", True), axis("Samples a second", True), 520)


def _pays(row: Row) -> str:
    if row.plan == PLAIN:
        return ""
    if row.pays_above and not math.isinf(row.pays_below):
        return f"{row.pays_above / 1e9:.3g} to {row.pays_below / 1e9:.3g}"
    if row.pays_above:
        return f"above {row.pays_above / 1e9:.3g}"
    if math.isinf(row.pays_below):
        return "always"
    return f"below {row.pays_below / 1e9:.3g}" if row.pays_below else "never"


def _table(rows: list[Row], names: list[str]) -> Table:
    plain = {(row.model, row.nodes, row.link): row.step for row in rows if row.plan == PLAIN}
    cells: list[list[Cell]] = []
    for row in rows:
        beside = plain.get((row.model, row.nodes, row.link))
        cells.append(["plain" if row.plan == PLAIN else row.codec, row.plan, row.model, row.nodes, row.link / 1e9,
                      1000 * row.step, row.speed, beside / row.step if beside else None, _pays(row)])
    head = ["Codec", "Plan", "Model", "Nodes", "Link (Gb/s)", "Step (ms)", "Samples a second", "Speed-up",
            "Pays (Gb/s)"]
    return Table(head, cells, [None if row.plan == PLAIN else names.index(row.codec) for row in rows])


def sections(rows: list[Row]) -> list[Section]:
    names, asked = names_of(rows), [row for row in rows if not row.swept]
    made = Section("Would it help?", "By the closed form of doc/PLAN.md, with the codecs' speed where crumb plan ran. "
                   "The thick grey curve is plain all-reduce. A cross marks the link at which a codec breaks even. "
                   "Dotted: the links asked about.")
    clusters = list(dict.fromkeys((row.model, row.nodes) for row in rows))
    for model, nodes in clusters:
        own = [row for row in rows if (row.model, row.nodes) == (model, nodes)]
        if len({row.link for row in own}) > 1:
            made.parts.append(_against_links(own, names, f"{model} on {nodes} nodes"))
    for model, link in dict.fromkeys((row.model, row.link) for row in asked):
        own = [row for row in asked if (row.model, row.link) == (model, link)]
        if len({row.nodes for row in own}) > 1:
            made.parts.append(_against_nodes(own, names, f"{model} at {link / 1e9:g} Gb/s"))
    last = asked[-1] if asked else rows[-1]
    step = [row for row in asked or rows if (row.model, row.nodes, row.link) == (last.model, last.nodes, last.link)]
    parts = {term: (fill, [1000 * row.seconds[term] for row in step]) for term, fill in TERMS.items()}
    bars = [row.plan if row.plan == PLAIN else f"{row.codec}, {row.plan}" for row in step]
    made.parts += [_table(asked or rows, names),
                   stacked(f"A step on {last.nodes} nodes at {last.link / 1e9:g} Gb/s", bars, parts, "ms")]
    return [made]
