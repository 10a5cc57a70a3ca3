/* The life of an exchange: what a rank allocates, and what it tells about itself. Its steps are in step.c.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "exchange/exchange_state.h"
#include "exchange/parcel.h"
#include "exchange/plan.h"
#include "exchange/policy.h"
#include "exchange/team.h"
#include "exchange/transport.h"
#include "exchange/why.h"

enum { CACHE_LINE = 64 };

static size_t round_up(size_t bytes) { return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; }

uint64_t crumb_exchange_seed(uint64_t seed, size_t learner, size_t slice)
{
	return crumb_message_mix(crumb_message_mix(crumb_message_mix(0, seed), learner), slice);
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

/* Hashes what must be the same on all ranks. */
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
		head->setup = crumb_message_hash(head->setup, &x->slice_state[s].codec, sizeof(crumb_codec));
		head->setup = crumb_message_hash(head->setup, &x->down.slice[s].codec, sizeof(crumb_codec));
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
	for (size_t k = 0; k < x->shares; k++) {
		x->share[k].first = at;
		for (size_t s = 0; s < x->slices; s++)
			if (owner[s] == k)
				x->order[at++] = s;
		x->share[k].count = at - x->share[k].first;
	}
	free(owner);
	return true;
}

/* Returns the bytes of a packer for slice s; 0 if its codec is not valid. */
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

/* Returns the slices whose means this rank sends down: none if nothing comes down. */
static struct share own_share(const struct crumb_exchange *x)
{
	return x->plan->assign ? x->share[x->rank] : (struct share){0};
}

/* Adds up the bytes of all packers, and of the messages up and down; false if slice *s has no valid codec. */
static bool measure(const struct crumb_exchange *x, size_t *packers, size_t *up, size_t *down, size_t *s)
{
	const struct share own = own_share(x);

	*packers = *up = 0;
	*down = round_up(crumb_parcel_overhead(own.count));
	for (size_t k = 0; k < x->shares; k++) {
		size_t bytes = crumb_parcel_overhead(x->own * x->share[k].count);
		for (size_t i = 0; i < x->share[k].count; i++) {
			*s = x->order[x->share[k].first + i];
			const crumb_codec *codec = &x->slice_state[*s].codec;
			const size_t size = packer_bytes(x, codec, *s);
			if (!size || !packer_bytes(x, &x->down.slice[*s].codec, *s))
				return false;
			*packers += x->own * size;
			bytes += x->own * crumb_bound(codec, x->slice[*s].n);
		}
		*up += round_up(bytes);
	}
	for (size_t i = 0; i < own.count; i++) {
		*s = x->order[own.first + i];
		*packers += packer_bytes(x, &x->down.slice[*s].codec, *s);
		*down += x->down.slice[*s].slot_size;
	}
	return true;
}

/* Gives every upload its packer and its slot. */
static int open_uploads(struct crumb_exchange *x, uint64_t seed, uint8_t **packer)
{
	uint8_t *message = x->messages.up.data;

	for (size_t k = 0; k < x->shares; k++) {
		const struct share *share = &x->share[k];
		const size_t frames = x->own * share->count;
		uint8_t *slot = message + crumb_parcel_overhead(frames);
		x->messages.outgoing[k].data = message;
		for (size_t i = 0; i < frames; i++) {
			const size_t l = i / share->count, s = x->order[share->first + i % share->count];
			const crumb_codec *codec = &x->slice_state[s].codec;
			struct upload *up = &x->upload[l * x->slices + s];
			up->slot = slot;
			up->slot_size = crumb_bound(codec, x->slice[s].n);
			slot += up->slot_size;
			const int error = open_packer(x, &up->packer, packer, codec, s,
			                              crumb_exchange_seed(seed, x->first + l, s));
			if (error)
				return error;
		}
		message = x->messages.up.data + round_up((size_t)(slot - x->messages.up.data));
	}
	return 0;
}

