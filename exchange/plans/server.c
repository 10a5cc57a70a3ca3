/* The plan server: shard, where rank 0 owns every slice.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/plan.h"
#include "exchange/step.h"

static void assign(struct crumb_exchange *x, unsigned *owner)
{
	for (size_t s = 0; s < x->slices; s++)
		owner[s] = 0;
}

const struct plan crumb_plan_server = {
        .name = "server",
        .alias = "dist_sync",
        .brief = "rank 0 averages everything and gives the means to all",
        .assign = assign,
        .mean = crumb_shard_mean,
        .swaps = 3,
};
