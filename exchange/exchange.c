/* The life of an exchange: what a rank allocates, and what it tells about itself. Its steps are in step.c.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "exchange/exchange_state.h"
#include "exchange/parcel.h"
#include "exchange/plan.h"
#include "exchange/tiers.h"
#include "exchange/policy.h"
#include "exchange/step.h"
#include "exchange/team.h"
#include "exchange/transport.h"
#include "exchange/why.h"

enum { CACHE_LINE = 64 };

/* The head of a piece of memory, which begins a cache line later. */
struct block {
	_Alignas(CACHE_LINE) struct block *next;
};

uint64_t crumb_exchange_seed(uint64_t seed, size_t learner, size_t slice)
{
	return crumb_message_mix(crumb_message_mix(crumb_message_mix(0, seed), learner), slice);
}

static int check_config(const struct crumb_exchange_config *config, char *why, size_t cap)
{
	const int error = crumb_self_check();
	size_t at = 0;

	if (error)
		return refuse(why, cap, error, "%s", crumb_strerror(error));
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
	if (config->overlap && config->plan && !config->plan->mean)
		return refuse(why, cap, CRUMB_EINVAL, "plan %s has no step that could overlap",
		              config->plan->name);
	if (config->overlap && config->net && !config->net->any_thread)
		return refuse(why, cap, CRUMB_EINVAL,
		              "overlap wants MPI begun with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE");
	return 0;
}

unsigned crumb_exchange_name(const struct crumb_exchange *x, unsigned rank)
{
	return x->net && x->net->name ? x->net->name[rank] : rank;
}

/* Hashes what must be the same on all ranks. */
static void hash_setup(struct crumb_exchange *x, const struct crumb_exchange_config *config)
{
	struct message_head *head = &x->head;

	crumb_message_head(head);
	head->rank = crumb_exchange_name(x, x->rank);
	head->segments = (uint16_t)x->segments;
	head->model = config->model ? crumb_message_hash(0, config->model, strlen(config->model)) : 0;
	head->table = crumb_message_mix(0, x->slices);
	head->setup = crumb_message_mix(crumb_message_mix(config->seed, x->learners), !config->down);
	head->setup = crumb_message_hash(head->setup, x->plan->name, strlen(x->plan->name));
	for (unsigned r = 0; x->tiers && r < x->ranks; r++)
		head->setup = crumb_message_mix(head->setup, x->tiers->leader[r]);
	for (size_t s = 0; s < x->slices; s++) {
		const struct crumb_slice *slice = &x->slice[s];
		const crumb_codec down = crumb_policy_choose_mean(config->down, slice->kind, slice->n);
		head->table = crumb_message_mix(
		        crumb_message_mix(crumb_message_mix(head->table, slice->n), slice->run), slice->kind);
		head->setup =
		        crumb_message_hash(head->setup, crumb_exchange_codec(x, s), sizeof(crumb_codec));
		head->setup = crumb_message_hash(head->setup, &down, sizeof down);
	}
}

/* Sorts the slices of a segment by length. */
static void sort_slices(const struct crumb_exchange *x, const struct segment *segment, size_t *by_length)
{
	for (size_t i = 0; i < segment->count; i++) {
		size_t to = i;
		for (; to > 0 && x->slice[by_length[to - 1]].n < x->slice[segment->first + i].n; to--)
			by_length[to] = by_length[to - 1];
		by_length[to] = segment->first + i;
	}
}

static void place_segments(struct crumb_exchange *x)
{
	size_t *by_length = x->by_length;

	for (size_t i = 0; i < x->segments; by_length += x->segment[i++].count) {
		struct segment *segment = &x->segment[i];
		sort_slices(x, segment, by_length);
		segment->by_length = by_length;
		segment->share = x->share + i * x->shares;
		segment->up = x->messages.up + i * x->shares;
		segment->down = x->messages.down + i;
	}
}