/* Gives every mean that this rank sends down its packer and its slot. */
static int open_means(struct crumb_exchange *x, uint64_t seed, uint8_t **packer)
{
	const struct share own = own_share(x);
	uint8_t *slot = x->messages.down.data + round_up(crumb_parcel_overhead(own.count));

	for (size_t i = 0; i < own.count; i++) {
		const size_t s = x->order[own.first + i];
		struct down_slice *down = &x->down.slice[s];
		down->slot = slot;
		slot += down->slot_size;
		const int error = open_packer(x, &down->packer, packer, &down->codec, s,
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
	if (!crumb_swap_reserve(&x->messages.up, up) || !crumb_swap_reserve(&x->messages.down, down) ||
	    !crumb_swap_reserve(&x->messages.vote, sizeof(struct message_head)))
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for frames (%zu bytes)", up + down);
	uint8_t *packer = x->packers;
	int error = open_uploads(x, seed, &packer);
	if (!error)
		error = open_means(x, seed, &packer);
	return error ? refuse(why, cap, error, "a packer: %s", crumb_strerror(error)) : 0;
}

static void choose_codecs(struct crumb_exchange *x, const struct crumb_exchange_config *config)
{
	x->exact = !config->down;
	for (size_t s = 0; s < x->slices; s++) {
		const size_t n = x->slice[s].n;
		struct down_slice *down = &x->down.slice[s];
		x->slice_state[s].codec = crumb_policy_choose(config->policy, x->slice[s].kind, n);
		down->codec = crumb_policy_choose(config->down, x->slice[s].kind, n);
		down->sums = x->exact && crumb_agrees(&x->slice_state[s].codec);
		const size_t bound = crumb_bound(&down->codec, n), sum = crumb_sum_bound(x->learners, n);
		down->slot_size = round_up(down->sums && sum > bound ? sum : bound);
	}
}

static bool allocate(struct crumb_exchange *x)
{
	const size_t slices = x->slices + 1; /* never 0 */

	return (x->slice_state = calloc(slices, sizeof *x->slice_state)) &&
	       (x->longest = calloc(slices, sizeof *x->longest)) &&
	       (x->order = calloc(slices, sizeof *x->order)) &&
	       (x->share = calloc(x->shares, sizeof *x->share)) &&
	       (x->upload = calloc(x->own * x->slices + 1, sizeof *x->upload)) &&
	       (x->frame = calloc(x->learners * x->slices + 1, sizeof *x->frame)) &&
	       (x->down.slice = calloc(slices, sizeof *x->down.slice)) &&
	       (x->down.decoded = calloc(slices, sizeof *x->down.decoded)) &&
	       (x->down.frame = calloc(slices, sizeof *x->down.frame)) &&
	       (x->down.weight = calloc(slices, sizeof *x->down.weight)) &&
	       (x->messages.outgoing = calloc(x->shares, sizeof *x->messages.outgoing)) &&
	       (x->messages.out = calloc(x->ranks, sizeof *x->messages.out)) &&
	       (x->messages.in = calloc(x->ranks, sizeof *x->messages.in)) &&
	       crumb_average_open(&x->decoder, x->slices, x->learners, crumb_team_threads(x->team));
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
	x->first = rank_first(x, x->rank);
	x->own = rank_first(x, x->rank + 1) - x->first;
	x->slice = config->slices;
	x->slices = config->slice_count;
	x->shares = x->plan->assign ? x->ranks : 1;
	bool room = allocate(x);
	if (room) {
		choose_codecs(x, config);
		sort_slices(x);
		hash_setup(x, config);
		room = divide_slices(x);
	}
	error = room ? open_memory(x, config->seed, why, cap)
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
	free(x->slice_state);
	free(x->longest);
	free(x->order);
	free(x->share);
	free(x->packers);
	free(x->upload);
	free(x->frame);
	free(x->down.slice);
	free(x->down.decoded);
	free(x->down.frame);
	free(x->down.weight);
	free(x->messages.vote.data);
	free(x->messages.up.data);
	free(x->messages.down.data);
	free(x->messages.outgoing);
	free(x->messages.out);
	free(x->messages.in);
	free(x->agreed.data);
	crumb_average_close(&x->decoder);
	free(x);
}

void crumb_exchange_learners(const struct crumb_exchange *x, size_t *first, size_t *count)
{
	*first = x->first;
	*count = x->own;
}

const crumb_codec *crumb_exchange_codec(const struct crumb_exchange *x, size_t s)
{
	return &x->slice_state[s].codec;
}

crumb_packer *crumb_exchange_packer(struct crumb_exchange *x, size_t l, size_t s)
{
	return x->upload[l * x->slices + s].packer;
}

crumb_span crumb_exchange_frame(const struct crumb_exchange *x, size_t l, size_t s)
{
	const struct upload *up = &x->upload[l * x->slices + s];

	return up->length > 0 ? (crumb_span){up->frame, (size_t)up->length} : (crumb_span){NULL, 0};
}

const char *crumb_exchange_why(const struct crumb_exchange *x) { return x->why; }

crumb_packer *crumb_exchange_mean_packer(struct crumb_exchange *x, size_t s)
{
	return x->down.slice[s].packer;
}

void crumb_exchange_stats(const struct crumb_exchange *x, struct crumb_exchange_stats *stats)
{
	*stats = x->stats;
}

void crumb_exchange_reset_stats(struct crumb_exchange *x) { x->stats = (struct crumb_exchange_stats){0}; }

double crumb_exchange_owed(struct crumb_exchange *x, size_t l)
{
	double owed = x->former ? crumb_exchange_owed(x->former, l) : 0;

	for (size_t s = 0; s < x->slices; s++) {
		const float *residual = crumb_packer_residual(x->upload[l * x->slices + s].packer);
		for (size_t i = 0; residual && i < x->slice[s].n; i++)
			owed += (double)residual[i] * residual[i];
	}
	return owed;
}
