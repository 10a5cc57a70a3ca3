"""What tests/test_fit.c is checked against: writes tests/fit_tables.h.

  fit_tables.py GRAD.npy...

Needs NumPy and SciPy. From SciPy's truncated normal come moments, and the best place between two levels, by quadrature
of its density and Brent's method, not by the formulas under test. From the gradients, flat and f32, come histograms:
cut in buckets of 8192, divided by their buckets' L2 norms, counted in the test's bins.
The table's are lenet's on MNIST at its first step and at the ends of its first two epochs, as written by
crumb-train --data mnist:DIR --epochs 2 --learners 1 --batch 64 --dump-gradients DIR.

SPDX-License-Identifier: MIT
"""
import sys
import textwrap

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import truncnorm

LAWS = [  # mean, sigma, lo, hi
    (0, 0.1, -1, 1), (0.01, 0.05, -1, 1), (-0.3, 0.4, -1, 1), (0, 1 / 128, -1, 1), (0, 0.2, 0, 1), (0.2, 2, 0, 1)]
INTERVALS = [(-1, 1), (-0.5, -0.25), (-0.02, 0.05), (0, 0.125), (0.1, 1), (0.3, 0.31)]
BUCKET = 8192


def integral(f, a, b, mean, sigma):
    """Of f over (a, b], in pieces that a peak of this place and width cannot hide between."""
    cuts = sorted({a, b, *(x for x in (mean + sigma * k / 2 for k in range(-80, 81)) if a < x < b)})
    return sum(quad(f, *piece, epsabs=0, epsrel=1e-13)[0] for piece in zip(cuts, cuts[1:]))


def print_normals():
    print("static const struct {\n\tdouble mean, sigma, lo, hi, a, b, moment[3], best;\n} table_normal[] = {")
    for mean, sigma, lo, hi in LAWS:
        law = truncnorm((lo - mean) / sigma, (hi - mean) / sigma, mean, sigma)
        for a, b in INTERVALS:
            if a < lo:
                continue
            moments = [integral(lambda r: r**k * law.pdf(r), a, b, mean, sigma) for k in range(3)]
            if moments[0] < 1e-250:
                continue

            def derivative(x):
                below = integral(lambda r: (r - a) * law.pdf(r), a, x, mean, sigma) if a < x else 0
                above = integral(lambda r: (b - r) * law.pdf(r), x, b, mean, sigma) if x < b else 0
                return (below - above) / moments[0]

            best = brentq(derivative, a, b, xtol=1e-14)
            print("\t{%s, {%s},\n\t%.16e}," % (", ".join("%.16g" % x for x in (mean, sigma, lo, hi, a, b)),
                                         ", ".join("%.16e" % m for m in moments), best))
    print("};")


def edges():
    half = [2.0**octave * (1 + i / 8) for octave in range(-20, 0) for i in range(8)] + [1.0]
    return np.array([-x for x in reversed(half)] + half)


def print_histograms(files):
    print("\nstatic const unsigned table_lenet[][%d] = {" % (len(edges()) - 1))
    for name in files:
        g = np.load(name).astype(np.float64)
        g = g[:g.size // BUCKET * BUCKET].reshape(-1, BUCKET)
        norm = np.sqrt((g * g).sum(axis=1, keepdims=True))
        count, _ = np.histogram((g / np.where(norm > 0, norm, 1)).ravel(), edges())
        print(textwrap.fill(", ".join(map(str, count)), 110, initial_indent="\t{", subsequent_indent="\t") + "},")
    print("};")


if len(sys.argv) < 2:
    sys.exit("usage: fit_tables.py GRAD.npy... > fit_tables.h")
print("/* Written by tests/reference/fit_tables.py. SPDX-License-Identifier: MIT */\n#ifndef FIT_TABLES_H\n"
      "#define FIT_TABLES_H\n\n/* clang-format off */")
print_normals()
print_histograms(sys.argv[1:])
print("/* clang-format on */\n\n#endif")
