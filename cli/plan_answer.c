/* Steps by plan, from the prices of codecs.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/plan_answer.h"

#include "exchange/plan.h"
#include <math.h>
#include <stdlib.h>

const char *const plan_names[PLANS] = {"gather", "shard", "server", "tiers", "tiers-shard", "async"};

/* Writes the busiest owner's share of the network in each plan on so many nodes of so many ranks. False: not
 * enough memory. */
static bool answer_shares(double share[PLANS], const struct sizes *sizes, uint64_t nodes, uint64_t ranks)
{
	const size_t longest = crumb_plan_find(plan_names[SHARD])->longest_slice;
	const size_t count = crumb_slices_cut(sizes->tensor, sizes->count, longest, NULL);
	struct crumb_slice *part = calloc(count + 1, sizeof *part);
	share[GATHER] = share[TIERS] = share[ASYNC] = 0;
	share[SERVER] = 1;
	if (part) {
		crumb_slices_cut(sizes->tensor, sizes->count, longest, part);
		share[SHARD] = crumb_slices_share(part, count, (size_t)(nodes * ranks));
		share[TIERS_SHARD] = crumb_slices_share(part, count, (size_t)nodes);
	}
	free(part);
	return part != NULL;
}

static struct crumb_cluster cluster_of(const struct request *r, uint64_t nodes, double link)
{
	return (struct crumb_cluster){.nodes = (unsigned)nodes,
	                              .gpus = (unsigned)r->gpus,
	                              .network_rate = link / 8,
	                              .network_latency = r->latency,
	                              .gpu_rate = r->inside / 8,
	                              .host_rate = INFINITY};
}

double answer_dense_bytes(const struct request *r) { return 4.0 * (double)r->sizes.parameters; }

static void answer_cost(struct answer *answer, const struct request *r)
{
	const struct crumb_cluster cluster = cluster_of(r, answer->nodes, answer->link);
	answer->cost = crumb_cost_step(&cluster, &answer->load, r->compute, answer_dense_bytes(r));
	answer->step = crumb_cost_total(&answer->cost);
	answer->samples_per_second = (double)(answer->nodes * r->ranks * r->gpus * r->batch) / answer->step;
}

static struct answer answer_plain(const struct request *r, uint64_t nodes, double link)
{
	struct answer answer = {
	        .codec = "raw", .plan = "all-reduce", .nodes = nodes, .link = link, .speedup = 1};
	answer.load = crumb_cost_ring((unsigned)(nodes * r->ranks), answer_dense_bytes(r));
	answer.up.bytes = answer_dense_bytes(r);
	answer_cost(&answer, r);
	return answer;
}

/* Returns the load of a plan among so many ranks, alone on their nodes. */
static struct crumb_load load_of(enum way plan, unsigned ranks, double share,
                                 const struct crumb_cost_frames *up, const struct crumb_cost_frames *down)
{
	return plan == GATHER || plan == TIERS ? crumb_cost_gather(ranks, up)
	                                       : crumb_cost_owner(ranks, share, up, down);
}

static struct answer answer_plan(const struct request *r, const struct answer *plain, const char *codec,
                                 enum way plan, double share, const struct crumb_cost_frames *up,
                                 const struct crumb_cost_frames *down, const struct crumb_cost_frames *raw)
{
	struct answer answer = *plain;
	const unsigned nodes = (unsigned)plain->nodes, together = (unsigned)r->ranks,
	               ranks = nodes * together;
	answer.codec = codec;
	answer.plan = plan_names[plan];
	answer.up = *up;
	if (plan == TIERS || plan == TIERS_SHARD) {
		answer.load = load_of(plan, nodes, share, up, down);
		crumb_cost_tiers(&answer.load, together, raw);
	} else {
		answer.load = load_of(plan, ranks, share, up, down);
		crumb_cost_crowd(&answer.load, ranks, together, plan == SERVER ? 1 : together);
	}
	if (plan != GATHER && plan != TIERS)
		answer.down = *down;
	answer_cost(&answer, r);
	answer.speedup = plain->step / answer.step;
	answer.pays = crumb_cost_pays(&answer.cost, answer.load.bytes, &plain->cost, plain->load.bytes);
	return answer;
}

bool answer_can_be_async(const struct request *r, size_t codec)
{
	return !crumb_policy_agrees(&r->up[codec]) && !(r->down_text && crumb_policy_agrees(&r->down));
}

/* Multiplies each part of a cost. */
static void stretch(struct crumb_cost *cost, double factor)
{
	cost->compute *= factor;
	cost->codec *= factor;
	cost->inside *= factor;
	cost->latency *= factor;
	cost->wire *= factor;
}

