"""Training runs, as logs of crumb-train and lines of crumb.torch's stats() have them. SPDX-License-Identifier: MIT"""
from dataclasses import dataclass, field
from typing import Any, Optional

from .lines import Line, amount, amount_or_none, amounts, count, loss_or_none, member, refuse
from .style import printable

SETTINGS = ["model", "data", "learners", "batch", "seed"]  # may tell runs of one codec apart
PASSED_OVER = ("step", "probe", "choice", "divided", "lost")  # events that are not drawn
PHASES = ["compute", "pack", "swap", "unpack"]


@dataclass
class Epoch:
    """The end of an epoch, or another moment. Bytes and wall: since the run's start. seconds: by phase, since the epoch
    before. wall: None if unknown."""
    number: float
    error: Optional[float]
    test_loss: Optional[float]
    loss: Optional[float]
    bytes: float
    ratio: Optional[float]
    by_kind: dict[str, float]
    residual: Optional[float]
    skipped: int
    seconds: dict[str, float]
    wall: Optional[float]


@dataclass
class Run:
    path: str
    codec: str
    settings: dict[str, Any]
    command: Optional[str] = None
    epochs: list[Epoch] = field(default_factory=list)
    state: str = "running"
    label: str = ""


def is_log(value: Any) -> bool:
    return isinstance(value, dict) and "event" in value


def is_stats(value: Any) -> bool:
    return isinstance(value, dict) and "frame_bytes" in value


def _goes_on(run: Run, event: dict[str, Any], number: int) -> bool:
    same = all(event[key] == run.settings[key] for key in SETTINGS)
    return same and event["codec"] == run.codec and (not run.epochs or number > run.epochs[-1].number)


def _begin(where: str, path: str, event: Any) -> Run:
    for key in ("model", "data"):
        member(where, event, key, str)
    for key in ("learners", "batch", "seed"):
        count(where, event, key)
    return Run(path, member(where, event, "codec", str), {key: event[key] for key in SETTINGS})


def _epoch(where: str, event: Any, before: Optional[Epoch]) -> Epoch:
    seconds = amounts(where, member(where, event, "seconds", dict) and event, "seconds")
    for phase in [*PHASES, "wall"]:
        if phase not in seconds:
            refuse(where, f'no seconds of "{phase}"')
    rest = max(0.0, seconds["wall"] - sum(seconds[phase] for phase in PHASES))
    wall = seconds.pop("wall") + (before.wall or 0 if before else 0)
    return Epoch(
        count(where, event, "epoch"), amount_or_none(where, event, "error"), amount_or_none(where, event, "test_loss"),
        amount_or_none(where, event, "loss"), amount(where, event, "bytes"), amount_or_none(where, event, "ratio"),
        amounts(where, event, "ratio_by_kind"), amount_or_none(where, event, "residual_norm"),
        count(where, event, "skipped"), {**{phase: seconds[phase] for phase in PHASES}, "tests and the rest": rest},
        wall)


def runs_of_log(path: str, lines: list[Line]) -> list[Run]:
    """The runs of a log. A "done" ends one, and so does an epoch that does not go on with it."""
    runs: list[Run] = []
    for where, event in lines:
        kind = member(where, event, "event", str)
        if kind in PASSED_OVER:
            continue
        if kind not in ("epoch", "done", "failed"):
            refuse(where, f'there is no event "{printable(kind)}"')
        begun = _begin(where, path, event)
        number = count(where, event, "epoch") if kind == "epoch" else 2 ** 63
        if not runs or runs[-1].state != "running" or not _goes_on(runs[-1], event, number):
            runs.append(begun)
        run = runs[-1]
        if kind == "epoch":
            run.epochs.append(_epoch(where, event, run.epochs[-1] if run.epochs else None))
        else:
            run.state = "done" if kind == "done" else "failed: " + member(where, event, "why", str)
        run.command = member(where, event, "command", str) if "command" in event else run.command
    return [run for run in runs if run.epochs or run.state.startswith("failed")]


COUNTS = ["steps", "skipped", "dense_bytes", "frame_bytes", "sent_bytes"]
TIMES = {"pack": "pack_seconds", "swap": "wait_seconds", "unpack": "unpack_seconds"}


def run_of_stats(path: str, lines: list[Line]) -> Run:
    """A run of lines of stats(), with whatever else the training knows: epoch, loss, error, test_loss, and the seconds
    since the start. Counts that fall, or do not rise, began again at 0 in between."""
    first = lines[0][1]
    run = Run(path, str(first.get("policy", "crumb.torch")), {}, first.get("command"))
    run.state = "-"  # no line of stats() says that it is the last one
    if run.command is not None:
        member(lines[0][0], first, "command", str)
    before, base = dict.fromkeys([*COUNTS, *TIMES], 0.0), dict.fromkeys([*COUNTS, *TIMES], 0.0)
    last = dict(base)
    for number, (where, line) in enumerate(lines, 1):
        now: dict[str, float] = {key: count(where, line, key) for key in COUNTS}
        now.update((phase, amount(where, line, key)) for phase, key in TIMES.items())
        if now["steps"] <= before["steps"]:
            base = last
        total = {key: base[key] + now[key] for key in now}
        at = amount_or_none(where, line, "epoch")
        run.epochs.append(Epoch(
            number if at is None else at, amount_or_none(where, line, "error"),
            loss_or_none(where, line, "test_loss"), loss_or_none(where, line, "loss"), total["frame_bytes"],
            (total["dense_bytes"] - last["dense_bytes"]) / (total["frame_bytes"] - last["frame_bytes"])
            if total["frame_bytes"] > last["frame_bytes"] else None,
            {}, amount_or_none(where, line, "residual_norm"), int(total["skipped"] - last["skipped"]),
            {phase: total[phase] - last[phase] for phase in TIMES}, amount_or_none(where, line, "seconds")))
        before, last = now, total
    return run


def label_runs(runs: list[Run]) -> None:
    """Sets labels: the codec; other differences between the runs; the file if there is none; at last, a number."""
    differing = [key for key in SETTINGS if len({run.settings.get(key) for run in runs}) > 1]
    for run in runs:
        run.label = ", ".join([run.codec, *(f"{key} {run.settings[key]}" for key in differing if key in run.settings)])
    for what in "path", "number":
        labels = [run.label for run in runs]
        for number, run in enumerate(runs, 1):
            if labels.count(run.label) > 1:
                run.label += f", {run.path}" if what == "path" else f", run {number}"
