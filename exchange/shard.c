/* The plan shard: a slice's frames go to the one rank that averages it, which packs the mean with a packer of
 * its own and gives it to all (Seide et al. 2014, section 3.3). Where frames agree on a scaler the mean may
 * come down as the sum of their integers, and is then fl(fl(share * scaler) * sum) everywhere (TernGrad,
 * NeurIPS 2017, section 3.2).
 *
 * What comes down is a head, the lengths of the frames (uint64_t, the highest bit set for a sum), and the
 * frames.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/plan.h"
#include "exchange/exchange_state.h"
#include "exchange/team.h"

#define SUM (UINT64_C(1) << 63)

enum { MOST_SUMMED = 256 }; /* crumb_sum takes no more */

static int slice_failed(struct crumb_exchange *x, size_t s, int error)
{
	snprintf(x->why, sizeof x->why, "step %llu: rank %u: slice %zu: %s", (unsigned long long)x->step,
	         x->rank, s, crumb_strerror(error));
	return error == CRUMB_ENONFINITE ? CRUMB_EFRAME : error; /* residuals have moved: no step to skip */
}

/* ---- the owner's part ----------------------------------------------------------------------- */

/* The frames' sum into the slot: its length, or CRUMB_EAGREE when they cannot be summed. */
static int64_t sum(struct crumb_exchange *x, size_t s)
{
	crumb_span frame[MOST_SUMMED];

	if (!x->descent[s].sums || !x->even || x->learners > MOST_SUMMED)
		return CRUMB_EAGREE;
	for (size_t l = 0; l < x->learners; l++)
		frame[l] = x->frame[l * x->slices + s];
	return crumb_sum(frame, x->learners, x->descent[s].slot, x->descent[s].slot_size);
}

static int64_t pack_mean(struct crumb_exchange *x, size_t s)
{
	const float *mean = x->mean + x->slice[s].at;
	struct descent *descent = &x->descent[s];
	const size_t due = crumb_agree_count(descent->packer);

	if (due) { /* with itself */
		float *stat = malloc(due * sizeof *stat);
		int error = stat ? crumb_measure(descent->packer, mean, x->slice[s].n, CRUMB_F32, stat)
		                 : CRUMB_EMEMORY;
		if (!error)
			error = crumb_agree(descent->packer, stat, 1);
		free(stat);
		if (error)
			return error;
	}
	return crumb_pack(descent->packer, mean, x->slice[s].n, CRUMB_F32, 0, descent->slot,
	                  descent->slot_size);
}

static void sum_task(void *arg, size_t i, unsigned thread)
{
	struct crumb_exchange *x = arg;
	const size_t s = x->order[x->section[x->rank].first + i];

	(void)thread;
	x->descent[s].length = sum(x, s);
	x->descent[s].sum = x->descent[s].length != CRUMB_EAGREE;
}

static void pack(struct crumb_exchange *x, size_t s) { x->descent[s].length = pack_mean(x, s); }

/* Moves the means' frames together. */
static void join(struct crumb_exchange *x, const struct section *own, struct letter *letter)
{
	uint8_t *length = x->means.data + sizeof(struct message_head);
	uint8_t *end = length + own->count * sizeof(uint64_t);

	*letter = (struct letter){.data = x->means.data, .body = (size_t)(end - length)};
	for (size_t i = 0; i < own->count; i++, length += sizeof(uint64_t)) {
		const struct descent *descent = &x->descent[x->order[own->first + i]];
		const uint64_t bytes = (uint64_t)descent->length | (descent->sum ? SUM : 0);
		memcpy(length, &bytes, sizeof bytes);
		memmove(end, descent->slot, (size_t)descent->length);
		end += descent->length;
	}
	letter->len = (size_t)(end - letter->data);
}

/* Averages this rank's slices and packs the means; of those that cannot be summed without decoding. */
static int average(struct crumb_exchange *x, struct letter *letter)
{
	const struct section *own = &x->section[x->rank];
	size_t others = 0;
	int error = crumb_frames_find(x, own);

	if (error)
		return error;
	crumb_team_run(x->team, sum_task, x, own->count);
	for (size_t i = 0; i < own->count; i++)
		if (!x->descent[x->order[own->first + i]].sum)
			x->decoded[others++] = x->order[own->first + i];
	crumb_frames_mean(x, x->decoded, others, pack);
	for (size_t i = 0; i < own->count; i++) {
		const size_t s = x->order[own->first + i];
		const struct descent *descent = &x->descent[s];
		error = descent->sum ? 0 : x->column[s].error;
		if (error || descent->length < 0)
			return slice_failed(x, s, error ? error : (int)descent->length);
	}
	join(x, own, letter);
	return 0;
}

