"""What results have to show. A claim is a sentence and a function of results, which returns true, false, or None where a row has
not been run. SPDX-License-Identifier: MIT"""
from collections import namedtuple

Claim = namedtuple("Claim", "text holds quick", defaults=(True,))  # quick: of quick runs, too
QUICK_POINTS = 25  # of test error: after a second of training, of which raw's is 35 % and a network's that learns nothing 90 %
QUICK_NATS = 1  # of test loss
QUICK_CLIP = 4  # times as much that clipping takes: of few samples, and of the first steps


def arrives(codec):
    """The share of a gradient that arrives on average: clipping takes the rest of it."""
    return 0.915 if codec == "terngrad" else 1


def faithful(row):
    """Of a quick run, which is probed: all that was computed has arrived or is owed, or arrives on average. 4.5 % are ten times
    what the slope varies by from seed to seed, and half of what wrong signs on 5 % of the elements take from it."""
    if float(row["residual_norm"]) > 0:
        return float(row["drift"] or "nan") < 1e-4
    return abs(float(row["slope"] or "nan") - arrives(row["codec"])) < 0.045


class Unfaithful(Exception):
    """What arrived is not what was sent."""


class Results:
    """The rows of an experiment, and those of its layers and epochs."""

    def __init__(self, rows, quick, layers=(), epochs=()):
        self.rows, self.quick, self.layers, self.epochs = rows, quick, layers, epochs

    def of(self, task, learners, codec):
        return [row for row in self.rows if (row["task"], row["learners"], row["codec"]) == (task, str(learners), codec)]

    def mean(self, field, task, learners, codec, seeds=None):
        """Over seeds; None where there is no such row."""
        own = [row for row in self.of(task, learners, codec) if seeds is None or row["seed"] in seeds]
        if self.quick and not all(map(faithful, own)):
            raise Unfaithful
        return sum(float(row[field] or "nan") for row in own) / len(own) if own else None

    def beside_raw(self, field, task, learners, codec):
        """Its mean and raw's, over the seeds that both have; raw's of as many learners, or of others, whose mean gradient is
        the same. None where there is nothing to compare."""
        numbers = [learners] + [row["learners"] for row in self.rows if (row["task"], row["codec"]) == (task, "raw")]
        raw = next((number for number in numbers if self.of(task, number, "raw")), learners)
        seeds = {row["seed"] for row in self.of(task, learners, codec)} & {row["seed"] for row in self.of(task, raw, "raw")}
        return self.mean(field, task, learners, codec, seeds), self.mean(field, task, raw, "raw", seeds)

    def convolutions(self, task, learners, codec):
        """The rows of convolutions, probe after probe; None where there are none."""
        there = self.mean("error", task, learners, codec) is not None
        own = [row for row in self.layers if (row["task"], row["learners"], row["codec"], row["kind"]) == (task, str(learners), codec, "conv")]
        return own if there and own else None


def near(task, learners, codec, ratio, points=None, nats=None, quick=True):
    """Of test error in points, or of test loss in nats."""
    field, scale, most, quick_most = ("error", 100, points, QUICK_POINTS) if nats is None else ("test_loss", 1, nats, QUICK_NATS)
    away = f"{points} points of raw's error" if nats is None else f"{nats} nats of raw's loss"

    def holds(results):
        own, raw = results.beside_raw(field, task, learners, codec)
        rate = results.mean("ratio", task, learners, codec)
        if own is None or raw is None:
            return None
        return scale * abs(own - raw) <= (quick_most if results.quick else most) and rate >= ratio

    return Claim(f"{task}, {learners} learners: `{codec}` is within {away}, and {ratio} times smaller", holds, quick)


def no_larger(task, learners, codec, than):
    def holds(results):
        ratios = [results.mean("ratio", task, learners, c) for c in (codec, than)]
        return None if None in ratios else ratios[0] >= ratios[1]

    return Claim(f"{task}, {learners} learners: `{codec}` is no larger than `{than}`", holds)


def rises(values):
    return all(before < after for before, after in zip(values, values[1:]))


def ordered(field, task, learners, codecs, quick=True):
    """From the least on."""
    def holds(results):
        values = [results.mean(field, task, learners, codec) for codec in codecs]
        return None if None in values else rises(values)

    return Claim(f"{task}, {learners} learners: {field} of {' < '.join(f'`{codec}`' for codec in codecs)}", holds, quick)


def rising(field, codec, what, runs, quick):
    """Over runs, each a task and a number of learners, from the least on."""
    def holds(results):
        values = [results.mean(field, *run, codec) for run in runs]
        return None if None in values else rises(values)

    return Claim(f"{field} of `{codec}` rises with {what}", holds, quick)


def owes(task, learners, codec, than, factor):
    def holds(results):
        owed = [results.mean("residual_norm", task, learners, c) for c in (codec, than)]
        return None if None in owed else owed[0] >= factor * owed[1]

    return Claim(f"{task}, {learners} learners: what is owed at the end is {factor} times as much with `{codec}` as with `{than}`", holds)


def owes_growing(task, learners, codec, than, factor):
    """From the first epoch's end to the last one's, of the first seed."""
    def holds(results):
        grown = []
        for c in (codec, than):
            own = [float(row["residual_norm"]) for row in results.epochs
                   if (row["task"], row["learners"], row["codec"], row["seed"]) == (task, str(learners), c, "1")]
            grown.append(own[-1] / own[0] if own else None)
        return None if None in grown else grown[0] >= factor * grown[1]

    return Claim(f"{task}, {learners} learners: from the first epoch to the last, what is owed grows {factor} times as much with `{codec}` as with "
                 f"`{than}`", holds, quick=False)


def owes_by_gradient(task, learners, codec, than, factor):
    """At the last probe, both at their 95th percentile; the mean over convolutions."""
    def holds(results):
        owed = []
        for rows in (results.convolutions(task, learners, c) for c in (codec, than)):
            last = [float(row["residual_p95"]) / float(row["gradient_p95"]) for row in rows or [] if row["step"] == rows[-1]["step"]]
            owed.append(sum(last) / len(last) if last else None)
        return None if None in owed else owed[0] >= factor * owed[1]

    return Claim(f"{task}, {learners} learners: what convolutions owe at the end, by their gradient, is {factor} times as much with `{codec}` "
                 f"as with `{than}`", holds, quick=False)


def varies(task, learners, codec, factor):
    """Over the probes of the first slice."""
    def holds(results):
        if results.mean("error", task, learners, codec) is None:
            return None
        values = [float(row["variance"]) for row in results.layers if (row["task"], row["learners"], row["codec"], row["slice"]) ==
                  (task, str(learners), codec, "0")]
        return bool(values) and max(values) >= factor * min(values)

    return Claim(f"{task}, {learners} learners: in training the variance of coordinates changes {factor}-fold", holds, quick=False)


def clipped(task, learners, codec, percent, degrees):
    """The mean over convolutions and probes."""
    def holds(results):
        rows = results.convolutions(task, learners, codec)
        if rows is None:
            return None
        shorter, turned = (sum(values) / len(rows) for values in ([100 * (1 - float(row["clip_length"])) for row in rows],
                                                                  [float(row["clip_degrees"]) for row in rows]))
        room = QUICK_CLIP if results.quick else 1
        return 0 < shorter <= room * percent and 0 < turned <= room * degrees

    return Claim(f"{task}, {learners} learners: clipping in `{codec}` takes at most {percent} % of a convolution's length, and turns it by at most "
                 f"{degrees} degrees", holds)


def judge(claim, results):
    try:
        return claim.holds(results)
    except Unfaithful:
        return False