/* Puts each segment's slices in order of the ranks that average them. */
static bool divide_slices(struct crumb_exchange *x)
{
	unsigned *owner = calloc(x->slices + 1, sizeof *owner);
	size_t at = 0;

	if (!owner)
		return false;
	if (x->plan->assign)
		x->plan->assign(x, owner);
	for (size_t k = 0; k < x->segments * x->shares; k++) {
		const struct segment *segment = &x->segment[k / x->shares];
		x->share[k].first = at;
		for (size_t s = segment->first; s < segment->first + segment->count; s++)
			if (owner[s] == k % x->shares)
				x->order[at++] = s;
		x->share[k].count = at - x->share[k].first;
	}
	free(owner);
	return true;
}

void *crumb_exchange_alloc(size_t bytes)
{
	return bytes <= SIZE_MAX - CACHE_LINE
	               ? aligned_alloc(CACHE_LINE, (bytes / CACHE_LINE + 1) * CACHE_LINE)
	               : NULL;
}

void *crumb_exchange_take(struct crumb_exchange *x, size_t bytes)
{
	struct block *block = crumb_exchange_alloc(sizeof *block + bytes);

	if (!block)
		return NULL;
	block->next = x->blocks;
	x->blocks = block;
	return block + 1;
}

int crumb_exchange_open_message(struct crumb_exchange *x, struct outgoing *message, const struct share *share,
                                struct slot *slots, size_t first, size_t learners, uint64_t seed)
{
	const size_t frames = learners * share->count;
	size_t bytes = crumb_parcel_overhead(frames);
	int error = 0;

	for (size_t k = 0; k < share->count && learners; k++)
		bytes += learners * slots[x->order[share->first + k]].size;
	uint8_t *data = message->data = crumb_exchange_take(x, bytes);
	if (!data)
		return CRUMB_EMEMORY;
	data += crumb_parcel_overhead(frames);
	for (size_t i = 0; i < frames && !error; i++) {
		const size_t l = i / share->count, s = x->order[share->first + i % share->count];
		const struct crumb_slice *slice = &x->slice[s];
		struct slot *slot = &slots[l * x->slices + s];
		slot->data = data;
		data += slot->size;
		slot->packer = crumb_exchange_take(x, crumb_packer_size(&slot->codec, slice->n));
		if (!slot->packer)
			return CRUMB_EMEMORY;
		error = crumb_packer_init(slot->packer, &slot->codec, slice->n, slice->run,
		                          crumb_exchange_seed(seed, first + l, s));
	}
	return error;
}

static int open_messages(struct crumb_exchange *x, uint64_t seed)
{
	int error = crumb_swap_reserve(&x->messages.vote, sizeof(struct message_head)) ? 0 : CRUMB_EMEMORY;

	for (size_t k = 0; k < x->segments * x->shares && !error; k++)
		error = crumb_exchange_open_message(x, &x->messages.up[k], &x->share[k], x->up, x->first,
		                                    x->own, seed);
	for (size_t i = 0; i < x->segments && !error && x->plan->assign; i++)
		error = crumb_exchange_open_message(x, x->segment[i].down, &x->segment[i].share[x->rank],
		                                    x->down.slot, x->learners, 1, seed);
	return error || crumb_segments_ready(x) ? error : CRUMB_EMEMORY;
}

static void choose_codecs(struct crumb_exchange *x, const struct crumb_exchange_config *config)
{
	x->exact = !config->down;
	for (size_t s = 0; s < x->slices; s++) {
		const size_t n = x->slice[s].n;
		struct slice_state *state = &x->slice_state[s];
		state->codec = crumb_policy_choose(config->policy, x->slice[s].kind, n);
		state->sums = x->exact && crumb_agrees(&state->codec) && x->learners <= CRUMB_MAX_FRAMES;
		for (size_t l = 0; l < x->own; l++)
			x->up[l * x->slices + s] =
			        (struct slot){.codec = state->codec, .size = crumb_bound(&state->codec, n)};
		struct slot *down = &x->down.slot[s];
		down->codec = crumb_policy_choose_mean(config->down, x->slice[s].kind, n);
		down->size = crumb_bound(&down->codec, n);
		if (state->sums && crumb_sum_bound(x->learners, n) > down->size)
			down->size = crumb_sum_bound(x->learners, n);
	}
}

