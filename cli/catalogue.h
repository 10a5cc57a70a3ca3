/* The prices of every codec that policies choose, and what one gradient of a network costs at them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CATALOGUE_H
#define CATALOGUE_H

#include "measure/price.h"

#include "exchange/auto/cost.h"
#include "exchange/policy.h"
#include "nets/sizes.h"

/* Every codec once. Begin with zeros. */
struct catalogue {
	struct priced *priced; /* free() it */
	size_t count;
};
struct priced {
	crumb_codec codec;
	struct price price;
};

/* Measure what is new, and say so on a terminal. STATUS_OK, or STATUS_FAILED after a message. */
int catalogue_add(struct catalogue *catalogue, const crumb_codec *codec);
int catalogue_add_policy(struct catalogue *catalogue, const struct policy *policy, const struct sizes *sizes);

/* NULL: it was not added. */
const struct price *catalogue_find(const struct catalogue *catalogue, const crumb_codec *codec);

/* One gradient under a policy that was added. */
struct crumb_cost_frames catalogue_weigh(const struct catalogue *catalogue, const struct policy *policy,
                                         const struct sizes *sizes);

/* The mean of what so many ranks sent under this policy, exactly: sums of integers where the codec has them,
 * else at the price of raw. */
struct crumb_cost_frames catalogue_weigh_exact(const struct catalogue *catalogue, const struct policy *up,
                                               const struct price *raw, const struct sizes *sizes,
                                               size_t ranks);

#endif
