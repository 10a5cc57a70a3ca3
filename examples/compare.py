#!/usr/bin/env python3
"""Compares codecs on a gradient: bits an element and relative error, as a table.

    examples/compare.py [GRADIENT.npy] [SPEC]...

Without GRADIENT.npy, the gradient is of normal numbers whose standard deviation differs from element to element.
Without specs, every codec runs at its defaults, with thresholds at the gradient's root mean square. Each packs the
gradient twenty times; the error is ||mean of decoded frames - gradient|| / ||gradient||. In this mean, errors that go
to the residual or are random cancel out; a bias stays.
SPDX-License-Identifier: MIT
"""
import sys

import numpy as np

import crumb

STEPS = 20


def defaults(size):
    for info in crumb.codecs():
        threshold = any(key.name == "threshold" and key.default > 0 for key in info.keys)
        yield f"{info.name}:threshold={size:.6g}" if threshold else info.name


def try_codec(spec, gradient):
    packer, total, size = crumb.Packer(spec, gradient.size, seed=1), np.zeros(gradient.shape, "f4"), 0
    for _ in range(STEPS):
        packer.agree([packer.measure(gradient)])  # one learner agrees on its own shared statistics, if any
        frame = packer.pack(gradient)
        crumb.unpack_add(frame, 1 / STEPS, total)
        size += len(frame)
    return 8 * size / STEPS / gradient.size, np.linalg.norm(total - gradient) / np.linalg.norm(gradient)


def main(*arguments):
    if arguments and arguments[0].endswith(".npy"):
        try:
            gradient = np.ascontiguousarray(np.load(arguments[0]), "f4")
        except (OSError, ValueError) as error:
            sys.exit(f"compare.py: {error}")
        if not gradient.any() or not np.isfinite(gradient).all():
            sys.exit(f"compare.py: {arguments[0]} is empty, all zeros or not finite")
        arguments = arguments[1:]
    else:
        random = np.random.default_rng(1)
        gradient = (random.standard_normal(100000) * np.exp(random.standard_normal(100000)) * 0.01).astype("f4")
    rows = [(spec, *try_codec(spec, gradient)) for spec in arguments or defaults(np.sqrt(np.square(gradient).mean()))]
    for spec, bits, lost in sorted(rows, key=lambda row: row[1]):
        print(f"{spec:32} {bits:8.3f} bits an element, {lost:9.2e} lost")


if __name__ == "__main__":
    main(*sys.argv[1:])
