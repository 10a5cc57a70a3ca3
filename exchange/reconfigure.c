/* Another policy, plan or table of slices for an exchange under way. The former exchange is kept for the next
 * step: the residuals of its packers, and their velocities, are added to that step's gradients.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "exchange/plan.h"
#include "exchange/policy.h"
#include "exchange/step.h"
#include "exchange/why.h"

int crumb_exchange_change(struct crumb_exchange *x, const struct crumb_exchange_config *config, char *why,
                          size_t cap)
{
	struct crumb_exchange *next;

	if (config->net != x->net || config->learners != x->learners ||
	    slices_total(config->slices, config->slice_count) != slices_total(x->slice, x->slices))
		return refuse(why, cap, CRUMB_EINVAL, "an exchange keeps its ranks, learners and gradient");
	if (!x->plan->mean || (config->plan && !config->plan->mean))
		return refuse(why, cap, CRUMB_EINVAL, "plan async cannot be changed to or from");
	if (config->overlap || x->overlaps)
		return refuse(why, cap, CRUMB_EINVAL, "an exchange that overlaps cannot be changed");
	if (x->learners < x->ranks && x->plan->assign && (x->tiers || !x->exact))
		return refuse(why, cap, CRUMB_EINVAL,
		              "a rank without learners cannot pass on the residual of a mean");
	const int error = crumb_exchange_start(&next, config, why, cap);
	if (error)
		return error;
	next->step = x->step;
	next->failed = x->failed;
	next->messages.dead = x->messages.dead;
	crumb_exchange_read_stats(x, &next->stats);
	struct crumb_exchange *between = crumb_exchange_packing(next);
	if (between)
		between->step = next->step;
	const struct crumb_exchange former = *x;
	*x = *next;
	*next = former;
	x->former = next;
	return 0;
}

/* Returns the momentum of a packer that has a velocity. */
static float momentum_of(const crumb_packer *packer)
{
	crumb_codec codec = *crumb_packer_codec(packer);

	return *crumb_policy_momentum(&codec);
}

/* Adds a packer's residual of one slice, times weight. With momentum m the residual v is what weights shall
 * move by, and m times the velocity u is what momentum adds to the next gradient. A gradient g that meets
 * momentum, of another packer or of the optimizer, moves them by g / (1 - m) in the end: the sum of v and of
 * m u / (1 - m), what u would have moved them by, if g = m u + (1 - m) v. */
static void add_residual(float *sum, const struct crumb_slice *slice, crumb_packer *packer, float weight)
{
	const float *residual = packer ? crumb_packer_residual(packer) : NULL,
	            *velocity = packer ? crumb_packer_velocity(packer) : NULL;
	const float momentum = velocity ? momentum_of(packer) : 0;

	for (size_t i = 0; residual && i < slice->n; i++)
		sum[slice->at + i] +=
		        weight * ((1 - momentum) * residual[i] + (velocity ? momentum * velocity[i] : 0));
}

/* Returns the weight of a debtor of this rank: a node's is its learners'. */
static float weight_of(const struct crumb_exchange *x, size_t debtor, const float *weight)
{
	float sum = 0;

	for (size_t l = 0; l < x->learners; l++)
		sum += crumb_exchange_debtor(x, l) == debtor ? weight[l] : 0;
	return sum;
}

/* Adds the residuals of this rank's learners to their gradients; and those of its node, and of its means, to
 * its first learner's, so that its weight gives them back. */
static void add_residuals(const struct crumb_exchange *former, float **grad, const float *weight)
{
	const struct crumb_exchange *packing = crumb_exchange_packing(former);

	for (size_t l = 0; packing && l < packing->own; l++) {
		const float share =
		        former->tiers ? weight_of(former, packing->first + l, weight) / weight[former->first]
		                      : 1;
		for (size_t s = 0; s < former->slices; s++)
			add_residual(grad[l], &former->slice[s], packing->up[l * former->slices + s].packer,
			             share);
	}
	for (size_t s = 0; packing && packing->own && s < former->slices; s++)
		add_residual(grad[0], &former->slice[s], packing->down.slot[s].packer,
		             1 / weight[former->first]);
}

int crumb_reconfigure_begin(struct step *step)
{
	const struct crumb_exchange *x = step->x;
	const size_t n = slices_total(x->slice, x->slices);

	if (!x->former || !x->own)
		return 0;
	step->sum = calloc(x->own, sizeof *step->sum);
	if (!step->sum || !(step->sum[0] = malloc(x->own * n * sizeof **step->sum + 1)))
		return CRUMB_EMEMORY;
	for (size_t l = 0; l < x->own; l++) {
		step->sum[l] = step->sum[0] + l * n;
		memcpy(step->sum[l], step->grad[l], n * sizeof **step->sum);
	}
	for (const struct crumb_exchange *former = x->former; former; former = former->former)
		add_residuals(former, step->sum, step->weight);
	step->grad = (const float *const *)step->sum;
	return 0;
}

void crumb_reconfigure_end(struct step *step, int error)
{
	struct crumb_exchange *x = step->x;

	if (step->sum)
		free(step->sum[0]);
	free(step->sum);
	if (error == CRUMB_ENONFINITE) /* the step was skipped: residuals are as before */
		return;
	crumb_exchange_close(x->former);
	x->former = NULL;
}
