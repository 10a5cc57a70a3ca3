"""Claims of the papers, judged by results. A claim has the paper's words and number; it names the runs it rests on, a
function of the results that returns what was measured, and one that judges it. SPDX-License-Identifier: MIT"""
from collections import namedtuple

import math
import statistics

import tasks
from markdown import mean
from policies import name_of

# where: the paper's figure or table; says: the claim; there: the paper's number; runs: (task, learners, codec) each;
# value(results): what was measured, or None if a row has not been run; show(value): it as text; holds(value, quick).
Claim = namedtuple("Claim", "where says there runs value show holds quick", defaults=(True,))
POINTS, NATS = 0.5, 0.05  # the margins of all rows of AdaComp's: its table 2 has differences up to 0.46 points
QUICK_POINTS = 25  # of test error after a second of training; raw has 35 %, and a network that learns nothing 90 %
QUICK_NATS = 1  # of test loss
QUICK_CLIP = 4  # times as much clipping, because of few samples, and of the first steps


def arrives(codec):
    """Returns the share of a gradient that arrives on average: clipping takes the rest of it."""
    return 0.915 if codec == "terngrad" else 1


def faithful(row):
    """Returns true if all that a quick run, which is probed, computed has arrived or is in the residual, or arrives on
    average. 4.5 % is ten times the slope's deviation by seed, half the effect of wrong signs on 5 % of the elements."""
    if float(row["residual_norm"]) > 0:
        return float(row["drift"] or "nan") < 1e-4
    return abs(float(row["slope"] or "nan") - arrives(row["codec"])) < 0.045


class Unfaithful(Exception):
    """A quick run for which faithful() is false."""


def bin_of(codec, kind):
    """Returns the bin of AdaComp or of local selection on slices of a kind; None: neither codec."""
    for rule in codec.split(";"):
        kinds, spec = rule.split("=", 1) if "=" in rule.split(":")[0] else (kind, rule)
        name, _, keys = spec.partition(":")
        if kind in kinds.split(",") and name in ("adacomp", "local") and keys.startswith("bin="):
            return int(keys[4:].split(",")[0])
    return None


def as_the_paper_counts(row, kind):
    """Returns the ratio by AdaComp's accounting: 8 bits an element sent if bins are shorter than 64, else 16, only."""
    size, sent = bin_of(row["codec"], kind), row[f"{kind}_sent"]
    return 32 / ((8 if size < 64 else 16) * float(sent)) if size and sent and float(sent) else None


class Results:
    """The rows of an experiment, and those of its layers and epochs."""

    def __init__(self, rows, quick, layers=(), epochs=()):
        self.rows, self.quick, self.layers, self.epochs = rows, quick, layers, epochs

    def of(self, task, learners, codec, among="rows"):
        wanted = task, str(learners), codec
        return [row for row in getattr(self, among) if (row["task"], row["learners"], row["codec"]) == wanted]

    def mean(self, field, task, learners, codec, seeds=None):
        """Returns the mean over seeds; None if there is no such row."""
        own = [row for row in self.of(task, learners, codec) if seeds is None or row["seed"] in seeds]
        if self.quick and not all(map(faithful, own)):
            raise Unfaithful
        return mean([float(row[field] or "nan") for row in own]) if own else None

    def raw_of(self, task, learners):
        """Returns raw's number of learners: as many, or another, whose mean gradient is equal; None: there is none."""
        numbers = [learners] + [row["learners"] for row in self.rows if (row["task"], row["codec"]) == (task, "raw")]
        return next((number for number in numbers if self.of(task, number, "raw")), None)

    def beside_raw(self, task, learners, codec):
        """Returns raw's mean and the codec's, in points or nats, over the seeds of both; None: nothing to compare."""
        field, scale = ("test_loss", 1) if task in tasks.LANGUAGE else ("error", 100)
        raw = self.raw_of(task, learners)
        seeds = {row["seed"] for row in self.of(task, learners, codec)}
        seeds &= {row["seed"] for row in self.of(task, raw, "raw")}
        pair = [self.mean(field, task, number, spec, seeds) for number, spec in ((raw, "raw"), (learners, codec))]
        return None if None in pair else [scale * value for value in pair]

    def convolutions(self, task, learners, codec):
        """Returns the rows of convolutions, probe after probe; None if there are none."""
        there = self.mean("error", task, learners, codec) is not None
        own = [row for row in self.of(task, learners, codec, "layers") if row["kind"] == "conv"]
        return own if there and own else None


def measured(where, says, runs, value, holds, there="", show="{:.3g}".format, quick=False):
    """A claim on one number, value(results)."""
    return Claim(where, says, there, runs, value, show, lambda number, quick: holds(number), quick)


