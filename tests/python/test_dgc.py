"""The codec dgc against algorithm 4 of its paper (Lin et al., ICLR 2018), written with NumPy: momentum SGD on a few
learners, whose weights are the same to the bit. SPDX-License-Identifier: MIT"""
import unittest

from counted import main, need

need("numpy")
import numpy as np

import crumb

LEARNERS, N, STEPS, RATE, SEED = 4, 1000, 40, np.float32(0.05), 3


def wanted(step, fraction, warmup):
    """The elements that are sent: of the first four of five equal parts of the warm-up's sparsities, section 3.3."""
    shares = 0.25, 0.0625, 0.015625, 0.00390625
    return max(1, int(N * max(fraction, shares[4 * step // warmup] if step < warmup else 0)))


class Paper:
    """Algorithm 4 on one learner: momentum correction and momentum factor masking."""

    def __init__(self, momentum):
        self.u, self.v, self.momentum = np.zeros(N, "f4"), np.zeros(N, "f4"), np.float32(momentum)

    def sparse(self, gradient, count):
        self.u = self.momentum * self.u + gradient
        self.v = self.v + self.u
        mask = np.zeros(N, bool)
        mask[np.argsort(-abs(self.v), kind="stable")[:count]] = True
        sent = np.where(mask, self.v, np.float32(0))
        self.u, self.v = np.where(mask, np.float32(0), self.u), np.where(mask, np.float32(0), self.v)
        return sent


def decoded(frame):
    out = np.zeros(N, "f4")
    crumb.unpack_add([frame], 1.0, out)
    return out


class Dgc(unittest.TestCase):
    def test_weights_are_those_of_the_paper(self):
        for momentum, fraction, warmup in (0.9, 0.01, 0), (0.5, 0.002, 20), (0, 0.05, 8):
            random = np.random.default_rng(SEED)
            goal = random.standard_normal(N).astype("f4")
            spec = f"dgc:momentum={momentum},fraction={fraction},warmup={warmup}"
            packers = [crumb.Packer(spec, N, seed) for seed in range(LEARNERS)]
            papers = [Paper(momentum) for _ in packers]
            ours = theirs = np.zeros(N, "f4")
            for step in range(STEPS):
                noise = random.standard_normal((LEARNERS, N)).astype("f4")
                frames = [decoded(packer.pack(ours - goal + one)) for packer, one in zip(packers, noise)]
                sparse = [paper.sparse(theirs - goal + one, wanted(step, float(np.float32(fraction)), warmup))
                          for paper, one in zip(papers, noise)]
                ours = ours - RATE * sum(frames) / np.float32(LEARNERS)
                theirs = theirs - RATE * sum(sparse) / np.float32(LEARNERS)
                np.testing.assert_array_equal(ours, theirs, f"{spec}, step {step}")
            for packer, paper in zip(packers, papers):
                np.testing.assert_array_equal(packer.residual, paper.v)
                if momentum:
                    np.testing.assert_array_equal(packer.velocity, paper.u)

    def test_a_mean_has_no_momentum(self):
        for codec in (crumb.Codec(info.name) for info in crumb.codecs()):
            mean = codec.of_mean()
            self.assertEqual(mean == codec, not codec.info.momentum)
            self.assertEqual(mean.values.get("momentum", 0), 0)
            self.assertIsNone(crumb.Packer(mean, N, SEED).velocity)


if __name__ == "__main__":
    main()
