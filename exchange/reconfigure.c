/* Another policy, plan or table of slices for an exchange under way. The exchange that it was until now stays
 * behind it for the next step: what its packers owe is added to that step's gradients, and its messages may
 * still be on their way.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/plan.h"
#include "exchange/exchange_state.h"
#include "exchange/transport.h"

static size_t total(const struct crumb_slice *slice, size_t slices)
{
	return slices ? slice[slices - 1].at + slice[slices - 1].n : 0;
}

static int refuse(char *why, size_t cap, int error, const char *what)
{
	snprintf(why, cap, "%s", what);
	return error;
}

int crumb_exchange_change(struct crumb_exchange *x, const struct crumb_exchange_config *config, char *why,
                          size_t cap)
{
	struct crumb_exchange *next;

	if (config->net != x->net || config->learners != x->learners ||
	    total(config->slices, config->slice_count) != total(x->slice, x->slices))
		return refuse(why, cap, CRUMB_EINVAL, "an exchange keeps its ranks, learners and gradient");
	if (x->learners < x->ranks && x->plan->assign && !x->exact)
		return refuse(why, cap, CRUMB_EINVAL,
		              "a rank without learners cannot pass on what a mean owes");
	const int error = crumb_exchange_open(&next, config, why, cap);
	if (error)
		return error;
	next->step = x->step;
	next->failed = x->failed;
	next->dead = x->dead;
	next->stats = x->stats;
	const struct crumb_exchange former = *x;
	*x = *next;
	*next = former;
	x->former = next;
	return 0;
}

/* Adds what a packer of slice s owes, times weight. */
static void add_owed(float *sum, const struct crumb_slice *slice, crumb_packer *packer, float weight)
{
	const float *owed = packer ? crumb_packer_residual(packer) : NULL;

	for (size_t i = 0; owed && i < slice->n; i++)
		sum[slice->at + i] += weight * owed[i];
}

/* What the learners of this rank owed, to *grad; what its means did, as if its first learner owed it. */
static void add_all_owed(struct crumb_exchange *former, float **grad, const float *share)
{
	for (size_t s = 0; s < former->slices; s++) {
		for (size_t l = 0; l < former->own; l++)
			add_owed(grad[l], &former->slice[s], former->piece[l * former->slices + s].packer, 1);
		if (former->own)
			add_owed(grad[0], &former->slice[s], former->descent[s].packer,
			         1 / share[former->first]);
	}
}

int crumb_change_begin(struct crumb_exchange *x)
{
	const size_t n = total(x->slice, x->slices);

	if (!x->former || !x->own)
		return 0;
	x->sum = calloc(x->own, sizeof *x->sum);
	for (size_t l = 0; x->sum && l < x->own; l++) {
		x->sum[l] = malloc(n * sizeof **x->sum + 1);
		if (!x->sum[l])
			return CRUMB_EMEMORY;
		memcpy(x->sum[l], x->grad[l], n * sizeof **x->sum);
	}
	if (!x->sum)
		return CRUMB_EMEMORY;
	for (struct crumb_exchange *former = x->former; former; former = former->former)
		add_all_owed(former, x->sum, x->share);
	x->grad = (const float *const *)x->sum;
	return 0;
}

void crumb_change_end(struct crumb_exchange *x, int error)
{
	for (size_t l = 0; x->sum && l < x->own; l++)
		free(x->sum[l]);
	free(x->sum);
	x->sum = NULL;
	if (error == CRUMB_ENONFINITE) /* the step was skipped: all is owed as before */
		return;
	crumb_exchange_close(x->former);
	x->former = NULL;
}