def of_run(task, learners):
    return f"{tasks.told(task)}, {learners} learner{'s' if learners != 1 else ''}"


def near(where, task, learners, codec, there="", margin=None, quick=True):
    """Raw's error and the codec's, at most a margin apart: in points, or in nats of a language model's loss."""
    nats = task in tasks.LANGUAGE
    most = margin or (NATS if nats else POINTS)
    unit = "nats" if nats else "%"
    return Claim(where, f"{of_run(task, learners)}: {name_of(codec)} is within {most:g} of raw", there,
                 [(task, learners, codec)],
                 lambda results: results.beside_raw(task, learners, codec),
                 lambda pair: f"{pair[0]:.2f} -> {pair[1]:.2f} {unit} ({pair[1] - pair[0]:+.2f})",
                 lambda pair, quick: abs(pair[1] - pair[0]) <= ((QUICK_NATS if nats else QUICK_POINTS) if quick
                                                                else most), quick)


def above(where, says, task, learners, codec, least, most=100, there="", quick=False):
    """The codec's error above raw's, in points, between two bounds."""
    return Claim(where, says, there, [(task, learners, codec)],
                 lambda results: results.beside_raw(task, learners, codec),
                 lambda pair: f"{pair[0]:.2f} -> {pair[1]:.2f} % ({pair[1] - pair[0]:+.2f})",
                 lambda pair, quick: least <= pair[1] - pair[0] <= most, quick)


def counted(where, task, learners, codec, there="", conv=40, other=200):
    """The ratios as the paper counts: at least 40 for convolutions, 200 for other layers."""
    kinds = [kind for kind in ("conv", "fc", "lstm", "last") if bin_of(codec, kind)]

    def value(results):
        own = {kind: [ratio for row in results.of(task, learners, codec)
                      if (ratio := as_the_paper_counts(row, kind))] for kind in kinds}
        return {kind: mean(ratios) for kind, ratios in own.items() if ratios} or None

    def holds(ratios, quick):
        return all(ratio >= (conv if kind == "conv" else other) for kind, ratio in ratios.items())

    return Claim(where, f"{of_run(task, learners)}: {name_of(codec)}'s rate, as the paper counts", there,
                 [(task, learners, codec)], value,
                 lambda ratios: ", ".join(f"{kind} {ratio:.0f}" for kind, ratio in ratios.items()), holds, False)


def values_of(value, runs):
    """Returns a function of results: value(results, *run) of each run; None if one has not been run."""
    def values(results):
        own = [value(results, *run) for run in runs]
        return None if None in own else own

    return values


def mean_of(field):
    return lambda results, *run: results.mean(field, *run)


def shown(values):
    return ", ".join(f"{value:.3g}" for value in values)


def rising(where, says, value, runs, there="", quick=True, times=1):
    """value(results, *run) rises from run to run, each time by more than a factor."""
    return Claim(where, says, there, runs, values_of(value, runs), shown,
                 lambda values, quick: all(times * before < after for before, after in zip(values, values[1:])), quick)


def ordered(where, field, task, learners, codecs, there="", quick=True):
    """A field rises from codec to codec."""
    scale = 100 if field == "error" else 1

    def value(results, *run):
        own = results.mean(field, *run)
        return None if own is None else scale * own

    what = "test error, %" if field == "error" else field
    return rising(where, f"{of_run(task, learners)}: {what} of " + " < ".join(map(name_of, codecs)), value,
                  [(task, learners, codec) for codec in codecs], there, quick)


def at_least(where, says, value, runs, factor, there="", quick=False):
    """The first run's value is at least a factor times the second's."""
    return Claim(where, says, there, runs, values_of(value, runs), shown,
                 lambda values, quick: values[0] >= factor * values[1], quick)


def growth(results, *run):
    """Returns the residual norm's growth from the first epoch to the last, of the first seed."""
    own = [float(row["residual_norm"]) for row in results.of(*run, "epochs") if row["seed"] == "1"]
    return own[-1] / own[0] if own else None


def residual_by_gradient(kind):
    """Returns a function: residual by gradient at the last probe, 95th percentiles; the mean over layers of a kind."""
    def value(results, *run):
        own = [row for row in results.of(*run, "layers") if row["kind"] == kind and row["residual_p95"]]
        last = [row for row in own if row["step"] == own[-1]["step"]]
        return mean([float(row["residual_p95"]) / float(row["gradient_p95"]) for row in last]) if last else None

    return value


def residual_growth(kind):
    """Returns a function: the growth of a kind's 95th percentile of residuals from the first probe to the last."""
    def value(results, *run):
        own = [float(row["residual_p95"]) for row in results.of(*run, "layers")
               if row["kind"] == kind and row["residual_p95"]]
        return own[-1] / own[0] if own else None

    return value


