"""A transformer under AdamW: which codecs it survives at every step, and what outer steps save.
SPDX-License-Identifier: MIT"""
from claims import Claim
from experiment import Experiment, Figure, rows
from policies import GPT_ADACOMP, GPT_CODECS, name_of

EVERY, LEARNERS, SEEDS = "gpt-mini", 4, (1, 2, 3)
OUTER = {steps: f"gpt-mini, outer steps of {steps}" for steps in (10, 30, 100)}
OUTER_CODECS = ["raw", GPT_CODECS["half"], *GPT_ADACOMP]


def fewer(says, runs, nats, times):
    """One of the runs sends so many times fewer bytes than raw at every step, and is within so many nats of it."""
    def value(results):
        raw = [results.mean(field, EVERY, LEARNERS, "raw") for field in ("test_loss", "bytes")]
        there = [run for run in runs if results.of(*run)]
        if raw[0] is None or not there:
            return None
        points = [(results.mean("test_loss", *run) - raw[0], raw[1] / results.mean("bytes", *run), run)
                  for run in there]
        return min((point for point in points if point[1] >= times), default=max(points, key=lambda point: point[1]))

    def show(point):
        above, smaller, (task, _, codec) = point
        return f"{task}, {name_of(codec)}: {above:+.3f} nats, {smaller:.0f} times fewer bytes"

    return Claim("goal", says, "", [(EVERY, LEARNERS, "raw"), *runs], value, show,
                 lambda point, quick: point[0] <= nats and point[1] >= times, False)


STEPS = [(EVERY, LEARNERS, codec) for codec in GPT_CODECS.values()]
OUTERS = [(task, LEARNERS, codec) for task in OUTER.values() for codec in OUTER_CODECS]
TEXT = ("No paper of crumb's codecs trains a transformer. The goals are this project's own: one codec at every step "
        "within 0.02 nats of raw with 50 times fewer bytes, and outer steps (DiLoCo, Douillard et al. 2023) within "
        "0.03 nats with 1000 times fewer. Bytes are those that a learner sends in the whole run; \"smaller by\" counts "
        "an outer gradient as one gradient, not as the steps that it stands for.")

EXPERIMENTS = {
    "gpt": Experiment(
        "gpt-mini on Shakespeare's characters: codecs at every step, and outer steps of 10, 30 and 100",
        [row for seed in SEEDS for row in rows(EVERY, LEARNERS, ["raw", *GPT_CODECS.values()], (seed,)) +
         [row for task in OUTER.values() for row in rows(task, LEARNERS, OUTER_CODECS, (seed,))]],
        claims=[fewer("at every step, one codec within 0.02 nats of raw and 50 times smaller", STEPS, 0.02, 50),
                fewer("outer steps within 0.03 nats of raw at every step and 1000 times smaller", OUTERS, 0.03, 1000)],
        differs="Codecs have the matrices, embeddings and head included; biases and norms go raw, which no codec can "
                "beat by more than 118 times. The two sparse codecs with a threshold find it by themselves.",
        figure=Figure("epoch", "test_loss",
                      {name_of(codec): [(EVERY, LEARNERS, codec)]
                       for codec in ["raw", *map(GPT_CODECS.get, ("half", "terngrad", "qsgd", "topk")), *GPT_ADACOMP]} |
                      {"outer steps of 30": [(OUTER[30], LEARNERS, "raw")]})),
}
