"""What the page says of training runs. SPDX-License-Identifier: MIT"""
from dataclasses import dataclass
from math import log10
from typing import Callable, Optional

from .page import Cell, Command, Section, Table
from .runs import Epoch, Run
from .style import COLOURS, GREY, Figure, axis, colour, curve, figure, label, short, stacked

PHASE_COLOURS = {"compute": COLOURS[0], "pack": COLOURS[1], "swap": COLOURS[3], "unpack": COLOURS[5],
                 "tests and the rest": GREY}
SIZES = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")]
Value = Callable[[Epoch], Optional[float]]


@dataclass
class Axis:
    """An axis's title, the unit of a value under the pointer, and the value."""
    title: str
    unit: str
    value: Value
    log: bool = False


def _percent(value: Optional[float]) -> Optional[float]:
    return None if value is None else 100 * value


def _last(run: Run, value: Value) -> Optional[float]:
    """Returns the newest value that is known."""
    return next((v for v in map(value, reversed(run.epochs)) if v is not None), None)


def _known(runs: list[Run], value: Value) -> bool:
    return any(value(epoch) is not None for run in runs for epoch in run.epochs)


def _size(runs: list[Run]) -> tuple[float, str]:
    most = max((epoch.bytes for run in runs for epoch in run.epochs), default=0)
    return next(((size, name) for size, name in SIZES if most >= size), (1, "B"))


def _curves(runs: list[Run], title: str, x: Axis, y: Axis) -> Figure:
    """A figure of a curve a run."""
    hover = f"%{{y:.4~g}}{y.unit}<br>%{{x:.5~g}}{x.unit}"
    traces = [curve(i, run.label, [x.value(epoch) for epoch in run.epochs], [y.value(epoch) for epoch in run.epochs],
                    hover) for i, run in enumerate(runs)]
    return figure(title, traces, axis(x.title, x.log), axis(y.title, y.log))


def _against_all(runs: list[Run], title: str, y: Axis, more: Optional[Value] = None) -> list[Figure]:
    """Figures against epochs, bytes and seconds. more: another value of the same unit, which is dotted."""
    size, unit = _size(runs)
    ends = [run.epochs[-1].bytes for run in runs if run.epochs and run.epochs[-1].bytes > 0]
    far_apart = bool(ends) and max(ends) > 10 * min(ends)
    xs = {"epochs": Axis("Epoch", " epochs", lambda epoch: epoch.number),
          "bytes": Axis(f"Frames of a learner ({unit})", f" {unit}", lambda epoch: epoch.bytes / size, far_apart),
          "seconds": Axis("Time (s)", " s", lambda epoch: epoch.wall)}
    figures = []
    for name, x in xs.items():
        if not _known(runs, x.value):
            continue
        drawn = _curves(runs, f"{title} against {name}", x, y)
        if more and _known(runs, more):
            dotted = _curves(runs, "", x, Axis(y.title, y.unit + " in training", more))["data"]
            drawn["data"] += [{**trace, "line": {**trace["line"], "dash": "dot", "width": 1}, "mode": "lines"}
                              for trace in dotted]
        figures.append(drawn)
    return figures


def _summary(runs: list[Run]) -> Table:
    size, unit = _size(runs)
    columns: dict[str, Callable[[Run], Cell]] = {
        "Run": lambda run: run.label,
        "Test error (%)": lambda run: _percent(_last(run, lambda e: e.error)),
        "Test loss (nats)": lambda run: _last(run, lambda e: e.test_loss),
        "Training loss (nats)": lambda run: _last(run, lambda e: e.loss),
        f"Frames of a learner ({unit})": lambda run: (_last(run, lambda e: e.bytes) or 0) / size,
        "Ratio": lambda run: _last(run, lambda e: e.ratio),
        "Residual norm": lambda run: _last(run, lambda e: e.residual),
        "Time (s)": lambda run: _last(run, lambda e: e.wall),
        "Epoch": lambda run: _last(run, lambda e: e.number),
        "State": lambda run: run.state,
        "Skipped steps": lambda run: sum(e.skipped for e in run.epochs) or None,
        **{key.capitalize(): lambda run, key=key: run.settings.get(key)  # type: ignore[misc]
           for key in ("model", "data", "learners", "batch", "seed")}}
    head = list(columns)
    rows = [[value(run) for value in columns.values()] for run in runs]
    used = [i for i in range(len(head)) if any(row[i] is not None for row in rows)]
    return Table([head[i] for i in used], [[row[i] for i in used] for row in rows], list(range(len(runs))))


