/* A step by the plan gather: every rank gives every rank the frames of its learners, and every rank decodes
 * them all.
 *
 * check, vote, pack, swap, unpack. Both swaps take place whatever fails, so that nobody waits in vain; a rank
 * that has failed sends a head that says so, and the heads of the second swap decide what every rank returns.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "rank.h"
#include "team.h"
#include "transport.h"

enum { SENT_EVERY = 10 };

/* Adds the wall time since the last call to *seconds. */
static void lap(struct crumb_exchange *x, double *seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	const double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
	*seconds += now - x->clock;
	x->clock = now;
}

/* The i-th task's piece: one of a long slice first, so that threads end together. */
static struct piece *task_piece(struct crumb_exchange *x, size_t i, size_t *l, size_t *s)
{
	*s = x->longest[i / x->own];
	*l = i % x->own;
	return &x->piece[*l * x->slices + *s];
}

/* ---- check ---------------------------------------------------------------------------------- */

static float *own_floats(const struct crumb_exchange *x)
{
	return (float *)(x->vote.data + sizeof(struct message_head));
}

static void check_piece(void *arg, size_t i, unsigned thread)
{
	struct crumb_exchange *x = arg;
	size_t l, s;
	struct piece *piece = task_piece(x, i, &l, &s);
	const struct column *column = &x->column[s];
	const float *grad = x->grad[l] + x->slice[s].at;

	(void)thread;
	if (column->due) /* measuring checks, too */
		piece->length = crumb_measure(piece->packer, grad, CRUMB_F32,
		                              own_floats(x) + x->own * column->due_before + l * column->due);
	else
		piece->length = crumb_finite(grad, x->slice[s].n, CRUMB_F32);
}

/* The first error of this rank's pieces. */
static int piece_error(const struct crumb_exchange *x)
{
	for (size_t i = 0; i < x->own * x->slices; i++)
		if (x->piece[i].length < 0)
			return (int)x->piece[i].length;
	return 0;
}

/* Are all gradients of this rank finite? Measures those whose codecs want to agree. */
static int check(struct crumb_exchange *x)
{
	x->due = 0;
	for (size_t s = 0; s < x->slices && x->own; s++) {
		x->column[s].due = crumb_agree_count(x->piece[s].packer);
		x->column[s].due_before = x->due;
		x->due += x->column[s].due;
	}
	if (!crumb_buffer_reserve(&x->vote, sizeof x->head + x->own * x->due * sizeof(float)) ||
	    !crumb_buffer_reserve(&x->agreed, x->learners * x->due * sizeof(float)))
		return CRUMB_EMEMORY;
	crumb_team_run(x->team, check_piece, x, x->own * x->slices);
	return piece_error(x);
}

/* ---- swap ----------------------------------------------------------------------------------- */

static int swap(struct crumb_exchange *x, crumb_span message)
{
	if (!x->net) {
		x->in[0] = message;
		return 0;
	}
	if (!x->dead) {
		for (unsigned r = 0; r < x->ranks; r++)
			x->out[r] = message;
		x->dead = x->net->swap(x->net, x->out, x->in);
		if (x->dead)
			snprintf(x->why, sizeof x->why,
			         "step %llu: rank %u cannot reach another rank, or it has left",
			         (unsigned long long)x->step, x->rank);
	}
	return x->dead;
}

/* Puts the head before a message of len bytes, of which body follow the head before frames do, swaps it and
 * judges what came. With an error only the head travels. */
static int swap_message(struct crumb_exchange *x, enum message_phase phase, int error, uint8_t *message,
                        size_t body, size_t len)
{
	struct message_head *head = &x->head;

	crumb_message_head(head, x->rank, x->step, x->setup,
	                   crumb_hash(0, x->share, x->learners * sizeof *x->share));
	head->phase = phase;
	head->error = error;
	head->sum = error ? 0 : crumb_hash(0, message + sizeof *head, body);
	memcpy(message, head, sizeof *head);
	const int dead = swap(x, (crumb_span){message, error ? sizeof *head : len});
	if (dead)
		return dead;
	const size_t cap = x->why[0] ? 0 : sizeof x->why; /* the first reason is the best */
	for (unsigned r = 0; r < x->ranks; r++) {
		const int refused = crumb_message_check(head, x->in[r], r, x->why, cap);
		if (refused)
			return refused;
	}
	return 0;
}

