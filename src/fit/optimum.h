/* ZipML's levels: the best there are for a histogram (Zhang et al., ICML 2017).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPTIMUM_H
#define OPTIMUM_H

#include "fit/fit.h"

/* Finds the levels of least Psi (fit.h) among the edges of a histogram, its first and last included, by
 * dynamic programming in time count * bins^2. count is at most CRUMB_FIT_LEVELS, and bins at most
 * CRUMB_FIT_BINS; uses 32 KB of stack. Returns Psi, or infinity, and no levels, if there are not as many
 * edges a gap apart: of those beside bins with mass if these are as many as the levels, else of all. */
double crumb_fit_optimum(const struct fit_histogram *h, double *level, size_t count);

#endif
