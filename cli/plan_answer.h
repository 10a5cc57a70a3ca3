/* The requests and answers of crumb plan: steps by the closed form of exchange/auto/cost.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PLAN_ANSWER_H
#define PLAN_ANSWER_H

#include "cli/catalogue.h"

#include <stdbool.h>

enum way { GATHER, SHARD, SERVER, TIERS, TIERS_SHARD, PLANS };
extern const char *const plan_names[PLANS];

struct request {
	const char *model;
	struct sizes sizes;
	uint64_t *nodes; /* free() these three, and up's */
	double *link;    /* bits a second */
	size_t node_counts, links;
	uint64_t ranks, gpus, batch;     /* ranks of a node, gpus of a rank */
	double latency, inside, compute; /* compute: seconds; 0: not given */
	double speed;                    /* samples a second; 0: not given */
	bool measure;                    /* compute is to be measured */
	const char **up_text;
	struct policy *up;
	size_t ups;
	const char *down_text; /* NULL: exact */
	struct policy down;
	bool plan[PLANS], any_plan, json;
};

/* One way to exchange on one cluster. */
struct answer {
	const char *codec, *plan;
	uint64_t nodes;
	double link;
	struct crumb_cost_frames up, down; /* down: of plans that have it */
	struct crumb_load load;
	struct crumb_cost cost;
	struct crumb_rates pays;
	double step, speedup, samples_per_second;
};

/* Returns the bytes of the uncompressed gradient. */
double answer_dense_bytes(const struct request *request);

/* Writes the busiest owner's share of the network in each plan on so many nodes of so many ranks. False: not
 * enough memory. */
bool answer_shares(double share[PLANS], const struct sizes *sizes, uint64_t nodes, uint64_t ranks);

/* Returns the step with plain all-reduce. link: bits a second of a node's port. */
struct answer answer_plain(const struct request *request, uint64_t nodes, double link);

/* Fills in the steps of the request's codec number i in each plan, on plain's cluster. */
void answer_codec(struct answer answer[PLANS], const struct request *request, size_t i,
                  const struct catalogue *catalogue, const struct answer *plain, const double share[PLANS]);

#endif
