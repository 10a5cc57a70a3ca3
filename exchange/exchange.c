/* The exchange's life: what a rank allocates, and what it tells about itself. Its steps are in gather.c.
 *
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "policy.h"
#include "rank.h"
#include "team.h"
#include "transport.h"

enum { CACHE_LINE = 64 };

size_t crumb_rank_first(const struct crumb_exchange *x, unsigned rank)
{
	return (size_t)((uint64_t)rank * x->learners / x->ranks);
}

static size_t round_up(size_t bytes) { return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; }

bool crumb_buffer_reserve(struct buffer *buffer, size_t size)
{
	if (size <= buffer->size)
		return true;
	uint8_t *data = aligned_alloc(CACHE_LINE, round_up(size));
	if (!data)
		return false;
	free(buffer->data);
	*buffer = (struct buffer){data, size};
	return true;
}

uint64_t crumb_exchange_seed(uint64_t seed, size_t learner, size_t slice)
{
	return crumb_mix(crumb_mix(crumb_mix(0, seed), learner), slice);
}

static int refuse(char *why, size_t cap, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, cap, format, args);
	va_end(args);
	return error;
}

static int check_config(const struct crumb_exchange_config *config, char *why, size_t cap)
{
	size_t at = 0;

	if (config->learners < 1)
		return refuse(why, cap, CRUMB_EINVAL, "an exchange needs at least one learner");
	if (config->net && config->net->rank >= config->net->ranks)
		return refuse(why, cap, CRUMB_EINVAL, "rank %u of %u ranks", config->net->rank,
		              config->net->ranks);
	for (size_t s = 0; s < config->slice_count; s++) {
		const struct crumb_slice *slice = &config->slices[s];
		if (slice->at != at)
			return refuse(why, cap, CRUMB_EINVAL, "slice %zu begins at %zu, not at %zu", s,
			              slice->at, at);
		if ((unsigned)slice->kind >= CRUMB_KINDS)
			return refuse(why, cap, CRUMB_EINVAL, "slice %zu is of no known kind (%d)", s,
			              (int)slice->kind);
		at += slice->n;
	}
	return 0;
}

/* What must be the same on all ranks. */
static uint64_t hash_setup(const struct crumb_exchange *x, uint64_t seed)
{
	uint64_t h = crumb_mix(crumb_mix(seed, x->learners), x->slices);

	for (size_t s = 0; s < x->slices; s++) {
		const struct crumb_slice *slice = &x->slice[s];
		h = crumb_mix(crumb_mix(crumb_mix(h, slice->n), slice->run), slice->kind);
		h = crumb_hash(h, &x->column[s].codec, sizeof x->column[s].codec);
	}
	return h;
}

static void sort_slices(struct crumb_exchange *x)
{
	for (size_t i = 0; i < x->slices; i++) {
		size_t to = i;
		for (; to > 0 && x->slice[x->longest[to - 1]].n < x->slice[i].n; to--)
			x->longest[to] = x->longest[to - 1];
		x->longest[to] = i;
	}
}

/* Gives every piece its packer and its slot. */
static int open_pieces(struct crumb_exchange *x, uint64_t seed, char *why, size_t cap)
{
	const size_t pieces = x->own * x->slices;
	const size_t frames_at = sizeof(struct message_head) + pieces * sizeof(uint64_t);
	size_t memory = 0, room = frames_at;

	for (size_t i = 0; i < pieces; i++) {
		const size_t s = i % x->slices;
		const size_t size = crumb_packer_size(&x->column[s].codec, x->slice[s].n);
		if (!size)
			return refuse(why, cap, CRUMB_EINVAL, "slice %zu has no valid codec", s);
		memory += round_up(size);
		x->piece[i].slot_size = crumb_bound(&x->column[s].codec, x->slice[s].n);
		room += x->piece[i].slot_size;
	}
	if (memory && !(x->packers = aligned_alloc(CACHE_LINE, memory)))
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for packers (%zu bytes)", memory);
	if (!crumb_buffer_reserve(&x->frames, room) ||
	    !crumb_buffer_reserve(&x->vote, sizeof(struct message_head)))
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for frames (%zu bytes)", room);
	uint8_t *packer = x->packers, *slot = x->frames.data + frames_at;
	for (size_t i = 0; i < pieces; i++) {
		const size_t s = i % x->slices, n = x->slice[s].n;
		struct piece *piece = &x->piece[i];
		piece->packer = (crumb_packer *)packer;
		piece->slot = slot;
		const int error = crumb_packer_init(piece->packer, &x->column[s].codec, n, x->slice[s].run,
		                                    crumb_exchange_seed(seed, x->first + i / x->slices, s));
		if (error)
			return refuse(why, cap, error, "slice %zu: %s", s, crumb_strerror(error));
		packer += round_up(crumb_packer_size(&x->column[s].codec, n));
		slot += piece->slot_size;
	}
	return 0;
}