def _by_kind(runs: list[Run]) -> Optional[tuple[Figure, Table]]:
    """Ratios of the last epoch by kind of layer."""
    last = [run.epochs[-1].by_kind if run.epochs else {} for run in runs]
    kinds = list(dict.fromkeys(kind for ratios in last for kind in ratios))
    drawn = [ratio for ratios in last for ratio in ratios.values() if ratio > 0]
    if not drawn:
        return None
    low, high = min(drawn) / 2, max(drawn) * 1.5
    traces = [{"type": "bar", "name": label(run.label), "x": [label(kind) for kind in kinds], "meta": i,
               "y": [ratios.get(kind) for kind in kinds], "marker": {"color": colour(i)},
               "hovertemplate": "%{y:.4~g} times smaller<br>%{x}<extra>%{fullData.name}</extra>"}
              for i, (run, ratios) in enumerate(zip(runs, last))]
    drawn_figure = figure("Ratio by kind of layer", traces, {"automargin": True},
                          axis("Dense f32 bytes / bytes sent", True, range=[log10(low), log10(high)]), barmode="group")
    rows: list[list[Cell]] = [[run.label, *(ratios.get(kind) for kind in kinds)] for run, ratios in zip(runs, last)]
    return drawn_figure, Table(["Ratio", *kinds], rows, list(range(len(runs))))


def _by_phase(runs: list[Run]) -> Optional[tuple[Figure, Table]]:
    """Seconds an epoch, means over the epochs."""
    timed = [(i, run) for i, run in enumerate(runs) if run.epochs and any(run.epochs[0].seconds.values())]
    phases = [phase for phase in PHASE_COLOURS if any(phase in run.epochs[0].seconds for _, run in timed)]
    if not timed:
        return None
    means = [[sum(epoch.seconds.get(phase, 0) for epoch in run.epochs) / len(run.epochs) for phase in phases]
             for _, run in timed]
    parts = {phase: (PHASE_COLOURS[phase], [mean[at] for mean in means]) for at, phase in enumerate(phases)}
    rows: list[list[Cell]] = [[run.label, *mean, sum(mean)] for (_, run), mean in zip(timed, means)]
    head = ["Seconds an epoch", *phases, "all"]
    return stacked("Time by phase", [short(run.label) for _, run in timed], parts, "s an epoch"), \
        Table(head, rows, [i for i, _ in timed])


def sections(runs: list[Run]) -> list[Section]:
    if not runs:
        return [Section("Runs", "No epoch has ended yet.")]
    made = [Section("Runs", "Values of the last epoch; frames are the whole run's.", [_summary(runs)])]
    if _known(runs, lambda e: e.error):
        made.append(Section("Test error", "", [*_against_all(
            runs, "Test error", Axis("Test error (%)", " %", lambda e: _percent(e.error)))]))
    if _known(runs, lambda e: e.test_loss):
        made.append(Section("Loss", "Lines: of the test set. Dotted: of the training set.", [*_against_all(
            runs, "Loss", Axis("Loss (nats)", " nats", lambda e: e.test_loss), lambda e: e.loss)]))
    elif _known(runs, lambda e: e.loss):
        made.append(Section("Loss", "Of the training set.", [*_against_all(
            runs, "Loss", Axis("Loss (nats)", " nats", lambda e: e.loss))]))
    sent = Section("What is sent")
    by_kind = _by_kind(runs)
    epochs = Axis("Epoch", " epochs", lambda e: e.number)
    sent.parts.append(_curves(runs, "Ratio against epochs", epochs, Axis(
        "Dense f32 bytes / bytes sent", " times smaller", lambda e: e.ratio, True)))
    sent.parts += by_kind or ()
    made.append(sent)
    by_phase = _by_phase(runs)
    if by_phase:
        made.append(Section("Time", "Means over epochs. Swap includes waiting for other ranks.", [*by_phase]))
    if _known(runs, lambda e: e.residual):
        made.append(Section("Residuals", "What learners owe: the root mean square over them of the residual's norm.", [
            _curves(runs, "Residual norm against epochs", epochs,
                    Axis("Norm of a learner's residual", "", lambda e: e.residual))]))
    commands: dict[str, list[str]] = {}
    for run in runs:
        if run.command:
            commands.setdefault(run.command, []).append(run.label)
    if commands:
        made.append(Section("Commands", "", [Command(" and ".join(of), text) for text, of in commands.items()]))
    return made
