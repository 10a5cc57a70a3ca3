/* The prices of every codec that policies choose, and what one gradient of a network costs at them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CATALOGUE_H
#define CATALOGUE_H

#include "measure/price.h"

#include "exchange/auto/cost.h"
#include "exchange/policy.h"
#include "nets/sizes.h"

/* A list in which each codec is once. Begin with zeros. */
struct catalogue {
	struct priced *priced; /* free() it */
	size_t count;
};
struct priced {
	crumb_codec codec;
	struct price price;
};

/* Measures the policy's codecs that are new, and says so on a terminal. NULL: raw. STATUS_OK, or
 * STATUS_FAILED after a message. */
int catalogue_add_policy(struct catalogue *catalogue, const struct policy *policy, const struct sizes *sizes);

/* Returns one gradient under a policy that was added. */
struct crumb_cost_frames catalogue_weigh(const struct catalogue *catalogue, const struct policy *policy,
                                         const struct sizes *sizes);

/* Returns the exact mean of N ranks' frames under a policy: sums of integers if the codec has them and there
 * are at most CRUMB_MAX_FRAMES ranks, else raw. Both policy and raw were added. */
struct crumb_cost_frames catalogue_weigh_exact(const struct catalogue *catalogue, const struct policy *up,
                                               const struct sizes *sizes, size_t ranks);

#endif
