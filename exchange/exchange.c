/* The exchange's life: what a rank allocates, and what it tells about itself. Its steps are in step.c.
 *
 * SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/plan.h"
#include "exchange/policy.h"
#include "exchange/exchange_state.h"
#include "exchange/team.h"
#include "exchange/transport.h"

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
	return crumb_message_mix(crumb_message_mix(crumb_message_mix(0, seed), learner), slice);
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
static void hash_setup(struct crumb_exchange *x, const struct crumb_exchange_config *config)
{
	struct message_head *head = &x->head;

	crumb_message_head(head);
	head->rank = x->rank;
	head->model = config->model ? crumb_message_hash(0, config->model, strlen(config->model)) : 0;
	head->table = crumb_message_mix(0, x->slices);
	head->setup = crumb_message_mix(crumb_message_mix(config->seed, x->learners), x->exact);
	head->setup = crumb_message_hash(head->setup, x->plan->name, strlen(x->plan->name));
	for (size_t s = 0; s < x->slices; s++) {
		const struct crumb_slice *slice = &x->slice[s];
		head->table = crumb_message_mix(
		        crumb_message_mix(crumb_message_mix(head->table, slice->n), slice->run), slice->kind);
		head->setup = crumb_message_hash(head->setup, &x->column[s].codec, sizeof(crumb_codec));
		head->setup = crumb_message_hash(head->setup, &x->descent[s].codec, sizeof(crumb_codec));
	}
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

/* Puts the slices in order of the ranks that average them. */
static bool divide_slices(struct crumb_exchange *x)
{
	unsigned *owner = calloc(x->slices + 1, sizeof *owner);
	size_t at = 0;

	if (!owner)
		return false;
	if (x->plan->assign)
		x->plan->assign(x, owner);
	for (size_t k = 0; k < x->sections; k++) {
		x->section[k].first = at;
		for (size_t s = 0; s < x->slices; s++)
			if (owner[s] == k)
				x->order[at++] = s;
		x->section[k].count = at - x->section[k].first;
	}
	free(owner);
	return true;
}

/* A packer's bytes for slice s, 0 if its codec is not valid. */
static size_t packer_bytes(const struct crumb_exchange *x, const crumb_codec *codec, size_t s)
{
	return round_up(crumb_packer_size(codec, x->slice[s].n));
}

static int open_packer(const struct crumb_exchange *x, crumb_packer **packer, uint8_t **memory,
                       const crumb_codec *codec, size_t s, uint64_t seed)
{
	*packer = (crumb_packer *)*memory;
	*memory += packer_bytes(x, codec, s);
	return crumb_packer_init(*packer, codec, x->slice[s].n, x->slice[s].run, seed);
}

/* The section of which this rank takes the mean, to send it down; NULL: of none. */
static const struct section *own_section(const struct crumb_exchange *x)
{
	return x->plan->assign ? &x->section[x->rank] : NULL;
}

/* What comes before the frames of a section, of so many learners: head and table. */
static size_t head_room(const struct section *section, size_t learners)
{
	return sizeof(struct message_head) + (section ? learners * section->count * sizeof(uint64_t) : 0);
}

/* Bytes of all packers, and of the letters up and down; 0 if slice *s has no valid codec. */
static bool measure(const struct crumb_exchange *x, size_t *packers, size_t *up, size_t *down, size_t *s)
{
	const struct section *own = own_section(x);

	*packers = *up = 0;
	*down = round_up(head_room(own, 1));
	for (size_t k = 0; k < x->sections; k++) {
		size_t bytes = head_room(&x->section[k], x->own);
		for (size_t i = 0; i < x->section[k].count; i++) {
			*s = x->order[x->section[k].first + i];
			const size_t size = packer_bytes(x, &x->column[*s].codec, *s);
			if (!size || !packer_bytes(x, &x->descent[*s].codec, *s))
				return false;
			*packers += x->own * size;
			bytes += x->own * crumb_bound(&x->column[*s].codec, x->slice[*s].n);
		}
		*up += round_up(bytes);
	}
	for (size_t i = 0; own && i < own->count; i++) {
		*s = x->order[own->first + i];
		*packers += packer_bytes(x, &x->descent[*s].codec, *s);
		*down += x->descent[*s].slot_size;
	}
	return true;
}

