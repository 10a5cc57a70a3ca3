"""Claims on results: a claim is a sentence and a function of results, which returns true, false, or None if a row has
not been run. SPDX-License-Identifier: MIT"""
from collections import namedtuple

from markdown import mean

Claim = namedtuple("Claim", "text holds quick", defaults=(True,))  # quick: of quick runs, too
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

    def beside_raw(self, field, task, learners, codec):
        """Returns its mean and raw's, over the seeds of both; raw's of as many learners, or of others, whose mean
        gradient is equal. None if there is nothing to compare."""
        numbers = [learners] + [row["learners"] for row in self.rows if (row["task"], row["codec"]) == (task, "raw")]
        raw = next((number for number in numbers if self.of(task, number, "raw")), learners)
        seeds = {row["seed"] for row in self.of(task, learners, codec)}
        seeds &= {row["seed"] for row in self.of(task, raw, "raw")}
        return self.mean(field, task, learners, codec, seeds), self.mean(field, task, raw, "raw", seeds)

    def convolutions(self, task, learners, codec):
        """Returns the rows of convolutions, probe after probe; None if there are none."""
        there = self.mean("error", task, learners, codec) is not None
        own = [row for row in self.of(task, learners, codec, "layers") if row["kind"] == "conv"]
        return own if there and own else None


def near(task, learners, codec, ratio, points=None, nats=None, quick=True):
    """Compares test error in points, or test loss in nats."""
    field, scale, most, quick_most, away = ("error", 100, points, QUICK_POINTS, f"{points} points of raw's error")
    if nats is not None:
        field, scale, most, quick_most, away = ("test_loss", 1, nats, QUICK_NATS, f"{nats} nats of raw's loss")

    def holds(results):
        own, raw = results.beside_raw(field, task, learners, codec)
        rate = results.mean("ratio", task, learners, codec)
        if own is None or raw is None:
            return None
        return scale * abs(own - raw) <= (quick_most if results.quick else most) and rate >= ratio

    return Claim(f"{task}, {learners} learners: `{codec}` is within {away}, and {ratio} times smaller", holds, quick)


def rising_values(value, runs):
    """Returns holds(): value(results, *run) rises from run to run."""
    def holds(results):
        values = [value(results, *run) for run in runs]
        return None if None in values else all(before < after for before, after in zip(values, values[1:]))

    return holds


def exceeding(value, task, learners, codec, than, factor):
    """Returns holds(): value(results, task, learners, codec) is at least factor times that of the codec `than`."""
    def holds(results):
        own, other = (value(results, task, learners, spec) for spec in (codec, than))
        return None if None in (own, other) else own >= factor * other

    return holds


def mean_of(field):
    return lambda results, *run: results.mean(field, *run)


def no_larger(task, learners, codec, than):
    return Claim(f"{task}, {learners} learners: `{codec}` is no larger than `{than}`",
                 exceeding(mean_of("ratio"), task, learners, codec, than, 1))


def ordered(field, task, learners, codecs, quick=True):
    return Claim(f"{task}, {learners} learners: {field} of {' < '.join(f'`{codec}`' for codec in codecs)}",
                 rising_values(mean_of(field), [(task, learners, codec) for codec in codecs]), quick)


def rising(field, codec, what, runs, quick):
    """runs: tasks and numbers of learners, in ascending order of the field."""
    return Claim(f"{field} of `{codec}` rises with {what}",
                 rising_values(mean_of(field), [(*run, codec) for run in runs]), quick)


def owes(task, learners, codec, than, factor):
    return Claim(f"{task}, {learners} learners: what is owed at the end is {factor} times as much with `{codec}` as "
                 f"with `{than}`", exceeding(mean_of("residual_norm"), task, learners, codec, than, factor))


def owes_growing(task, learners, codec, than, factor):
    def growth(results, *run):
        """Returns the residual norm's growth from the first epoch to the last, of the first seed."""
        own = [float(row["residual_norm"]) for row in results.of(*run, "epochs") if row["seed"] == "1"]
        return own[-1] / own[0] if own else None

    return Claim(f"{task}, {learners} learners: from the first epoch to the last, what is owed grows {factor} times as "
                 f"much with `{codec}` as with `{than}`", exceeding(growth, task, learners, codec, than, factor), False)


def owes_by_gradient(task, learners, codec, than, factor):
    def share(results, *run):
        """Returns residual by gradient at the last probe, 95th percentiles; the mean over convolutions."""
        rows = results.convolutions(*run) or []
        last = [float(row["residual_p95"]) / float(row["gradient_p95"])
                for row in rows if row["step"] == rows[-1]["step"]]
        return mean(last) if last else None

    return Claim(f"{task}, {learners} learners: what convolutions owe at the end, by their gradient, is {factor} times "
                 f"as much with `{codec}` as with `{than}`", 
                 exceeding(share, task, learners, codec, than, factor), False)


def varies(task, learners, codec, factor):
    """Compares the probes of the first slice."""
    def holds(results):
        if results.mean("error", task, learners, codec) is None:
            return None
        own = results.of(task, learners, codec, "layers")
        values = [float(row["variance"]) for row in own if row["slice"] == "0"]
        return bool(values) and max(values) >= factor * min(values)

    return Claim(f"{task}, {learners} learners: in training the variance of coordinates changes {factor}-fold", holds,
                 False)


def clipped(task, learners, codec, percent, degrees):
    """Compares means over convolutions and probes."""
    def holds(results):
        rows = results.convolutions(task, learners, codec)
        if rows is None:
            return None
        shorter = mean([100 * (1 - float(row["clip_length"])) for row in rows])
        turned = mean([float(row["clip_degrees"]) for row in rows])
        room = QUICK_CLIP if results.quick else 1
        return 0 < shorter <= room * percent and 0 < turned <= room * degrees

    return Claim(f"{task}, {learners} learners: clipping in `{codec}` takes at most {percent} % of a convolution's "
                 f"length, and turns it by at most {degrees} degrees", holds)


def judge(claim, results):
    try:
        return claim.holds(results)
    except Unfaithful:
        return False