/* Narrows the rates at which a way is faster to those at which it would be with one of its loads, too. */
static void narrow(struct crumb_rates *pays, const struct crumb_rates *with_load)
{
	pays->above = fmax(pays->above, with_load->above);
	pays->below = fmin(pays->below, with_load->below);
	if (pays->above >= pays->below)
		*pays = (struct crumb_rates){0, 0};
}

static struct answer answer_async(const struct request *r, const struct answer *plain, const char *codec,
                                  const struct crumb_cost_frames *up, const struct crumb_cost_frames *down)
{
	const unsigned together = (unsigned)r->ranks, ranks = (unsigned)plain->nodes * together;
	const double factor = (double)ranks / (ranks - 1);
	const struct crumb_cluster cluster = cluster_of(r, plain->nodes, plain->link);
	struct answer answer = *plain;
	struct crumb_load load[CRUMB_ASYNC_LOADS];
	answer.codec = codec;
	answer.plan = plan_names[ASYNC];
	answer.up = *up;
	answer.down = *down;
	crumb_cost_async(load, ranks - 1, ranks - together, up, down);
	answer.load = load[CRUMB_ASYNC_PORT];
	answer.load.bytes *= factor;
	answer.cost = crumb_cost_async_step(&cluster, load, r->compute, answer_dense_bytes(r));
	stretch(&answer.cost, factor);
	answer.step = crumb_cost_total(&answer.cost);
	answer.samples_per_second = plain->samples_per_second * plain->step / answer.step;
	answer.speedup = plain->step / answer.step;
	answer.pays = (struct crumb_rates){0, INFINITY};
	for (int k = 0; k < CRUMB_ASYNC_LOADS; k++) {
		struct crumb_cost cost =
		        crumb_cost_step(&cluster, &load[k], k == CRUMB_ASYNC_WORKER ? r->compute : 0,
		                        k == CRUMB_ASYNC_WORKER ? answer_dense_bytes(r) : 0);
		stretch(&cost, factor);
		const struct crumb_rates with_load =
		        crumb_cost_pays(&cost, factor * load[k].bytes, &plain->cost, plain->load.bytes);
		narrow(&answer.pays, &with_load);
	}
	return answer;
}

/* Fills in the steps of the request's codec number i in each plan, on plain's cluster. */
static void answer_codec(struct answer answer[PLANS], const struct request *r, size_t i,
                         const struct catalogue *catalogue, const struct answer *plain,
                         const double share[PLANS])
{
	const struct crumb_cost_frames up = catalogue_weigh(catalogue, &r->up[i], &r->sizes);
	const struct crumb_cost_frames raw = catalogue_weigh(catalogue, NULL, &r->sizes);
	const struct crumb_cost_frames pulled =
	        r->down_text ? catalogue_weigh(catalogue, &r->down, &r->sizes) : raw;
	if (plain->nodes * r->ranks > 1)
		answer[ASYNC] = answer_async(r, plain, r->up_text[i], &up, &pulled);
	for (enum way plan = 0; plan < ASYNC; plan++) {
		const size_t packing = (size_t)(plan < TIERS ? plain->nodes * r->ranks : plain->nodes);
		const struct crumb_cost_frames down =
		        r->down_text ? catalogue_weigh(catalogue, &r->down, &r->sizes)
		                     : catalogue_weigh_exact(catalogue, &r->up[i], &r->sizes, packing);
		answer[plan] = answer_plan(r, plain, r->up_text[i], plan, share[plan], &up, &down, &raw);
	}
}

bool answer_cluster(const struct request *r, const struct catalogue *catalogue, uint64_t nodes, double link,
                    answer_taker *take, void *context)
{
	const struct answer plain = answer_plain(r, nodes, link);
	double share[PLANS];
	if (!answer_shares(share, &r->sizes, nodes, r->ranks))
		return false;
	take(context, &plain);
	for (size_t i = 0; i < r->ups; i++) {
		struct answer answer[PLANS], *fastest = answer;
		answer_codec(answer, r, i, catalogue, &plain, share);
		for (enum way plan = 0; plan < PLANS; plan++) {
			if (r->plan[plan])
				take(context, &answer[plan]);
			if (plan != ASYNC && answer[plan].step < fastest->step &&
			    (plan < TIERS || r->ranks > 1))
				fastest = &answer[plan];
		}
		if (r->any_plan)
			continue;
		take(context, fastest);
		answer[ASYNC].aside = true;
		if (nodes * r->ranks > 1 && answer_can_be_async(r, i))
			take(context, &answer[ASYNC]);
	}
	return true;
}
