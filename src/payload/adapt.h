/* Adaptive levels: learners share statistics of their gradients and compute the same levels from them, to the
 * bit (Faghri et al., NeurIPS 2020, section 3). alq and amq differ in the levels that they may choose.
 *
 * The statistics are of coordinates, elements divided by their buckets' norms: a histogram of every second
 * block of 128 to judge levels by and, of the other blocks, a histogram too (model=empirical) or the means
 * and deviations of normal laws (model=normal, the paper's).
 *
 * SPDX-License-Identifier: MIT */
#ifndef ADAPT_H
#define ADAPT_H

#include "payload/levels.h"

enum {
	ADAPT_ZERO = LEVELS_OWN,
	ADAPT_NORMALIZED,
	ADAPT_MODEL,
	ADAPT_EVERY,
	ADAPT_NORM,
	ADAPT_KEYS
}; /* the keys */
// clang-format off
#define ADAPT_OWN_KEYS                                                                                  \
	LEVELS_KEYS(3, 8, 8192), LEVELS_ZERO_KEY(0),                                                    \
	{"normalized", "1: the -N variant, every bucket counts alike", 0, 0, 1, 1, CHOICES("0", "1")},  \
	{"model", "what the coordinates' law is taken for", 0, 0, 1, 1, CHOICES("empirical", "normal")}, \
	{"every", "steps between updates; there is one at steps 0 and 100, too", 2000, 1, 1 << 24, 1,   \
	 NULL},                                                                                         \
	LEVELS_NORM_KEY(LEVELS_L2)
// clang-format on

/* Chooses count levels of less Psi (fit/fit.h) than the previous ones under a law; ascending, from lo = -1,
 * or from lo = 0 for magnitudes. */
struct fit_law;
typedef void adapt_choose(const crumb_codec *codec, const struct fit_law *law, double *level, size_t count,
                          double lo, const double *previous);

/* The packer's floats are its levels; zeros before the first update. */
size_t crumb_adapt_floats(const crumb_codec *codec, size_t n);
bool crumb_adapt_packer_ok(const struct crumb_packer *p);

size_t crumb_adapt_count(const struct crumb_packer *p);
void crumb_adapt_measure(struct crumb_packer *p, const void *grad, enum crumb_dtype type, float *stat,
                         levels_walk_function *walk);
static inline void adapt_measure(struct crumb_packer *p, const void *grad, enum crumb_dtype type, float *stat)
{
	crumb_adapt_measure(p, grad, type, stat, levels_walk);
}
void crumb_adapt_agree(struct crumb_packer *p, const float *stat, size_t learners, adapt_choose *choose);

#endif
