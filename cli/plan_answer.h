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
	const char *page; /* NULL: none */
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

/* Calls take with every step on one cluster: with plain all-reduce, and with each codec in the plans that
 * were named, or in its fastest one. False: not enough memory. */
typedef void answer_taker(void *context, const struct answer *answer);
bool answer_cluster(const struct request *request, const struct catalogue *catalogue, uint64_t nodes,
                    double link, answer_taker *take, void *context);

#endif