static int damaged(struct crumb_exchange *x, unsigned from)
{
	snprintf(x->why, sizeof x->why, "step %llu: rank %u: the message of rank %u is damaged",
	         (unsigned long long)x->step, x->rank, from);
	return CRUMB_EFRAME;
}

/* ---- vote ----------------------------------------------------------------------------------- */

/* Brings everybody's floats into learner order. */
static int gather_floats(struct crumb_exchange *x)
{
	for (unsigned r = 0; r < x->ranks; r++) {
		const size_t first = crumb_rank_first(x, r), count = crumb_rank_first(x, r + 1) - first;
		const size_t body = count * x->due * sizeof(float);
		const uint8_t *floats = crumb_message_body(x->in[r], body);
		if (!floats || x->in[r].len != sizeof x->head + body)
			return damaged(x, r);
		for (size_t s = 0; s < x->slices && body; s++) {
			const size_t before = x->column[s].due_before, due = x->column[s].due;
			memcpy((float *)x->agreed.data + x->learners * before + first * due,
			       floats + count * before * sizeof(float), count * due * sizeof(float));
		}
	}
	return 0;
}

/* Tells everybody that this rank's gradients are fine (or the error) and what its learners measured. */
static int vote(struct crumb_exchange *x, int error)
{
	const size_t body = x->own * x->due * sizeof(float);
	const int refused = swap_message(x, MESSAGE_VOTE, error, x->vote.data, body, sizeof x->head + body);

	return refused || !x->own ? refused : gather_floats(x);
}

/* ---- pack ----------------------------------------------------------------------------------- */

static void pack_piece(void *arg, size_t i, unsigned thread)
{
	struct crumb_exchange *x = arg;
	size_t l, s;
	struct piece *piece = task_piece(x, i, &l, &s);
	const struct column *column = &x->column[s];

	(void)thread;
	if (column->due) {
		const float *floats = (const float *)x->agreed.data + x->learners * column->due_before;
		piece->length = crumb_agree(piece->packer, floats, x->learners);
		if (piece->length < 0)
			return;
	}
	piece->length = crumb_pack(piece->packer, x->grad[l] + x->slice[s].at, CRUMB_F32, CRUMB_KNOWN_FINITE,
	                           piece->slot, piece->slot_size);
	if (x->count_sent && piece->length >= 0) {
		crumb_frame frame;
		piece->length = crumb_peek(&frame, piece->slot, (size_t)piece->length);
		piece->sent = frame.sent;
	}
}

/* Packs all pieces, moves the frames together, and says how long the message has become. */
static int pack(struct crumb_exchange *x, size_t *len)
{
	const size_t pieces = x->own * x->slices;
	uint8_t *length = x->frames.data + sizeof x->head, *end = length + pieces * sizeof(uint64_t);

	crumb_team_run(x->team, pack_piece, x, pieces);
	const int error = piece_error(x);
	if (error)
		return error;
	for (size_t i = 0; i < pieces; i++) {
		const uint64_t bytes = (uint64_t)x->piece[i].length;
		memcpy(length + i * sizeof bytes, &bytes, sizeof bytes);
		if (end != x->piece[i].slot)
			memmove(end, x->piece[i].slot, bytes);
		end += bytes;
	}
	*len = (size_t)(end - x->frames.data);
	return 0;
}

/* ---- unpack --------------------------------------------------------------------------------- */

