"""What an experiment consists of. SPDX-License-Identifier: MIT"""
from collections import namedtuple

# One run of a task, by a number of learners, with a codec; quick: the quick mode runs it, too.
Row = namedtuple("Row", "task learners codec seed quick")


def rows(task, learners, codecs, seeds=(1,), quick=False):
    """Rows of a number of learners, or of several one after another."""
    return [Row(task, count, codec, seed, quick and seed == 1)
            for count in (learners if isinstance(learners, tuple) else [learners])
            for seed in seeds for codec in codecs]


# curves: by label, the runs (task, learners, codec) of a curve, a point each; with x "epoch" one run, a point an epoch.
# y is a mean over seeds. title: the experiment's, by default. marks: by label, the paper's points.
Figure = namedtuple("Figure", "x y curves title marks", defaults=("", {}))

# rows: runs in order of value; the quick ones are those that the claims need. claims: what the paper says that they
# show. differs: how the set-up here differs from the paper's. not_run: what of the paper is left out, and why.
# figure: a Figure. layer: the figure of one layer: its slice, and fields of NAME-layers.csv, which are drawn over
# steps, but histograms, which are drawn as they are.
Experiment = namedtuple("Experiment", "title rows claims differs not_run figure layer",
                        defaults=((), "", "", None, None))

# A paper: what reproduces and what does not, in a few sentences; its experiments by name; the one whose figure stands
# for the paper.
Paper = namedtuple("Paper", "title text experiments figure")