void *crumb_exchange_zeros(struct crumb_exchange *x, size_t count, size_t size)
{
	void *memory = crumb_exchange_take(x, count * size);

	return memory ? memset(memory, 0, count * size) : NULL;
}

static bool allocate(struct crumb_exchange *x, size_t segment)
{
	const size_t n = x->slices;

	return crumb_segments_open(x, segment) &&
	       (x->slice_state = crumb_exchange_zeros(x, n, sizeof *x->slice_state)) &&
	       (x->by_length = crumb_exchange_zeros(x, n, sizeof *x->by_length)) &&
	       (x->order = crumb_exchange_zeros(x, n, sizeof *x->order)) &&
	       (x->share = crumb_exchange_zeros(x, x->segments * x->shares, sizeof *x->share)) &&
	       (x->up = crumb_exchange_zeros(x, x->own * n, sizeof *x->up)) &&
	       (x->frame = crumb_exchange_zeros(x, x->learners * n, sizeof *x->frame)) &&
	       (x->down.slot = crumb_exchange_zeros(x, n, sizeof *x->down.slot)) &&
	       (x->down.decoded = crumb_exchange_zeros(x, n, sizeof *x->down.decoded)) &&
	       (x->down.frame = crumb_exchange_zeros(x, n, sizeof *x->down.frame)) &&
	       (x->down.weight = crumb_exchange_zeros(x, n, sizeof *x->down.weight)) &&
	       (x->messages.up = crumb_exchange_zeros(x, x->segments * x->shares, sizeof *x->messages.up)) &&
	       (x->messages.down = crumb_exchange_zeros(x, x->segments, sizeof *x->messages.down)) &&
	       (x->messages.out = crumb_exchange_zeros(x, x->ranks, sizeof *x->messages.out)) &&
	       (x->messages.in = crumb_exchange_zeros(x, x->ranks, sizeof *x->messages.in)) &&
	       crumb_average_open(&x->decode_memory, n, x->learners, crumb_team_threads(x->team));
}

/* Opens tiers, codecs, segments, messages, and what the plan needs. */
static int open_model(struct crumb_exchange *x, const struct crumb_exchange_config *config, char *why,
                      size_t cap)
{
	struct crumb_exchange_config own = *config;
	int error = x->plan->between ? crumb_tiers_open(x, config, why, cap) : 0;

	if (error)
		return error;
	if (!allocate(x, config->segment))
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for an exchange");
	if (x->tiers) /* within a node nothing is compressed */
		own.policy = own.down = NULL;
	if (!x->plan->mean) /* no mean comes down */
		own.down = NULL;
	choose_codecs(x, &own);
	place_segments(x);
	hash_setup(x, config);
	error = divide_slices(x) ? open_messages(x, config->seed) : CRUMB_EMEMORY;
	if (error)
		return refuse(why, cap, error,
		              error == CRUMB_EMEMORY ? "no memory for an exchange"
		                                     : "a slice has no valid codec");
	return x->plan->open ? x->plan->open(x, config, why, cap) : 0;
}

int crumb_exchange_start(struct crumb_exchange **exchange, const struct crumb_exchange_config *config,
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
	x->overlaps = config->overlap;
	x->servers = x->plan->serves && x->ranks > 1;
	x->first = rank_first(x, x->rank);
	x->own = rank_learners(x, x->rank);
	x->slice = config->slices;
	x->slices = config->slice_count;
	x->shares = x->plan->assign ? x->ranks : 1;
	error = open_model(x, config, why, cap);
	if (error)
		crumb_exchange_close(x);
	else
		*exchange = x;
	return error;
}