/* Gives every piece its packer and its slot. */
static int open_pieces(struct crumb_exchange *x, uint64_t seed, uint8_t **packer)
{
	uint8_t *message = x->frames.data;

	for (size_t k = 0; k < x->sections; k++) {
		const struct section *section = &x->section[k];
		uint8_t *slot = message + head_room(section, x->own);
		x->letter[k].data = message;
		for (size_t i = 0; i < x->own * section->count; i++) {
			const size_t l = i / section->count,
			             s = x->order[section->first + i % section->count];
			struct piece *piece = &x->piece[l * x->slices + s];
			piece->slot = slot;
			piece->slot_size = crumb_bound(&x->column[s].codec, x->slice[s].n);
			slot += piece->slot_size;
			const int error = open_packer(x, &piece->packer, packer, &x->column[s].codec, s,
			                              crumb_exchange_seed(seed, x->first + l, s));
			if (error)
				return error;
		}
		message = x->frames.data + round_up((size_t)(slot - x->frames.data));
	}
	return 0;
}

/* The same of the means that this rank sends down. */
static int open_descents(struct crumb_exchange *x, uint64_t seed, uint8_t **packer)
{
	const struct section *own = own_section(x);
	uint8_t *slot = x->means.data + round_up(head_room(own, 1));

	for (size_t i = 0; own && i < own->count; i++) {
		const size_t s = x->order[own->first + i];
		struct descent *descent = &x->descent[s];
		descent->slot = slot;
		slot += descent->slot_size;
		const int error = open_packer(x, &descent->packer, packer, &descent->codec, s,
		                              crumb_exchange_seed(seed, x->learners, s));
		if (error)
			return error;
	}
	return 0;
}

static int open_memory(struct crumb_exchange *x, uint64_t seed, char *why, size_t cap)
{
	size_t packers, up, down, s;

	if (!measure(x, &packers, &up, &down, &s))
		return refuse(why, cap, CRUMB_EINVAL, "slice %zu has no valid codec", s);
	if (packers && !(x->packers = aligned_alloc(CACHE_LINE, packers)))
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for packers (%zu bytes)", packers);
	if (!crumb_buffer_reserve(&x->frames, up) || !crumb_buffer_reserve(&x->means, down) ||
	    !crumb_buffer_reserve(&x->vote, sizeof(struct message_head)))
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for frames (%zu bytes)", up + down);
	uint8_t *packer = x->packers;
	int error = open_pieces(x, seed, &packer);
	if (!error)
		error = open_descents(x, seed, &packer);
	return error ? refuse(why, cap, error, "a packer: %s", crumb_strerror(error)) : 0;
}

/* Do learners agree on a scaler before they pack? Ranks without learners have no packer to ask. */
static bool agrees(const crumb_codec *codec)
{
	enum { FEW = 16 };
	crumb_packer *packer = malloc(crumb_packer_size(codec, FEW));
	const bool due = packer && !crumb_packer_init(packer, codec, FEW, 0, 0) && crumb_agree_count(packer);

	free(packer);
	return due;
}

static void choose_codecs(struct crumb_exchange *x, const struct crumb_exchange_config *config)
{
	x->exact = !config->down;
	for (size_t s = 0; s < x->slices; s++) {
		const size_t n = x->slice[s].n;
		struct descent *descent = &x->descent[s];
		x->column[s].codec = crumb_policy_choose(config->policy, x->slice[s].kind, n);
		descent->codec = crumb_policy_choose(config->down, x->slice[s].kind, n);
		descent->sums = x->exact && agrees(&x->column[s].codec);
		const size_t bound = crumb_bound(&descent->codec, n), sum = crumb_sum_bound(x->learners, n);
		descent->slot_size = round_up(descent->sums && sum > bound ? sum : bound);
	}
}

