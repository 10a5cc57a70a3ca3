/* The plans tiers and tiers-shard: ranks of a node give their gradients, uncompressed, to the node's first
 * rank. It averages them, packs that mean and exchanges it with the other nodes' first ranks, by plan gather
 * or shard, and gives the mean of all to its node, uncompressed (MXNet's dist_sync_device). Residuals are
 * those of nodes. Within a node messages are the transport's, which is shared memory with threads and with
 * any MPI.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/tiers.h"

#include <string.h>
#include "exchange/exchange_state.h"
#include "exchange/parcel.h"
#include "exchange/plan.h"
#include "exchange/plans/group.h"
#include "exchange/policy.h"
#include "exchange/seconds.h"
#include "exchange/step.h"
#include "exchange/team.h"
#include "exchange/transport.h"
#include "exchange/why.h"

/* ---- open and close ------------------------------------------------------------------------- */

unsigned crumb_tiers_leaders(unsigned *leader, unsigned ranks, const struct crumb_exchange_net *net,
                             unsigned node_size)
{
	unsigned nodes = 0;

	for (unsigned r = 0; r < ranks; r++) {
		leader[r] = node_size ? r / node_size * node_size : net && net->leader ? net->leader[r] : 0;
		nodes += leader[r] == r;
	}
	return node_size && ranks % node_size ? 0 : nodes;
}

static bool allocate(struct crumb_exchange *x, struct tiers *t)
{
	return (t->codec = crumb_exchange_zeros(x, x->slices, sizeof *t->codec)) &&
	       (t->frame = crumb_exchange_zeros(x, x->slices * t->learners, sizeof *t->frame)) &&
	       (t->weight = crumb_exchange_zeros(x, t->learners, sizeof *t->weight)) &&
	       (t->node_weight = crumb_exchange_zeros(x, t->nodes, sizeof *t->node_weight)) &&
	       (t->down = crumb_exchange_zeros(x, x->ranks, sizeof *t->down)) &&
	       (t->nothing = crumb_exchange_zeros(x, 1, sizeof *t->nothing)) &&
	       (!x->net || (t->group = crumb_group_open(x->net, t->leader)));
}

int crumb_tiers_open(struct crumb_exchange *x, const struct crumb_exchange_config *config, char *why,
                     size_t cap)
{
	struct tiers *t = x->tiers = crumb_exchange_zeros(x, 1, sizeof *t);

	if (!t || !(t->leader = crumb_exchange_zeros(x, x->ranks, sizeof *t->leader)) ||
	    !(t->node = crumb_exchange_zeros(x, x->ranks, sizeof *t->node)))
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for an exchange");
	t->nodes = crumb_tiers_leaders(t->leader, x->ranks, x->net, config->node_size);
	if (!t->nodes)
		return refuse(why, cap, CRUMB_EINVAL, "%u ranks are no nodes of %u", x->ranks,
		              config->node_size);
	for (unsigned r = 0, nodes = 0; r < x->ranks; r++) {
		t->node[r] = t->leader[r] == r ? nodes++ : t->node[t->leader[r]];
		t->learners += t->leader[r] == t->leader[x->rank] ? rank_learners(x, r) : 0;
	}
	if (!allocate(x, t))
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for an exchange");
	for (size_t s = 0; s < x->slices; s++)
		t->codec[s] = crumb_policy_choose(config->policy, x->slice[s].kind, x->slice[s].n);
	if (t->leader[x->rank] != x->rank)
		return 0;
	struct crumb_exchange_config between = *config;
	between.plan = x->plan->between;
	between.learners = t->nodes;
	between.net = t->group ? &t->group->net : NULL;
	return crumb_exchange_start(&t->between, &between, why, cap);
}

void crumb_tiers_close(struct tiers *t)
{
	if (!t)
		return;
	crumb_exchange_close(t->between);
	crumb_group_close(t->group);
}

/* ---- within the node ------------------------------------------------------------------------ */

