/* The closed form of a step's cost.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/auto/cost.h"

#include <math.h>
#include <stddef.h>

/* Each rank sends a part of 1/ranks to its neighbour, ranks - 1 times to add up and as often to spread. */
struct crumb_load crumb_cost_ring(unsigned ranks, double dense)
{
	const double rounds = 2.0 * (ranks - 1.0);
	return (struct crumb_load){.bytes = rounds / ranks * dense, .messages = rounds};
}

struct crumb_load crumb_cost_gather(unsigned ranks, const struct crumb_cost_frames *up)
{
	return (struct crumb_load){
	        .bytes = (ranks - 1.0) * up->bytes, .messages = 2, .codec = up->pack + ranks * up->unpack};
}

/* No rank sends more than arrives at the busiest owner. */
struct crumb_load crumb_cost_owner(unsigned ranks, double share, const struct crumb_cost_frames *up,
                                   const struct crumb_cost_frames *down)
{
	return (struct crumb_load){.bytes = (ranks - 1.0) * share * (up->bytes + down->bytes),
	                           .messages = 3,
	                           .codec = up->pack + ranks * share * up->unpack + share * down->pack +
	                                    down->unpack};
}

void crumb_cost_crowd(struct crumb_load *load, unsigned ranks, unsigned together, unsigned owners)
{
	if (ranks > 1)
		load->bytes *= (double)owners * (ranks - together) / (ranks - 1.0);
}

/* A rank packs for its leader, which unpacks and packs for all of the node; three more swaps. */
void crumb_cost_tiers(struct crumb_load *load, unsigned together, const struct crumb_cost_frames *raw)
{
	load->messages += 3;
	load->codec += 2 * raw->pack + (together + 1.0) * raw->unpack;
	load->inside = 2 * (together - 1.0) * raw->bytes;
}

void crumb_cost_async(struct crumb_load load[CRUMB_ASYNC_LOADS], unsigned workers, unsigned elsewhere,
                      const struct crumb_cost_frames *up, const struct crumb_cost_frames *down)
{
	load[CRUMB_ASYNC_WORKER] =
	        (struct crumb_load){.bytes = up->bytes + down->bytes,
	                            .messages = 2,
	                            .codec = up->pack + up->unpack + down->pack + down->unpack};
	load[CRUMB_ASYNC_PORT] = (struct crumb_load){.bytes = elsewhere * fmax(up->bytes, down->bytes)};
	load[CRUMB_ASYNC_THREAD] = (struct crumb_load){.codec = workers * (up->unpack + down->pack)};
}

struct crumb_cost crumb_cost_step(const struct crumb_cluster *cluster, const struct crumb_load *load,
                                  double compute, double inside)
{
	struct crumb_cost cost = {.compute = compute,
	                          .inside = log2(cluster->gpus) * inside / cluster->gpu_rate};
	if (cluster->nodes > 1) {
		cost.codec = load->codec;
		cost.inside += inside / cluster->host_rate + load->inside / cluster->gpu_rate;
		cost.latency = load->messages * cluster->network_latency;
		cost.wire = load->bytes / cluster->network_rate;
	}
	return cost;
}

struct crumb_cost crumb_cost_async_step(const struct crumb_cluster *cluster,
                                        const struct crumb_load load[CRUMB_ASYNC_LOADS], double compute,
                                        double inside)
{
	struct crumb_cost cost = crumb_cost_step(cluster, &load[CRUMB_ASYNC_WORKER], compute, inside);
	const double own = crumb_cost_total(&cost),
	             port = crumb_cost_step(cluster, &load[CRUMB_ASYNC_PORT], 0, 0).wire,
	             thread = crumb_cost_step(cluster, &load[CRUMB_ASYNC_THREAD], 0, 0).codec;

	if (port > own && port >= thread)
		cost.wire += port - own;
	else if (thread > own)
		cost.codec += thread - own;
	return cost;
}

double crumb_cost_total(const struct crumb_cost *cost)
{
	return cost->compute + cost->codec + cost->inside + cost->latency + cost->wire;
}

const char *crumb_cost_binding(const struct crumb_cost *cost)
{
	const struct {
		const char *name;
		double seconds;
	} term[] = {{"compute", cost->compute},
	            {"codec", cost->codec},
	            {"inside", cost->inside},
	            {"latency", cost->latency},
	            {"wire", cost->wire}};
	size_t most = 0;
	for (size_t i = 1; i < sizeof term / sizeof term[0]; i++)
		most = term[i].seconds > term[most].seconds ? i : most;
	return term[most].name;
}

/* It is faster at rates with extra < saved / rate. */
struct crumb_rates crumb_cost_pays(const struct crumb_cost *cost, double bytes,
                                   const struct crumb_cost *plain, double plain_bytes)
{
	const double saved = plain_bytes - bytes;
	const double extra = crumb_cost_total(cost) - cost->wire - (crumb_cost_total(plain) - plain->wire);
	if (saved > 0)
		return (struct crumb_rates){0, extra > 0 ? saved / extra : INFINITY};
	if (extra < 0)
		return (struct crumb_rates){saved / extra, INFINITY};
	return (struct crumb_rates){0, 0};
}
