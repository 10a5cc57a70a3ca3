/* The plan shard: a slice's frames go to the one rank that averages it, which packs the mean with a packer of
 * its own and gives it to all (Seide et al. 2014, section 3.3). If frames agree on a scaler the mean may come
 * down as the sum of their integers, and is then fl(fl(weight * scaler) * sum) everywhere (TernGrad, NeurIPS
 * 2017, section 3.1).
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include "exchange/parcel.h"
#include "exchange/plan.h"
#include "exchange/step.h"
#include "exchange/team.h"

/* ---- the owner's part ----------------------------------------------------------------------- */

static size_t own_slice(const struct step *step, size_t i)
{
	const struct crumb_exchange *x = step->x;

	return x->order[step->segment->share[x->rank].first + i];
}

/* Sums the frames into the slot; CRUMB_EAGREE if they cannot be summed. */
static void sum_task(void *arg, size_t i, unsigned thread)
{
	const struct step *step = arg;
	struct crumb_exchange *x = step->x;
	const size_t s = own_slice(step, i);
	struct slot *slot = &x->down.slot[s];

	(void)thread;
	slot->length = CRUMB_EAGREE;
	if (x->slice_state[s].sums && step->even)
		slot->length = crumb_sum(x->frame + s * x->learners, x->learners, slot->data, slot->size);
	slot->sum = slot->length != CRUMB_EAGREE;
}

/* A mean agrees with itself. */
static int agree(crumb_packer *packer, const float *mean, size_t n)
{
	const size_t due = crumb_agree_count(packer);
	float *stat = due ? malloc(due * sizeof *stat) : NULL;
	int error = due && !stat ? CRUMB_EMEMORY : 0;

	if (stat)
		error = crumb_measure(packer, mean, n, CRUMB_F32, stat);
	if (stat && !error)
		error = crumb_agree(packer, stat, 1);
	free(stat);
	return error;
}

static void pack_task(void *arg, size_t i, unsigned thread)
{
	const struct step *step = arg;
	struct crumb_exchange *x = step->x;
	const size_t s = x->down.decoded[i], n = x->slice[s].n;
	float *mean = step->mean + x->slice[s].at;
	struct slot *slot = &x->down.slot[s];

	(void)thread;
	crumb_average_limit(mean, n);
	slot->length = agree(slot->packer, mean, n);
	if (!slot->length)
		slot->length = crumb_pack(slot->packer, mean, n, CRUMB_F32, 0, slot->data, slot->size);
}

/* Averages this rank's slices and packs the means; only slices that cannot be summed are decoded. */
static int average(struct step *step)
{
	struct crumb_exchange *x = step->x;
	const struct share *own = &step->segment->share[x->rank];
	size_t decoded = 0;
	int error = crumb_upload_find(x, own);

	if (error)
		return error;
	crumb_team_run(step->team, sum_task, step, own->count);
	for (size_t i = 0; i < own->count; i++)
		if (!x->down.slot[own_slice(step, i)].sum)
			x->down.decoded[decoded++] = own_slice(step, i);
	error = crumb_upload_mean(step, x->down.decoded, decoded);
	if (error)
		return error;
	crumb_team_run(step->team, pack_task, step, decoded);
	for (size_t i = 0; i < own->count; i++) {
		const size_t s = own_slice(step, i);
		const struct slot *slot = &x->down.slot[s];
		if (slot->length < 0) /* residuals have moved: a mean that is not finite skips no step */
			return crumb_step_fail(
			        x, slot->length == CRUMB_ENONFINITE ? CRUMB_EFRAME : (int)slot->length,
			        "slice %zu: %s", s, crumb_strerror((int)slot->length));
	}
	crumb_parcel_join(x, own, x->down.slot, 1, step->segment->down);
	return 0;
}

/* ---- everybody's part ----------------------------------------------------------------------- */

static int apply(struct step *step)
{
	struct crumb_exchange *x = step->x;

	const struct segment *segment = step->segment;
	const struct decode_job job = {1, x->down.frame, x->down.weight, 1};
	int error = 0;

	for (unsigned r = 0; r < x->ranks && !error; r++)
		error = crumb_parcel_find(x, r, &segment->share[r], 1, x->down.frame, 1, x->down.slot);
	for (size_t s = segment->first; s < segment->first + segment->count; s++)
		x->down.weight[s] = x->down.slot[s].sum ? step->weight[0] : 1.0f;
	return error ? error : crumb_average_slices(step, segment->by_length, segment->count, &job);
}

/* ---- step ----------------------------------------------------------------------------------- */

int crumb_shard_mean(struct crumb_exchange *x, struct step *step, int error)
{
	error = crumb_upload_swap(step, error);
	if (!error)
		error = average(step);
	crumb_step_lap(x, &x->stats.unpack_seconds);
	error = crumb_swap(step, MESSAGE_DOWN, error, step->segment->down, 1);
	crumb_step_lap(x, &x->stats.swap_seconds);
	if (!error)
		error = apply(step);
	crumb_step_lap(x, &x->stats.unpack_seconds);
	return error;
}

/* Returns the most bytes of a slice's mean on its way down. */
static size_t bytes_down(const struct crumb_exchange *x, size_t s)
{
	const size_t n = x->slice[s].n;

	return x->slice_state[s].sums ? crumb_sum_bound(x->learners, n)
	                              : crumb_bound(&x->down.slot[s].codec, n);
}

/* Gives each slice, the longest first, to the rank with the least load so far: frames up from all learners
 * and down to all ranks. */
static void assign(struct crumb_exchange *x, unsigned *owner)
{
	for (size_t i = 0; i < x->slices; i++) {
		const size_t s = x->by_length[i];
		unsigned least = 0;
		for (unsigned r = 1; r < x->ranks; r++)
			if (x->share[r].load < x->share[least].load)
				least = r;
		owner[s] = least;
		x->share[least].load += x->learners * crumb_bound(&x->slice_state[s].codec, x->slice[s].n) +
		                        x->ranks * bytes_down(x, s);
	}
}

const struct plan crumb_plan_shard = {
        .name = "shard",
        .brief = "ranks divide the slices; each averages its own and gives their means to all",
        .assign = assign,
        .mean = crumb_shard_mean,
        .longest_slice = 1 << 16,
        .swaps = 3,
};
