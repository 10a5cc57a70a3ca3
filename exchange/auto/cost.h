/* The cost of a step that nobody has run: a closed form in the manner of TernGrad (NeurIPS 2017, section 5).
 * Pure functions; bytes, seconds and bytes a second.
 *
 * Nodes are joined by a switch that never blocks, each through one port that sends and receives at once; a
 * node's ranks share it. A rank's GPUs average first, without a codec. Nothing overlaps, so a step is a sum:
 *
 *   compute   one GPU's forward and backward pass
 *   codec     of the busiest rank, on one thread
 *   inside    log2(gpus) x bytes / gpu_rate, and bytes / host_rate to the network's port; what a node's
 *             ranks give each other, / gpu_rate
 *   latency   messages x network_latency
 *   wire      bytes / network_rate
 *
 * The form leaves out contention inside of the switch, senders that meet at one receiver (TCP's incast),
 * stragglers, and the overhead of small messages.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COST_H
#define COST_H

/* One rank's frames for a whole gradient. */
struct crumb_cost_frames {
	double bytes;
	double pack, unpack; /* seconds */
};

/* The work of a plan's busiest rank in one step. */
struct crumb_load {
	double bytes;    /* through its port in the busier direction, added up over phases */
	double messages; /* that wait for one another; the vote is one */
	double codec;    /* seconds */
	double inside;   /* bytes within the node, one after another */
};

/* Plain all-reduce of dense bytes of f32 in a ring, the least that an all-reduce can send. */
struct crumb_load crumb_cost_ring(unsigned ranks, double dense);

/* Everyone's frames to everyone. */
struct crumb_load crumb_cost_gather(unsigned ranks, const struct crumb_cost_frames *up);

/* Frames to the owners of their slices, frames of the mean back. share: the busiest owner's, of the gradient;
 * 1 for a single server. */
struct crumb_load crumb_cost_owner(unsigned ranks, double share, const struct crumb_cost_frames *up,
                                   const struct crumb_cost_frames *down);

/* Changes what one rank a node would send into what passes the port of a node of `together` of the ranks, of
 * which `owners` average slices, or frames for themselves: messages within the node do not pass it. */
void crumb_cost_crowd(struct crumb_load *load, unsigned ranks, unsigned together, unsigned owners);

/* Adds to the load between nodes the averages within a node of `together` ranks, before and after. raw: one
 * rank's gradient as it is. */
void crumb_cost_tiers(struct crumb_load *load, unsigned together, const struct crumb_cost_frames *raw);

/* Plan async, in which nobody waits for a swap: the time in which each of so many workers takes a step is
 * that of the longest of three loads. A worker has its own, with the server's answer to it; for all of them
 * the server has messages through its port, some in while others go out, of workers on other nodes, and
 * frames on its thread. */
enum crumb_async_load { CRUMB_ASYNC_WORKER, CRUMB_ASYNC_PORT, CRUMB_ASYNC_THREAD, CRUMB_ASYNC_LOADS };
void crumb_cost_async(struct crumb_load load[CRUMB_ASYNC_LOADS], unsigned workers, unsigned elsewhere,
                      const struct crumb_cost_frames *up, const struct crumb_cost_frames *down);

/* A rate of INFINITY costs nothing. */
struct crumb_cluster {
	unsigned nodes, gpus; /* gpus of one rank */
	double network_rate, network_latency;
	double gpu_rate;  /* between a node's GPUs, and ranks */
	double host_rate; /* between GPU and network port */
};

/* Seconds. */
struct crumb_cost {
	double compute, codec, inside, latency, wire;
};

/* inside: bytes that a node's GPUs exchange. A single node sends nothing. */
struct crumb_cost crumb_cost_step(const struct crumb_cluster *cluster, const struct crumb_load *load,
                                  double compute, double inside);

/* Returns the cost of a worker's step with these loads: what it waits for the server's port is in wire, for
 * its thread in codec. Computation and what GPUs exchange are the worker's. */
struct crumb_cost crumb_cost_async_step(const struct crumb_cluster *cluster,
                                        const struct crumb_load load[CRUMB_ASYNC_LOADS], double compute,
                                        double inside);

double crumb_cost_total(const struct crumb_cost *cost);

/* Returns the name of the largest term. */
const char *crumb_cost_binding(const struct crumb_cost *cost);

/* Network rates between which one cost is below another: (0, INFINITY) always, (0, 0) never. */
struct crumb_rates {
	double above, below;
};
struct crumb_rates crumb_cost_pays(const struct crumb_cost *cost, double bytes,
                                   const struct crumb_cost *plain, double plain_bytes);

#endif