/* ---- everybody's part ----------------------------------------------------------------------- */

static int find_from(struct crumb_exchange *x, unsigned r)
{
	const struct section *section = &x->section[r];
	const size_t table = section->count * sizeof(uint64_t);
	const uint8_t *length = crumb_message_body(x->in[r], table);

	if (!length)
		return crumb_swap_damaged(x, r);
	const uint8_t *data = length + table;
	size_t left = x->in[r].len - sizeof(struct message_head) - table;
	for (size_t i = 0; i < section->count; i++, length += sizeof(uint64_t)) {
		struct descent *descent = &x->descent[x->order[section->first + i]];
		uint64_t bytes;
		memcpy(&bytes, length, sizeof bytes);
		descent->sum = bytes & SUM;
		bytes &= ~SUM;
		if (bytes > left)
			return crumb_swap_damaged(x, r);
		descent->frame = (crumb_span){data, bytes};
		data += bytes;
		left -= bytes;
	}
	return left ? crumb_swap_damaged(x, r) : 0;
}

static void find(const struct crumb_exchange *x, size_t s, size_t first, size_t count, crumb_span *frame,
                 float *weight)
{
	(void)first, (void)count; /* 0 and 1 */
	*frame = x->descent[s].frame;
	*weight = x->descent[s].sum ? x->share[0] : 1.0f;
}

static int apply(struct crumb_exchange *x)
{
	int error = 0;

	for (unsigned r = 0; r < x->ranks && !error; r++)
		error = find_from(x, r);
	if (error)
		return error;
	crumb_average_slices(x, x->longest, x->slices, &(struct decoding){1, find, NULL});
	for (size_t s = 0; s < x->slices; s++)
		if (x->column[s].error)
			return slice_failed(x, s, x->column[s].error);
	return 0;
}

/* ---- step ----------------------------------------------------------------------------------- */

int crumb_shard_mean(struct crumb_exchange *x, int error)
{
	struct letter down = {.data = x->means.data};

	if (!error)
		error = crumb_frames_pack(x);
	crumb_step_lap(x, &x->stats.pack_seconds);
	error = crumb_swap(x, MESSAGE_UP, error, x->letter, x->sections);
	crumb_step_lap(x, &x->stats.swap_seconds);
	if (!error)
		error = average(x, &down);
	crumb_step_lap(x, &x->stats.unpack_seconds);
	error = crumb_swap(x, MESSAGE_DOWN, error, &down, 1);
	crumb_step_lap(x, &x->stats.swap_seconds);
	if (!error)
		error = apply(x);
	crumb_step_lap(x, &x->stats.unpack_seconds);
	return error;
}

/* Bytes that the mean of slice s takes on its way down, headers left out: a sum has ceil(log2(2 N + 1)) bits
 * an element. */
static size_t bytes_down(const struct crumb_exchange *x, size_t s)
{
	const size_t n = x->slice[s].n;
	size_t bits = 1;

	if (!x->descent[s].sums)
		return crumb_bound(&x->descent[s].codec, n);
	while ((size_t)1 << bits < 2 * x->learners + 1)
		bits++;
	return n * bits / 8;
}

/* Gives each slice, the longest first, to the rank that has least to carry so far: what comes up from all
 * learners and what goes down to all ranks. */
static void assign(struct crumb_exchange *x, unsigned *owner)
{
	for (size_t i = 0; i < x->slices; i++) {
		const size_t s = x->longest[i];
		unsigned least = 0;
		for (unsigned r = 1; r < x->ranks; r++)
			if (x->section[r].load < x->section[least].load)
				least = r;
		owner[s] = least;
		x->section[least].load += x->learners * crumb_bound(&x->column[s].codec, x->slice[s].n) +
		                          x->ranks * bytes_down(x, s);
	}
}

const struct plan crumb_plan_shard = {
        .name = "shard",
        .brief = "ranks divide the slices; each averages its own and gives their means to all",
        .assign = assign,
        .mean = crumb_shard_mean,
        .longest = 1 << 16,
        .swaps = 3,
};
