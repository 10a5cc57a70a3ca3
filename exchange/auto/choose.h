/* Which codecs, plan and way down make a step shortest: cost.h's closed form over what was measured. Pure
 * functions, of additions, products, quotients and comparisons alone, so that ranks that put in the same
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

/* What can be chosen, the gentlest first: raw, and codecs that are published to train like f32. */
enum { CRUMB_AUTO_MENU = 4 };
const char *crumb_auto_menu(size_t i); /* a policy */

/* What a learner, or all together, have measured. */
struct crumb_auto_measured {
	double step;    /* seconds of a whole step with the choice in use */
	double compute; /* of it, what is not the exchange's */
	struct crumb_link link;
	double threads; /* of a rank */
	struct {
		double bytes, pack, unpack; /* of an element: in a frame's payload, seconds */
	} price[CRUMB_AUTO_MENU][CRUMB_KINDS];
};

/* The slowest of all. */
struct crumb_auto_measured crumb_auto_slowest(const struct crumb_auto_measured *each, size_t count);

/* What does not change in a run. */
struct crumb_auto_setting {
	unsigned ranks;
	size_t learners;
	double share;                                       /* crumb_slices_share, of plan shard's slices */
	double elements[CRUMB_KINDS], tensors[CRUMB_KINDS]; /* of each kind */
	bool sums[CRUMB_AUTO_MENU], owes[CRUMB_AUTO_MENU];  /* frames agree on a scaler; have a residual */
	struct policy menu[CRUMB_AUTO_MENU];
};

/* slices: the network's, as they are; parts: as plan shard cuts them. 0 or CRUMB_EMEMORY. */
int crumb_auto_setting(struct crumb_auto_setting *setting, const struct crumb_slice *slices, size_t count,
                       const struct crumb_slice *parts, size_t part_count, unsigned ranks, size_t learners);

/* The mean is everybody's; or its owner sends it down, exactly; or packed by the codec that it came up with,
 * where that has a residual. A server's port carries more than the busiest owner's. */
enum crumb_auto_way { CRUMB_AUTO_GATHER, CRUMB_AUTO_SHARD, CRUMB_AUTO_SHARD_PACKED, CRUMB_AUTO_WAYS };

struct crumb_auto_choice {
	enum crumb_auto_way way;
	unsigned char menu[CRUMB_KINDS]; /* of each kind */
};

/* Seconds of a step with this choice. */
double crumb_auto_predict(const struct crumb_auto_setting *setting,
                          const struct crumb_auto_measured *measured, const struct crumb_auto_choice *choice);

/* All raw, in the plan that is quicker so. */
struct crumb_auto_choice crumb_auto_plain(const struct crumb_auto_setting *setting,
                                          const struct crumb_auto_measured *measured);

/* By this much shorter a step has to be for what is less gentle, or for a change. */
#define CRUMB_AUTO_WORTH 0.05

/* The choice from now on. in_use took measured->step, plain_extra more than predicted when all went raw:
 * whatever else a step takes (ranks that wait for a slow one, too many of them on a CPU) any choice is taken
 * to have as much of as in_use, and raw as much as it had. Alone, a rank stays with in_use. */
struct crumb_auto_choice crumb_auto_choose(const struct crumb_auto_setting *setting,
                                           const struct crumb_auto_measured *measured,
                                           const struct crumb_auto_choice *in_use, double plain_extra);

bool crumb_auto_same(const struct crumb_auto_setting *setting, const struct crumb_auto_choice *a,
                     const struct crumb_auto_choice *b);

/* The choice as crumb-train takes it: plan, policy up, policy down (*exact: "exact"). */
const struct plan *crumb_auto_plan(const struct crumb_auto_choice *choice);
void crumb_auto_policies(const struct crumb_auto_setting *setting, const struct crumb_auto_choice *choice,
                         struct policy *up, struct policy *down, bool *exact);

#endif
