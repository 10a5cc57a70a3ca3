/* The optimum that ZipML finds (Zhang et al., ICML 2017).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPTIMUM_H
#define OPTIMUM_H

#include "fit/fit.h"

enum { OPTIMUM_LEVELS = 16 };

/* Finds the levels of least Psi among the edges of a histogram, its first and last included: the edges beside
 * bins with mass or, if these are fewer than the levels, all. Dynamic programming in time count * bins *
 * log(bins), for at most OPTIMUM_LEVELS levels and CRUMB_FIT_BINS bins; uses 32 KB of stack. Returns Psi,
 * or infinity, and no levels, if there are not as many edges CRUMB_FIT_GAP apart. */
double crumb_fit_optimum(const struct fit_histogram *h, double *level, size_t count);

#endif
