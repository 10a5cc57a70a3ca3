/* Frames on their way up. A message is a parcel of [own learner][slice of the share].
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include "exchange/parcel.h"
#include "exchange/step.h"
#include "exchange/team.h"

static void pack_task(void *arg, size_t i, unsigned thread)
{
	const struct step *step = arg;
	struct crumb_exchange *x = step->x;
	const size_t s = x->longest[i / x->own], l = i % x->own, n = x->slice[s].n;
	const float *grad = step->grad[l] + x->slice[s].at;
	const struct slice_state *state = &x->slice_state[s];
	struct slot *slot = &x->up[l * x->slices + s];

	(void)thread;
	if (state->due) {
		const float *floats = (const float *)x->agreed.data + x->learners * state->due_before;
		slot->length = crumb_agree(slot->packer, floats, x->learners);
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

/* Moves the frames of a share together. */
static void join(struct crumb_exchange *x, const struct share *share, struct outgoing *message)
{
	const size_t frames = x->own * share->count;

	crumb_parcel_begin(message, frames);
	for (size_t i = 0; i < frames; i++) {
		const size_t s = x->order[share->first + i % share->count];
		struct slot *slot = &x->up[i / share->count * x->slices + s];
		slot->frame =
		        crumb_parcel_add(message, i, (crumb_span){slot->data, (size_t)slot->length}, false);
	}
}

static int pack(struct step *step)
{
	struct crumb_exchange *x = step->x;
	const size_t frames = x->own * x->slices;

	crumb_team_run(x->team, pack_task, step, frames);
	for (size_t i = 0; i < frames; i++)
		if (x->up[i].length < 0)
			return (int)x->up[i].length;
	for (size_t k = 0; k < x->shares; k++)
		join(x, &x->share[k], &x->messages.up[k]);
	return 0;
}

int crumb_upload_swap(struct step *step, int error)
{
	struct crumb_exchange *x = step->x;

	if (!error)
		error = pack(step);
	crumb_step_lap(x, &x->stats.pack_seconds);
	error = crumb_swap(step, MESSAGE_UP, error, x->messages.up, x->shares);
	crumb_step_lap(x, &x->stats.swap_seconds);
	return error;
}

int crumb_upload_find(struct crumb_exchange *x, const struct share *share)
{
	for (unsigned r = 0; r < x->ranks; r++) {
		const size_t first = rank_first(x, r), end = rank_first(x, r + 1);
		struct parcel parcel = crumb_parcel_open(x->messages.in[r], (end - first) * share->count);
		for (size_t l = first; l < end; l++)
			for (size_t k = 0; k < share->count; k++)
				x->frame[x->order[share->first + k] * x->learners + l] =
				        crumb_parcel_next(&parcel, NULL);
		if (!crumb_parcel_ended(&parcel))
			return crumb_swap_damaged(x, r);
	}
	return 0;
}

int crumb_upload_mean(struct step *step, const size_t *slice, size_t count)
{
	const struct decoding what = {step->x->learners, step->x->frame, step->weight, 0};

	return crumb_average_slices(step, slice, count, &what);
}
