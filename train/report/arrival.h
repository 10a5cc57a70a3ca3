/* The arrived share of gradients: sums over steps of the learners' gradients and of the exchange's means. For
 * one process only, because it reads every learner's gradient and residual.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ARRIVAL_H
#define ARRIVAL_H
#include "exchange/exchange.h"

#include <stdio.h>

struct arrival;

/* Opens sums over n parameters in these slices, which are cut as the exchange's are. Both must outlive it.
 * Residuals so far count as computed before. NULL when out of memory. */
struct arrival *arrival_open(struct crumb_exchange *exchange, const struct crumb_slice *slice, size_t slices,
                             size_t learners, const float *share, size_t n);
void arrival_close(struct arrival *a);

/* Adds a step that was not skipped: each learner's gradient, and the mean that arrived. */
void arrival_step(struct arrival *a, const float *const *grad, const float *mean);

/* The mean gradient over the steps since the last arrival_read.
 * slope: (computed, arrived) / |computed|^2, 1 if nothing is lost on average
 * cosine: of the angle between computed and arrived
 * drift: |computed - arrived - residual| over all steps, divided by |computed|: rounding alone if all that
 * has not arrived is in a residual */
struct arrived {
	double slope, cosine, drift;
};
struct arrived arrival_read(struct arrival *a);

#endif
