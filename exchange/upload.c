/* Frames on their way up.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/parcel.h"
#include "exchange/step.h"
#include "exchange/team.h"

static void pack_task(void *arg, size_t i, unsigned thread)
{
	const struct step *step = arg;
	struct crumb_exchange *x = step->x;
	const size_t s = step->segment->by_length[i / step->own], l = i % step->own, n = x->slice[s].n;
	const float *grad = step->grad[l] + x->slice[s].at;
	const struct slice_state *state = &x->slice_state[s];
	struct slot *slot = &x->up[l * x->slices + s];

	(void)thread;
	if (state->due) {
		const float *floats = (const float *)x->agreed.data + x->learners * state->due_before;
		slot->length = crumb_agree(slot->packer, floats, x->learners * (1 + x->extras));
		if (slot->length < 0)
			return;
	}
	slot->length =
	        crumb_pack(slot->packer, grad, n, CRUMB_F32, CRUMB_KNOWN_FINITE, slot->data, slot->size);
	if (step->count_sent && slot->length >= 0) {
		crumb_frame_info info;
		slot->length = crumb_peek(&info, slot->data, (size_t)slot->length);
		slot->sent = info.sent;
	}
}

int crumb_upload_pack(struct step *step)
{
	struct crumb_exchange *x = step->x;
	const struct segment *segment = step->segment;

	crumb_team_run(step->team, pack_task, step, step->own * segment->count);
	const int error = crumb_step_lengths(step, step->own);
	for (size_t k = 0; k < x->shares && !error; k++)
		crumb_parcel_join(x, &segment->share[k], x->up, step->own, &segment->up[k]);
	return error;
}

int crumb_upload_swap(struct step *step, int error)
{
	struct crumb_exchange *x = step->x;

	if (!error)
		error = crumb_upload_pack(step);
	crumb_step_lap(x, &x->stats.pack_seconds);
	error = crumb_swap(step, MESSAGE_UP, error, step->segment->up, x->shares);
	crumb_step_lap(x, &x->stats.swap_seconds);
	return error;
}

int crumb_upload_find(struct crumb_exchange *x, const struct share *share)
{
	int error = 0;

	for (unsigned r = 0; r < x->ranks && !error; r++) {
		const size_t first = rank_first(x, r), count = rank_learners(x, r);
		error = crumb_parcel_find(x, r, share, count, x->frame + first, x->learners, NULL);
	}
	return error;
}

int crumb_upload_mean(struct step *step, const size_t *slice, size_t count)
{
	const struct decode_job job = {step->x->learners, step->x->frame, step->weight, 0};

	return crumb_average_slices(step, slice, count, &job);
}
