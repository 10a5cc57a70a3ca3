/* Chooses the codecs, plan and way down that make a step shortest, by cost.h's closed form over measurements.
 * Pure functions of additions, products, quotients and comparisons alone, so that ranks that put in the same
 * numbers get the same choice.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CHOOSE_H
#define CHOOSE_H

#include <stdbool.h>
#include <stddef.h>
#include "exchange/auto/cost.h"
#include "exchange/exchange.h"
#include "exchange/auto/link.h"
#include "exchange/policy.h"

/* The menu: policies, the gentlest first. Raw, and codecs that are published to train like f32. */
enum { CRUMB_AUTO_MENU = 4 };
const char *crumb_auto_menu(size_t i); /* NULL past the last */

/* The price of an element: payload bytes, and seconds. */
struct crumb_auto_price {
	double bytes, pack, unpack;
};

/* Measurements of a learner, or of all together. */
struct crumb_auto_measured {
	double step;            /* seconds of a whole step with the choice in use */
	double compute;         /* seconds of it outside of the exchange */
	struct crumb_link link; /* from all ranks to all */
	struct crumb_link inside,
	        between; /* with nodes: from the leaders to their nodes, from leader to leader */
	double threads;  /* of a rank */
	struct crumb_auto_price price[CRUMB_AUTO_MENU][CRUMB_KINDS];
};

/* Returns the slowest of count measurements in everything. */
struct crumb_auto_measured crumb_auto_slowest(const struct crumb_auto_measured *each, size_t count);

/* Facts that do not change in a run. */
struct crumb_auto_setting {
	unsigned ranks;
	size_t learners;
	unsigned nodes, together; /* nodes, and most ranks of one; without nodes 1 and all ranks */
	double share, node_share; /* crumb_slices_share, of plan shard's slices, by ranks and by nodes */
	double elements[CRUMB_KINDS], tensors[CRUMB_KINDS]; /* how many of each kind */
	bool sums[CRUMB_AUTO_MENU];                         /* the codec's frames agree on a scaler */
	bool residual[CRUMB_AUTO_MENU];
	struct policy menu[CRUMB_AUTO_MENU];
};

/* Fills in the setting. slices: the network's, uncut; parts: as plan shard cuts them. leader: [rank], the
 * first rank of its node; NULL: there are no nodes. 0 or CRUMB_EMEMORY. */
int crumb_auto_setting(struct crumb_auto_setting *setting, const struct crumb_slice *slices, size_t count,
                       const struct crumb_slice *parts, size_t part_count, unsigned ranks, size_t learners,
                       const unsigned *leader);

/* Ways of the mean: everybody takes it; its owner sends it down without loss; its owner packs it with the
 * codec of the gradients, if that has a residual; and the same between nodes that have averaged first. Plan
 * server is never better: its port carries more than the busiest owner's. */
enum crumb_auto_way {
	CRUMB_AUTO_GATHER,
	CRUMB_AUTO_SHARD,
	CRUMB_AUTO_SHARD_PACKED,
	CRUMB_AUTO_TIERS,
	CRUMB_AUTO_TIERS_SHARD,
	CRUMB_AUTO_TIERS_SHARD_PACKED,
	CRUMB_AUTO_WAYS
};

struct crumb_auto_choice {
	enum crumb_auto_way way;
	unsigned char menu[CRUMB_KINDS]; /* the line of the menu for each kind */
};

/* Returns the seconds of a step with this choice. */
double crumb_auto_predict(const struct crumb_auto_setting *setting,
                          const struct crumb_auto_measured *measured, const struct crumb_auto_choice *choice);

/* Returns the quicker plan for all raw. */
struct crumb_auto_choice crumb_auto_plain(const struct crumb_auto_setting *setting,
                                          const struct crumb_auto_measured *measured);

/* A less gentle choice, or a change, has to make a step this much shorter. */
#define CRUMB_AUTO_WORTH 0.05

/* Returns the choice from now on. A step with in_use took measured->step, which may be longer than predicted
 * (ranks wait for a slow one, or share a CPU): any other choice is taken to exceed its prediction as much as
 * in_use does, and raw by plain_extra, as when all went raw. A single rank stays with in_use. */
struct crumb_auto_choice crumb_auto_choose(const struct crumb_auto_setting *setting,
                                           const struct crumb_auto_measured *measured,
                                           const struct crumb_auto_choice *in_use, double plain_extra);

/* Returns true if the choices differ in nothing that the gradient has. */
bool crumb_auto_same(const struct crumb_auto_setting *setting, const struct crumb_auto_choice *a,
                     const struct crumb_auto_choice *b);

/* Return the choice as crumb-train takes it: plan, policy up, policy down (*exact: "exact"). */
const struct plan *crumb_auto_plan(const struct crumb_auto_choice *choice);
void crumb_auto_policies(const struct crumb_auto_setting *setting, const struct crumb_auto_choice *choice,
                         struct policy *up, struct policy *down, bool *exact);

#endif