int crumb_exchange_open(struct crumb_exchange **exchange, const struct crumb_exchange_config *config,
                        char *why, size_t cap)
{
	int error = check_config(config, why, cap);
	if (error)
		return error;
	struct crumb_exchange *x = calloc(1, sizeof *x);
	if (!x)
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for an exchange");
	x->net = config->net;
	x->team = config->team;
	x->rank = x->net ? x->net->rank : 0;
	x->ranks = x->net ? x->net->ranks : 1;
	x->learners = config->learners;
	x->first = crumb_rank_first(x, x->rank);
	x->own = crumb_rank_first(x, x->rank + 1) - x->first;
	x->slice = config->slices;
	x->slices = config->slice_count;
	x->piece = calloc(x->own * x->slices + 1, sizeof *x->piece);
	x->column = calloc(x->slices + 1, sizeof *x->column);
	x->longest = calloc(x->slices + 1, sizeof *x->longest);
	x->out = calloc(x->ranks, sizeof *x->out);
	x->in = calloc(x->ranks, sizeof *x->in);
	x->frame = calloc(x->learners * x->slices + 1, sizeof *x->frame);
	if (!x->piece || !x->column || !x->longest || !x->out || !x->in || !x->frame) {
		crumb_exchange_close(x);
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for an exchange");
	}
	for (size_t s = 0; s < x->slices; s++)
		x->column[s].codec = crumb_policy_choose(config->policy, x->slice[s].kind, x->slice[s].n);
	sort_slices(x);
	x->setup = hash_setup(x, config->seed);
	error = open_pieces(x, config->seed, why, cap);
	if (error) {
		crumb_exchange_close(x);
		return error;
	}
	*exchange = x;
	return 0;
}

void crumb_exchange_close(struct crumb_exchange *x)
{
	if (!x)
		return;
	free(x->piece);
	free(x->column);
	free(x->longest);
	free(x->out);
	free(x->in);
	free(x->frame);
	free(x->packers);
	free(x->vote.data);
	free(x->frames.data);
	free(x->agreed.data);
	free(x);
}

void crumb_exchange_learners(const struct crumb_exchange *x, size_t *first, size_t *count)
{
	*first = x->first;
	*count = x->own;
}

const crumb_codec *crumb_exchange_codec(const struct crumb_exchange *x, size_t s)
{
	return &x->column[s].codec;
}

crumb_packer *crumb_exchange_packer(struct crumb_exchange *x, size_t l, size_t s)
{
	return x->piece[l * x->slices + s].packer;
}

const char *crumb_exchange_why(const struct crumb_exchange *x) { return x->why; }

void crumb_exchange_stats(const struct crumb_exchange *x, struct crumb_exchange_stats *stats)
{
	*stats = x->stats;
	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		stats->bytes[kind] /= x->learners;
}

void crumb_exchange_reset_stats(struct crumb_exchange *x) { x->stats = (struct crumb_exchange_stats){0}; }

static void owe_piece(void *arg, size_t i, unsigned thread)
{
	const struct crumb_exchange *x = arg;
	const float *residual = crumb_packer_residual(x->piece[i].packer);
	const size_t n = residual ? x->slice[i % x->slices].n : 0;
	double sum = 0;

	(void)thread;
	for (size_t k = 0; k < n; k++)
		sum += (double)residual[k] * residual[k];
	x->piece[i].owed = sum;
}

double crumb_exchange_residual_norm(struct crumb_exchange *x)
{
	const size_t pieces = x->own * x->slices;
	double sum = 0;

	crumb_team_run(x->team, owe_piece, x, pieces);
	for (size_t i = 0; i < pieces; i++)
		sum += x->piece[i].owed;
	return x->own ? sqrt(sum / (double)x->own) : 0;
}
