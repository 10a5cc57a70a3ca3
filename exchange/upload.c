/* Frames on their way up. A message of frames is a head, the lengths of its frames (uint64_t), and the
 * frames, [learner][slice of the section].
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include "exchange/exchange_state.h"
#include "exchange/team.h"

static void pack_task(void *arg, size_t i, unsigned thread)
{
	struct crumb_exchange *x = arg;
	const size_t s = x->longest[i / x->own], l = i % x->own;
	const struct column *column = &x->column[s];
	struct piece *piece = &x->piece[l * x->slices + s];

	(void)thread;
	if (column->due) {
		const float *floats = (const float *)x->agreed.data + x->learners * column->due_before;
		piece->length = crumb_agree(piece->packer, floats, x->learners);
		if (piece->length < 0)
			return;
	}
	piece->length = crumb_pack(piece->packer, x->grad[l] + x->slice[s].at, x->slice[s].n, CRUMB_F32,
	                           CRUMB_KNOWN_FINITE, piece->slot, piece->slot_size);
	if (x->count_sent && piece->length >= 0) {
		crumb_frame_info frame;
		piece->length = crumb_peek(&frame, piece->slot, (size_t)piece->length);
		piece->sent = frame.sent;
	}
}

/* Moves the frames of a section together. */
static void join(struct crumb_exchange *x, const struct section *section, struct letter *letter)
{
	uint8_t *length = letter->data + sizeof(struct message_head);
	uint8_t *end = length + x->own * section->count * sizeof(uint64_t);

	letter->body = (size_t)(end - length);
	for (size_t l = 0; l < x->own; l++)
		for (size_t k = 0; k < section->count; k++, length += sizeof(uint64_t)) {
			struct piece *piece = &x->piece[l * x->slices + x->order[section->first + k]];
			const uint64_t bytes = (uint64_t)piece->length;
			memcpy(length, &bytes, sizeof bytes);
			if (end != piece->slot)
				memmove(end, piece->slot, bytes);
			piece->frame = end;
			end += bytes;
		}
	letter->len = (size_t)(end - letter->data);
}

int crumb_frames_pack(struct crumb_exchange *x)
{
	const size_t pieces = x->own * x->slices;

	crumb_team_run(x->team, pack_task, x, pieces);
	for (size_t i = 0; i < pieces; i++)
		if (x->piece[i].length < 0)
			return (int)x->piece[i].length;
	for (size_t k = 0; k < x->sections; k++)
		join(x, &x->section[k], &x->letter[k]);
	return 0;
}

static int find_from(struct crumb_exchange *x, const struct section *section, unsigned r)
{
	const size_t first = crumb_rank_first(x, r), learners = crumb_rank_first(x, r + 1) - first;
	const size_t table = learners * section->count * sizeof(uint64_t);
	const uint8_t *length = crumb_message_body(x->in[r], table);

	if (!length)
		return crumb_swap_damaged(x, r);
	const uint8_t *data = length + table;
	size_t left = x->in[r].len - sizeof(struct message_head) - table;
	for (size_t l = first; l < first + learners; l++)
		for (size_t k = 0; k < section->count; k++, length += sizeof(uint64_t)) {
			uint64_t bytes;
			memcpy(&bytes, length, sizeof bytes);
			if (bytes > left)
				return crumb_swap_damaged(x, r);
			x->frame[l * x->slices + x->order[section->first + k]] = (crumb_span){data, bytes};
			data += bytes;
			left -= bytes;
		}
	return left ? crumb_swap_damaged(x, r) : 0;
}

int crumb_frames_find(struct crumb_exchange *x, const struct section *section)
{
	int error = 0;

	for (unsigned r = 0; r < x->ranks && !error; r++)
		error = find_from(x, section, r);
	return error;
}

static void find(const struct crumb_exchange *x, size_t s, size_t first, size_t count, crumb_span *frame,
                 float *weight)
{
	for (size_t l = 0; l < count; l++) {
		frame[l] = x->frame[(first + l) * x->slices + s];
		weight[l] = x->share[first + l];
	}
}

void crumb_frames_mean(struct crumb_exchange *x, const size_t *slice, size_t count,
                       void (*finish)(struct crumb_exchange *x, size_t s))
{
	crumb_average_slices(x, slice, count, &(struct decoding){x->learners, find, finish});
}