void crumb_exchange_close(struct crumb_exchange *x)
{
	if (!x)
		return;
	const bool begun = crumb_overlap_begun(x);
	crumb_overlap_close(x->overlap);
	if (begun && !x->failed) /* the others are told */
		x->failed = CRUMB_EPEER;
	/* MPI may still read what was sent, as to a rank that has been given up. */
	if (x->hosted ? !crumb_hosted_close(x) : x->net && x->net->settle && !x->net->settle(x->net))
		return;
	crumb_exchange_close(x->former);
	crumb_tiers_close(x->tiers);
	for (struct block *block = x->blocks, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	free(x->messages.vote.data);
	free(x->agreed.data);
	free(x->extra);
	crumb_average_close(&x->decode_memory);
	free(x);
}

void crumb_exchange_learners(const struct crumb_exchange *x, size_t *first, size_t *count)
{
	*first = x->first;
	*count = x->own;
}

struct crumb_exchange *crumb_exchange_packing(const struct crumb_exchange *x)
{
	return x->tiers ? x->tiers->between : (struct crumb_exchange *)x;
}

const crumb_codec *crumb_exchange_codec(const struct crumb_exchange *x, size_t s)
{
	return x->tiers ? &x->tiers->codec[s] : &x->slice_state[s].codec;
}

/* Returns a learner's slot; a node's frames and packers are those of its first learner. */
static const struct slot *slot_of(const struct crumb_exchange *x, size_t l, size_t s)
{
	const struct crumb_exchange *packing = crumb_exchange_packing(x);

	return packing && l < packing->own ? &packing->up[l * x->slices + s] : &x->up[l * x->slices + s];
}

crumb_packer *crumb_exchange_packer(const struct crumb_exchange *x, size_t l, size_t s)
{
	return slot_of(x, l, s)->packer;
}

void crumb_exchange_debtors(const struct crumb_exchange *x, size_t *first, size_t *count)
{
	const struct crumb_exchange *packing = crumb_exchange_packing(x);

	*first = packing ? packing->first : 0;
	*count = packing ? packing->own : 0;
}

size_t crumb_exchange_debtor(const struct crumb_exchange *x, size_t learner)
{
	unsigned rank = 0;

	if (!x->tiers)
		return learner;
	while (rank_first(x, rank + 1) <= learner)
		rank++;
	return x->tiers->node[rank];
}

crumb_packer *crumb_exchange_debtor_packer(const struct crumb_exchange *x, size_t d, size_t s)
{
	return crumb_exchange_packing(x)->up[d * x->slices + s].packer;
}

crumb_span crumb_exchange_frame(const struct crumb_exchange *x, size_t l, size_t s)
{
	const struct slot *slot = slot_of(x, l, s);

	return slot->length > 0 ? (crumb_span){slot->frame, (size_t)slot->length} : (crumb_span){NULL, 0};
}

const char *crumb_exchange_why(const struct crumb_exchange *x) { return x->why; }

crumb_packer *crumb_exchange_mean_packer(const struct crumb_exchange *x, size_t s)
{
	const struct crumb_exchange *packing = crumb_exchange_packing(x);

	return packing ? packing->down.slot[s].packer : NULL;
}

void crumb_exchange_read_stats(const struct crumb_exchange *x, struct exchange_stats *stats)
{
	const struct exchange_stats *between =
	        x->tiers && x->tiers->between ? &x->tiers->between->stats : NULL;

	*stats = x->stats;
	if (!between)
		return;
	stats->link_out += between->link_out;
	stats->link_in += between->link_in;
	stats->link_messages += between->link_messages;
	stats->check_seconds += between->check_seconds;
	stats->pack_seconds += between->pack_seconds;
	stats->swap_seconds += between->swap_seconds;
	stats->unpack_seconds += between->unpack_seconds;
}

void crumb_exchange_reset_stats(struct crumb_exchange *x)
{
	x->stats = (struct exchange_stats){0};
	if (x->tiers && x->tiers->between)
		crumb_exchange_reset_stats(x->tiers->between);
}

double crumb_exchange_owed(struct crumb_exchange *x, size_t l)
{
	double owed = x->former ? crumb_exchange_owed(x->former, l) : 0;

	for (size_t s = 0; s < x->slices; s++) {
		const float *residual = crumb_packer_residual(crumb_exchange_packer(x, l, s));
		for (size_t i = 0; residual && i < x->slice[s].n; i++)
			owed += (double)residual[i] * residual[i];
	}
	return owed;
}
