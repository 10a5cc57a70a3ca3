#!/usr/bin/env python3
"""Codecs on a gradient: bits an element against what is lost, as a table and, where gnuplot is, as compare.svg.

    examples/compare.py [GRADIENT.npy] [SPEC]...

Without a gradient, one of normal numbers whose spread differs from element to element; without specs, every codec at its
defaults (thresholds at the gradient's spread). Each sends the gradient twenty times; what is lost is the distance of the mean
of what has arrived from the gradient, over the gradient's norm: errors that are owed or random cancel, others stay.
SPDX-License-Identifier: MIT
"""
import shutil
import subprocess
import sys

import numpy as np

import crumb

STEPS = 20


def defaults(spread):
    for info in crumb.codecs():
        threshold = any(key.name == "threshold" and key.default > 0 for key in info.keys)
        yield f"{info.name}:threshold={spread:.6g}" if threshold else info.name


def try_codec(spec, gradient):
    packer, total, size = crumb.Packer(spec, gradient.size, seed=1), np.zeros(gradient.shape, "f4"), 0
    for _ in range(STEPS):
        packer.agree([packer.measure(gradient)])  # with itself, where the codec wants it
        frame = packer.pack(gradient)
        crumb.unpack_add(frame, 1 / STEPS, total)
        size += len(frame)
    return 8 * size / STEPS / gradient.size, np.linalg.norm(total - gradient) / np.linalg.norm(gradient)


def plot(rows):
    points = "\n".join(f'"{spec}" {bits} {max(lost, 1e-8)}' for spec, bits, lost in rows)
    script = f"""$points << END
{points}
END
set terminal svg size 900,600 background "white"
set output "compare.svg"
set logscale xy
set xlabel "bits an element"
set ylabel "lost after {STEPS} steps"
plot $points using 2:3:1 with labels point pointtype 7 offset 0,0.7 noenhanced notitle
"""
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def main(*arguments):
    if arguments and arguments[0].endswith(".npy"):
        gradient, arguments = np.ascontiguousarray(np.load(arguments[0]), "f4"), arguments[1:]
    else:
        random = np.random.default_rng(1)
        gradient = (random.standard_normal(100000) * np.exp(random.standard_normal(100000)) * 0.01).astype("f4")
    rows = [(spec, *try_codec(spec, gradient)) for spec in arguments or defaults(gradient.std())]
    for spec, bits, lost in sorted(rows, key=lambda row: row[1]):
        print(f"{spec:32} {bits:8.3f} bits an element, {lost:9.2e} lost")
    if shutil.which("gnuplot"):
        plot(rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