def sent_less_later(where, task, learners, codec, there=""):
    """The elements sent in the first quarter of the epochs are more than those of the last, in the mean of seeds."""
    def value(results):
        own = results.of(task, learners, codec, "epochs")
        last = max((int(row["epoch"]) for row in own), default=0)
        parts = [[100 * float(row["sent"]) for row in own if first < int(row["epoch"]) <= first + last // 4]
                 for first in (0, last - last // 4)]
        return [mean(part) for part in parts] if last >= 4 else None

    return Claim(where, f"{of_run(task, learners)}: {name_of(codec)} sends more in the first quarter than in the last",
                 there, [(task, learners, codec)], value,
                 lambda pair: f"{pair[0]:.2f} % -> {pair[1]:.2f} % of the elements",
                 lambda pair, quick: pair[0] > pair[1], False)


def variances(results, *run):
    """Returns (epoch, variance of coordinates of the first slice) of each probe, seed by seed."""
    by = {}
    for row in results.of(*run, "layers"):
        if row["slice"] == "0":
            by.setdefault(row["seed"], []).append((int(row["epoch"]), float(row["variance"])))
    return list(by.values())


def varies(where, says, task, learners, codec, factor, there=""):
    """The variance of coordinates changes by a factor in training, in the mean of seeds."""
    def value(results):
        own = [[variance for _, variance in probes] for probes in variances(results, task, learners, codec)]
        return mean([max(probes) / min(probes) for probes in own]) if own else None

    return Claim(where, says, there, [(task, learners, codec)], value, lambda times: f"{times:.2f}-fold",
                 lambda times, quick: times >= factor, False)


def jumps(where, says, task, learners, codec, drops, factor, there=""):
    """At each of some epochs the logarithm of the variance of coordinates changes by at least so many times the median
    change from probe to probe; the least of all seeds and drops counts. 0 if a run has no probe there."""
    def value(results):
        own = []
        for probes in variances(results, task, learners, codec):
            changes = [(epoch, abs(math.log(after / before))) for (_, before), (epoch, after) in
                       zip(probes, probes[1:]) if before > 0 < after]
            usual = statistics.median([change for _, change in changes] or [0])
            at = [max([change for epoch, change in changes if epoch == drop], default=0) for drop in drops]
            own += [change / usual if usual else 0 for change in at]
        return min(own) if own else None

    return Claim(where, says, there, [(task, learners, codec)], value, lambda times: f"{times:.1f} times",
                 lambda times, quick: times >= factor, False)


def clipped(where, says, task, learners, codec, percent, degrees, there="", quick=True):
    """What clipping takes of length and direction, means over convolutions and probes."""
    def value(results):
        rows = results.convolutions(task, learners, codec)
        return rows and [mean([100 * (1 - float(row["clip_length"])) for row in rows]),
                         mean([float(row["clip_degrees"]) for row in rows])]

    def holds(pair, quick):
        room = QUICK_CLIP if quick else 1
        return 0 < pair[0] <= room * percent and 0 < pair[1] <= room * degrees

    return Claim(where, says, there, [(task, learners, codec)], value,
                 lambda pair: f"{pair[0]:.1f} %, {pair[1]:.1f} degrees", holds, quick)


def has_nan(value):
    """Returns true if what was measured, or a part of it, is NaN."""
    if isinstance(value, (dict, list, tuple)):
        return any(map(has_nan, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and math.isnan(value)


def judge(claim, results):
    """Returns the verdict, true or false, and what was measured; None: not run."""
    try:
        value = claim.value(results)
    except Unfaithful:
        return False, "gradients were lost"
    if value is None:
        return None
    return not has_nan(value) and claim.holds(value, results.quick), claim.show(value)


def schedule(claim):
    """Returns "paper" if all that the claim rests on was trained as long as in the paper, else "short"."""
    return "paper" if all(tasks.TASKS[task].paper for task, _, _ in claim.runs) else "short"


def seeds(claim, results):
    """Returns the least number of seeds of the claim's runs."""
    return min(len(results.of(*run)) for run in claim.runs)


def same(claim):
    """Returns what claims have in common that differ in nothing but the schedule and the learners of their runs."""
    return claim.where, frozenset(tasks.unscheduled(task) for task, _, _ in claim.runs), claim.says.split(": ", 1)[-1]


def length(claim, results):
    """Returns what orders claims by the length of their runs, and those of equal length by their seeds."""
    return schedule(claim) == "paper", min(tasks.epochs(task) for task, _, _ in claim.runs), seeds(claim, results)
