/* Levels of a quantiser fitted to a distribution: ALQ and AMQ (Faghri et al., NeurIPS 2020).
 *
 * Levels are doubles, ascending, count >= 2 of them, from -1 to 1 (signed coordinates) or from 0 to 1
 * (magnitudes). The first and the last never move. A coordinate r is rounded at random to one of its two
 * neighbours, without bias, and that adds the variance
 *
 *   Psi(levels) = sum over neighbours a < c of the integral over (a, c] of (c - r)(r - a) dF(r)
 *
 * where the law F says how the coordinates, divided by their norm, are distributed. All functions minimise
 * Psi.
 *
 * Only sums, products, quotients, square roots and comparisons are computed, in a fixed order: a law and a
 * start give the same levels, to the bit, on every machine. Nothing is allocated; the arrays are the caller's
 * and outlive the law.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FIT_H
#define FIT_H

#include "base/arithmetic.h"
#include <stdbool.h>
#include <stddef.h>

/* Neighbouring levels stay this far apart, which keeps them apart as f32 too. Callers' levels must be, too.
 */
#define CRUMB_FIT_GAP 0x1p-23

/* A law F: masses >= 0, of any sum, inside the interval that it is made for. */
struct fit_law {
	/* m[k] = the integral over (a, b] of r^k dF(r), for k = 0, 1, 2 and a <= b. */
	void (*moments)(const struct fit_law *law, double a, double b, double m[3]);
};

/* The law that is uniform within each bin. Bin i is (edge[i], edge[i + 1]] and has mass[i]; edges ascend, and
 * a bin between equal edges is a point. */
struct fit_histogram {
	struct fit_law law;
	size_t count;
	const double *edge, *mass;
	double *sum[3];
};

/* edge and each of sum[0..2] hold count + 1 elements, mass holds count; sum is filled with the moments'
 * prefix sums. */
void crumb_fit_histogram(struct fit_histogram *h, const double *edge, const double *mass, size_t count,
                         double *const sum[3]);

/* A mixture of normals, each cut to [lo, hi] and weighed after that (section 3.4: one of them is ALQ-N, one a
 * bucket with the weight norm^2 is ALQ). */
struct fit_normal {
	double weight, mean, sigma;
};
struct fit_mixture {
	struct fit_law law;
	double lo, hi;
	struct fit_normal *part;
	size_t count;
};

/* Means lie in [lo, hi]. part is kept and changed: weights are divided by the masses inside [lo, hi], and
 * sigmas are at least CRUMB_FIT_GAP. */
void crumb_fit_mixture(struct fit_mixture *m, struct fit_normal *part, size_t count, double lo, double hi);

/* The law of |r|, on [0, 1], where r has another law, on [-1, 1]. */
struct fit_magnitude {
	struct fit_law law;
	const struct fit_law *of;
};
void crumb_fit_magnitude(struct fit_magnitude *m, const struct fit_law *of);

/* Starts of a search, with lo = -1 or 0: even steps from lo to 1; and 1, p, p^2, ... with their negatives
 * when lo is -1, and with zero when lo is 0 or count is odd. p is in (0, 1); the paper's exponential start
 * has 1/2. */
void crumb_fit_uniform(double *level, size_t count, double lo);
void crumb_fit_powers(double *level, size_t count, double lo, double p);

/* Returns p of the exponential start: the paper's 1/2 for up to 16 positive levels; for more the root of
 * that, as often as they are halved, so that the smallest level stays above 2^-16. */
double crumb_fit_start(size_t count, double lo);

double crumb_fit_psi(const struct fit_law *law, const double *level, size_t count);

/* Coordinate descent (Theorem 1): moves each inner level, in ascending order, to the best place between its
 * neighbours. Returns Psi, which no move raises. */
double crumb_fit_descend(const struct fit_law *law, double *level, size_t count);

/* The most levels and bins, where a function says so. */
enum { CRUMB_FIT_LEVELS = 256, CRUMB_FIT_BINS = 384 };

/* ALQ: coordinate descent from the given levels, at most CRUMB_FIT_LEVELS, with a step of Newton's method on
 * all levels after each sweep, until both together gain no more than 1e-4 of Psi or 64 sweeps are done, 8 of
 * more than 16 levels. Once with sweeps upward and once with sweeps downward; the better is kept. Returns the
 * sweeps of the longer. Psi does not rise. The levels found are a local minimum: try several starts. */
size_t crumb_fit_alq(const struct fit_law *law, double *level, size_t count);

/* Gradient descent: moves all inner levels together by rate times the derivative of Psi, each by at most 0.49
 * of the distance to its nearer neighbour (eq. 6 and 7). */
void crumb_fit_gradient_step(const struct fit_law *law, double *level, size_t count, double rate);

/* Takes such steps until one gains no more than 1e-6 of Psi, or 1024. A step that would raise Psi is not
 * taken, and halves the rate; one that is taken doubles it. */
void crumb_fit_gradient(const struct fit_law *law, double *level, size_t count);

/* AMQ: returns the multiplier p whose powers, as crumb_fit_powers lays them out, have the least Psi over
 * 2^-16 < p < 1, by a grid in log p and golden section; or previous, which may be 0 for none, if that is no
 * worse. The interval about zero counts, which the authors' code leaves out. level receives the powers. */
double crumb_fit_multiplier(const struct fit_law *law, double *level, size_t count, double lo,
                            double previous);

#endif