/* A rank gives all slices to its node's leader. */
static void assign(struct crumb_exchange *x, unsigned *owner)
{
	for (size_t s = 0; s < x->slices; s++)
		owner[s] = x->tiers->leader[x->rank];
}

/* Sets the weights of nodes, and of this node's learners within it. */
static void weigh(const struct step *step)
{
	const struct crumb_exchange *x = step->x;
	struct tiers *t = x->tiers;
	const unsigned node = t->node[x->rank];
	size_t own = 0;

	memset(t->node_weight, 0, t->nodes * sizeof *t->node_weight);
	for (unsigned r = 0; r < x->ranks; r++)
		for (size_t l = rank_first(x, r); l < rank_first(x, r + 1); l++)
			t->node_weight[t->node[r]] += step->weight[l];
	const float sum = t->node_weight[node];
	for (unsigned r = 0; r < x->ranks; r++)
		for (size_t l = rank_first(x, r); t->node[r] == node && l < rank_first(x, r + 1); l++)
			t->weight[own++] = sum != 0 ? step->weight[l] / sum : 0;
}

/* Averages the gradients of this node. */
static int average_node(struct step *step)
{
	struct crumb_exchange *x = step->x;
	struct tiers *t = x->tiers;
	const struct segment *segment = step->segment;
	const struct decode_job job = {t->learners, t->frame, t->weight, 0};
	size_t at = 0;
	int error = 0;

	weigh(step);
	for (unsigned r = x->rank; r < x->ranks && !error; r++)
		if (t->leader[r] == x->rank) {
			error = crumb_parcel_find(x, r, &segment->share[x->rank], rank_learners(x, r),
			                          t->frame + at, t->learners, NULL);
			at += rank_learners(x, r);
		}
	error = error ? error : crumb_average_slices(step, segment->by_length, segment->count, &job);
	for (size_t i = 0; i < segment->count && !error; i++) {
		const struct crumb_slice *slice = &x->slice[segment->first + i];
		crumb_average_limit(step->mean + slice->at, slice->n);
	}
	return error;
}

static void pack_task(void *arg, size_t i, unsigned thread)
{
	const struct step *step = arg;
	struct crumb_exchange *x = step->x;
	const size_t s = step->segment->by_length[i];
	struct slot *slot = &x->down.slot[s];

	(void)thread;
	crumb_average_limit(step->mean + x->slice[s].at, x->slice[s].n);
	slot->length = crumb_pack(slot->packer, step->mean + x->slice[s].at, x->slice[s].n, CRUMB_F32, 0,
	                          slot->data, slot->size);
}

/* Packs the mean of all for the ranks of this node. */
static int pack_mean(struct step *step)
{
	struct crumb_exchange *x = step->x;
	const struct segment *segment = step->segment;

	crumb_team_run(step->team, pack_task, step, segment->count);
	for (size_t s = segment->first; s < segment->first + segment->count; s++)
		if (x->down.slot[s].length < 0)
			return crumb_step_fail(x, CRUMB_EFRAME, "slice %zu: %s", s,
			                       crumb_strerror((int)x->down.slot[s].length));
	crumb_parcel_join(x, &segment->share[x->rank], x->down.slot, 1, segment->down);
	return 0;
}

/* Gives the node its mean, or everybody the error. */
static int swap_down(struct step *step, int error)
{
	struct crumb_exchange *x = step->x;
	struct tiers *t = x->tiers;

	for (unsigned r = 0; r < x->ranks; r++)
		t->down[r] = t->between && t->leader[r] == x->rank && r != x->rank
		                     ? *step->segment->down
		                     : (struct outgoing){(uint8_t *)t->nothing, 0, sizeof *t->nothing};
	return crumb_swap(step, MESSAGE_DOWN, error, t->down, x->ranks);
}

