/* Sums in double, in the order of elements.
 *
 * SPDX-License-Identifier: MIT */
#include "train/report/arrival.h"

#include <math.h>
#include <stdlib.h>

struct arrival {
	struct crumb_exchange *exchange;
	const struct crumb_slice *slice;
	size_t slices, learners, n;
	const float *share;
	double *computed, *arrived; /* since the start, n floats each */
	double *owed;
	double product, of_computed, of_arrived; /* since the last arrival_read */
};

/* Adds all learners' residuals, weighted as their gradients are, and the mean's residual. */
static void add_owed(const struct arrival *p, double *to)
{
	for (size_t s = 0; s < p->slices; s++)
		for (size_t l = 0; l <= p->learners; l++) {
			crumb_packer *packer = l < p->learners ? crumb_exchange_packer(p->exchange, l, s)
			                                       : crumb_exchange_mean_packer(p->exchange, s);
			const float *residual = packer ? crumb_packer_residual(packer) : NULL;
			const double weight = l < p->learners ? (double)p->share[l] : 1;
			for (size_t i = 0; residual && i < p->slice[s].n; i++)
				to[p->slice[s].at + i] += weight * (double)residual[i];
		}
}

struct arrival *arrival_open(struct crumb_exchange *exchange, const struct crumb_slice *slice, size_t slices,
                             size_t learners, const float *share, size_t n)
{
	struct arrival *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	*p = (struct arrival){.exchange = exchange,
	                      .slice = slice,
	                      .slices = slices,
	                      .learners = learners,
	                      .share = share,
	                      .n = n,
	                      .computed = calloc(n, sizeof *p->computed),
	                      .arrived = calloc(n, sizeof *p->arrived),
	                      .owed = calloc(n, sizeof *p->owed)};
	if (!p->computed || !p->arrived || !p->owed) {
		arrival_close(p);
		return NULL;
	}
	add_owed(p, p->computed);
	return p;
}

void arrival_close(struct arrival *p)
{
	if (!p)
		return;
	free(p->computed);
	free(p->arrived);
	free(p->owed);
	free(p);
}

void arrival_step(struct arrival *p, const float *const *grad, const float *mean)
{
	for (size_t i = 0; i < p->n; i++) {
		double computed = 0;
		for (size_t l = 0; l < p->learners; l++)
			computed += (double)p->share[l] * (double)grad[l][i];
		p->computed[i] += computed;
		p->arrived[i] += (double)mean[i];
		p->product += computed * (double)mean[i];
		p->of_computed += computed * computed;
		p->of_arrived += (double)mean[i] * (double)mean[i];
	}
}

struct arrived arrival_read(struct arrival *p)
{
	double lost = 0, all = 0;
	for (size_t i = 0; i < p->n; i++)
		p->owed[i] = 0;
	add_owed(p, p->owed);
	for (size_t i = 0; i < p->n; i++) {
		const double left = p->computed[i] - p->arrived[i] - p->owed[i];
		lost += left * left;
		all += p->computed[i] * p->computed[i];
	}
	const struct arrived read = {
	        .slope = p->product / p->of_computed,
	        .cosine = p->product / sqrt(p->of_computed * p->of_arrived),
	        .drift = sqrt(lost / all),
	};
	p->product = p->of_computed = p->of_arrived = 0;
	return read;
}