/* Finds every learner's frames in the messages. */
static int find_frames(struct crumb_exchange *x)
{
	crumb_span *frame = x->frame;

	for (unsigned r = 0; r < x->ranks; r++) {
		const size_t count = (crumb_rank_first(x, r + 1) - crumb_rank_first(x, r)) * x->slices;
		const uint8_t *length = crumb_message_body(x->in[r], count * sizeof(uint64_t));
		if (!length)
			return damaged(x, r);
		const uint8_t *data = length + count * sizeof(uint64_t);
		size_t left = x->in[r].len - sizeof x->head - count * sizeof(uint64_t);
		for (size_t i = 0; i < count; i++, frame++) {
			uint64_t bytes;
			memcpy(&bytes, length + i * sizeof bytes, sizeof bytes);
			if (bytes > left)
				return damaged(x, r);
			*frame = (crumb_span){data, bytes};
			data += bytes;
			left -= bytes;
		}
		if (left)
			return damaged(x, r);
	}
	return 0;
}

static void unpack_slice(void *arg, size_t i, unsigned thread)
{
	struct crumb_exchange *x = arg;
	const size_t s = x->longest[i], n = x->slice[s].n;
	float *mean = x->mean + x->slice[s].at;
	struct column *column = &x->column[s];

	(void)thread;
	memset(mean, 0, n * sizeof *mean);
	column->error = 0;
	for (size_t l = 0; l < x->learners && !column->error; l++) {
		const crumb_span *frame = &x->frame[l * x->slices + s];
		const int64_t length = crumb_unpack_add(frame->data, frame->len, x->share[l], mean, n);
		if (length != (int64_t)frame->len)
			column->error = length < 0 ? (int)length : CRUMB_EFRAME;
	}
}

static int unpack(struct crumb_exchange *x)
{
	int error = find_frames(x);

	if (error)
		return error;
	crumb_team_run(x->team, unpack_slice, x, x->slices);
	for (size_t s = 0; s < x->slices && !error; s++) {
		error = x->column[s].error;
		if (error)
			snprintf(x->why, sizeof x->why, "step %llu: rank %u: a frame of slice %zu: %s",
			         (unsigned long long)x->step, x->rank, s, crumb_strerror(error));
	}
	return error;
}

/* ---- step ----------------------------------------------------------------------------------- */

static void account(struct crumb_exchange *x)
{
	struct crumb_exchange_stats *stats = &x->stats;

	stats->steps++;
	for (size_t s = 0; s < x->slices; s++) {
		const enum crumb_kind kind = x->slice[s].kind;
		stats->dense[kind] += x->slice[s].n * sizeof(float);
		for (size_t l = 0; l < x->learners; l++)
			stats->bytes[kind] += x->frame[l * x->slices + s].len;
		for (size_t l = 0; l < x->own && x->count_sent; l++) {
			stats->elements[kind] += x->slice[s].n;
			stats->sent[kind] += x->piece[l * x->slices + s].sent;
		}
	}
}

int crumb_exchange_mean(struct crumb_exchange *x, const float *const *grad, const float *share, float *mean)
{
	struct crumb_exchange_stats *stats = &x->stats;
	double before = 0;
	size_t len = 0;

	x->grad = grad;
	x->share = share;
	x->mean = mean;
	if (!x->failed)
		x->why[0] = 0;
	x->count_sent = stats->steps % SENT_EVERY == 0;
	lap(x, &before);
	int error = x->failed ? x->failed : check(x);
	lap(x, &stats->check_seconds);
	error = vote(x, error);
	lap(x, &stats->swap_seconds);
	if (!error)
		error = pack(x, &len);
	lap(x, &stats->pack_seconds);
	const size_t table = x->own * x->slices * sizeof(uint64_t);
	error = swap_message(x, MESSAGE_FRAMES, error, x->frames.data, table, len);
	lap(x, &stats->swap_seconds);
	if (!error)
		error = unpack(x);
	lap(x, &stats->unpack_seconds);
	if (x->net && x->net->shares_memory)
		swap(x, (crumb_span){NULL, 0});
	lap(x, &stats->swap_seconds);
	if (!error)
		account(x);
	else if (error == CRUMB_ENONFINITE)
		stats->skipped++;
	else
		x->failed = error;
	x->step++;
	return error;
}