static int apply(struct step *step)
{
	struct crumb_exchange *x = step->x;
	const unsigned leader = x->tiers->leader[x->rank];
	const struct segment *segment = step->segment;
	const struct decode_job job = {1, x->down.frame, x->down.weight, 1};
	const int error = crumb_parcel_find(x, leader, &segment->share[leader], 1, x->down.frame, 1, NULL);

	for (size_t s = segment->first; s < segment->first + segment->count; s++)
		x->down.weight[s] = 1;
	return error ? error : crumb_average_slices(step, segment->by_length, segment->count, &job);
}

/* ---- between nodes -------------------------------------------------------------------------- */

static int idle(const struct step *step, int error)
{
	struct crumb_exchange *x = step->x;
	const unsigned swaps = x->plan->between->swaps - !step->segment->nodes_vote;

	for (unsigned i = 0; i < swaps && x->net && !x->messages.dead; i++)
		crumb_swap_ended(x, crumb_group_idle(x->tiers->group), error);
	return x->messages.dead;
}

/* A leader's part of a segment, in a step between the leaders. Their error is the same. */
static int lead(struct step *step, struct step *between_step, int error)
{
	struct crumb_exchange *x = step->x;
	struct crumb_exchange *between = x->tiers->between;

	if (error && !between->failed)
		between->failed = error;
	between->messages.dead = x->messages.dead;
	const int all = crumb_step_segment(between_step, step->head.segment, 0);
	x->messages.dead = between->messages.dead;
	if (x->messages.dead)
		crumb_step_fail(x, all, "%s", x->net->why);
	else if (all && !x->why[0])
		refuse(x->why, sizeof x->why, all, "between nodes: %s", between->why);
	x->clock = crumb_seconds(); /* the time is in the statistics of `between` */
	return error ? error : all;
}

/* Makes the mean of all nodes of this node's, which is in step->mean. */
static int swap_nodes(struct step *step, int error)
{
	struct crumb_exchange *x = step->x;
	struct crumb_exchange *between = x->tiers->between;
	const float *grad = step->mean;
	struct step between_step;

	if (between) {
		between_step = crumb_step_begin(between, &grad, x->tiers->node_weight, step->mean);
		between_step.team = step->team;
		between_step.count_sent = step->count_sent;
	}
	if (!between || error == CRUMB_ENONFINITE) { /* all ranks have voted so */
		const int dead = idle(step, error);
		crumb_step_lap(x, &x->stats.swap_seconds);
		error = error ? error : dead;
	} else {
		error = lead(step, &between_step, error);
	}
	if (between && step->head.segment + 1u == x->segments)
		crumb_step_end(&between_step, error);
	return error;
}

static int mean(struct crumb_exchange *x, struct step *step, int error)
{
	struct tiers *t = x->tiers;

	error = crumb_upload_swap(step, error);
	if (!error && t->between)
		error = average_node(step);
	crumb_step_lap(x, &x->stats.unpack_seconds);
	error = swap_nodes(step, error);
	if (!error && t->between)
		error = pack_mean(step);
	crumb_step_lap(x, &x->stats.pack_seconds);
	error = swap_down(step, error);
	crumb_step_lap(x, &x->stats.swap_seconds);
	if (!error && !t->between)
		error = apply(step);
	crumb_step_lap(x, &x->stats.unpack_seconds);
	return error;
}

extern const struct plan crumb_plan_gather, crumb_plan_shard;

const struct plan crumb_plan_tiers = {
        .name = "tiers",
        .alias = "dist_sync_device",
        .brief = "ranks of a node average first, and one a node exchanges by gather",
        .assign = assign,
        .mean = mean,
        .swaps = 5,
        .between = &crumb_plan_gather,
};

const struct plan crumb_plan_tiers_shard = {
        .name = "tiers-shard",
        .brief = "ranks of a node average first, and one a node exchanges by shard",
        .assign = assign,
        .mean = mean,
        .longest_slice = 1 << 16,
        .swaps = 6,
        .between = &crumb_plan_shard,
};