static bool allocate(struct crumb_exchange *x)
{
	x->piece = calloc(x->own * x->slices + 1, sizeof *x->piece);
	x->column = calloc(x->slices + 1, sizeof *x->column);
	x->descent = calloc(x->slices + 1, sizeof *x->descent);
	x->longest = calloc(x->slices + 1, sizeof *x->longest);
	x->order = calloc(x->slices + 1, sizeof *x->order);
	x->decoded = calloc(x->slices + 1, sizeof *x->decoded);
	x->section = calloc(x->sections, sizeof *x->section);
	x->letter = calloc(x->sections, sizeof *x->letter);
	x->out = calloc(x->ranks, sizeof *x->out);
	x->in = calloc(x->ranks, sizeof *x->in);
	x->frame = calloc(x->learners * x->slices + 1, sizeof *x->frame);
	return x->piece && x->column && x->descent && x->longest && x->order && x->decoded && x->section &&
	       x->letter && x->out && x->in && x->frame &&
	       crumb_decoder_open(&x->decoder, x->slices, x->learners, crumb_team_threads(x->team));
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
	x->plan = config->plan ? config->plan : crumb_plan_list(0);
	x->net = config->net;
	x->team = config->team;
	x->rank = x->net ? x->net->rank : 0;
	x->ranks = x->net ? x->net->ranks : 1;
	x->learners = config->learners;
	x->first = crumb_rank_first(x, x->rank);
	x->own = crumb_rank_first(x, x->rank + 1) - x->first;
	x->slice = config->slices;
	x->slices = config->slice_count;
	x->sections = x->plan->assign ? x->ranks : 1;
	if (!allocate(x)) {
		crumb_exchange_close(x);
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for an exchange");
	}
	choose_codecs(x, config);
	sort_slices(x);
	hash_setup(x, config);
	error = divide_slices(x) ? open_memory(x, config->seed, why, cap)
	                         : refuse(why, cap, CRUMB_EMEMORY, "no memory for an exchange");
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
	crumb_exchange_close(x->former);
	free(x->piece);
	free(x->column);
	free(x->descent);
	free(x->longest);
	free(x->order);
	free(x->decoded);
	free(x->section);
	free(x->letter);
	free(x->out);
	free(x->in);
	free(x->frame);
	crumb_decoder_close(&x->decoder);
	free(x->packers);
	free(x->vote.data);
	free(x->frames.data);
	free(x->means.data);
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

crumb_span crumb_exchange_frame(const struct crumb_exchange *x, size_t l, size_t s)
{
	const struct piece *piece = &x->piece[l * x->slices + s];

	return piece->length > 0 ? (crumb_span){piece->frame, (size_t)piece->length} : (crumb_span){NULL, 0};
}

const char *crumb_exchange_why(const struct crumb_exchange *x) { return x->why; }

crumb_packer *crumb_exchange_mean_packer(struct crumb_exchange *x, size_t s) { return x->descent[s].packer; }

void crumb_exchange_stats(const struct crumb_exchange *x, struct crumb_exchange_stats *stats)
{
	*stats = x->stats;
}

void crumb_exchange_reset_stats(struct crumb_exchange *x) { x->stats = (struct crumb_exchange_stats){0}; }

double crumb_exchange_owed(struct crumb_exchange *x, size_t l)
{
	double owed = x->former ? crumb_exchange_owed(x->former, l) : 0;

	for (size_t s = 0; s < x->slices; s++) {
		const float *residual = crumb_packer_residual(x->piece[l * x->slices + s].packer);
		for (size_t i = 0; residual && i < x->slice[s].n; i++)
			owed += (double)residual[i] * residual[i];
	}
	return owed;
}
