/* What of the gradients arrives: sums over steps of what the learners computed and of what the exchange made
 * of it. Of one process only, as every learner's gradient and residual is looked at.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ARRIVAL_H
#define ARRIVAL_H

#include <stdio.h>
#include "exchange/exchange.h"

struct arrival;

/* On n parameters in these slices, which are cut as the exchange's are. Both must outlive it. What is owed
 * now counts as computed before. NULL when out of memory. */
struct arrival *arrival_open(struct crumb_exchange *exchange, const struct crumb_slice *slice, size_t slices,
                             size_t learners, const float *share, size_t n);
void arrival_close(struct arrival *a);

/* A step that was not skipped: each learner's gradient, of which `mean` was made. */
void arrival_step(struct arrival *a, const float *const *grad, const float *mean);

/* Of the mean gradient of all steps since the last arrival_read: slope: (computed, arrived) / |computed|^2,
 * which is 1 where nothing is lost on average; cosine: of the angle between them. drift: |computed - arrived
 * - owed| over all steps by |computed|, which is rounding where all that does not arrive stays owed. */
struct arrived {
	double slope, cosine, drift;
};
struct arrived arrival_read(struct arrival *a);

#endif
