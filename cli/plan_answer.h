/* The requests and answers of crumb plan: steps by the closed form of exchange/auto/cost.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PLAN_ANSWER_H
#define PLAN_ANSWER_H

#include "cli/catalogue.h"

#include <stdbool.h>

enum way { GATHER, SHARD, SERVER, TIERS, TIERS_SHARD, ASYNC, PLANS };
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

/* One way to exchange on one cluster. Plan async has one worker less than there are ranks: its step, and each
 * part of it, is the time for as many batches as with the other plans. */
struct answer {
	const char *codec, *plan;
	bool aside; /* nobody has asked: plan async, which is for a verdict only, as it changes the training
	             */
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

/* Returns true if plan async has this codec of the request: its learners need not agree before they pack. */
bool answer_can_be_async(const struct request *request, size_t codec);

/* Calls take with every step on one cluster: with plain all-reduce, and with each codec in the plans that
 * were named, or in its fastest one but async, and aside in that. False: not enough memory. */
typedef void answer_taker(void *context, const struct answer *answer);
bool answer_cluster(const struct request *request, const struct catalogue *catalogue, uint64_t nodes,
                    double link, answer_taker *take, void *context);

#endif
