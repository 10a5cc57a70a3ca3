/* The plan gather: every rank gives every rank the frames of its learners, and every rank decodes them all
 * (AdaComp's peer-to-peer exchange).
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include "exchange/plan.h"
#include "exchange/exchange_state.h"

static int unpack(struct crumb_exchange *x)
{
	int error = crumb_frames_find(x, x->section);

	if (error)
		return error;
	crumb_frames_mean(x, x->longest, x->slices, NULL);
	for (size_t s = 0; s < x->slices && !error; s++) {
		error = x->column[s].error;
		if (error)
			snprintf(x->why, sizeof x->why, "step %llu: rank %u: a frame of slice %zu: %s",
			         (unsigned long long)x->step, x->rank, s, crumb_strerror(error));
	}
	return error;
}

static int mean(struct crumb_exchange *x, int error)
{
	if (!error)
		error = crumb_frames_pack(x);
	crumb_step_lap(x, &x->stats.pack_seconds);
	error = crumb_swap(x, MESSAGE_UP, error, x->letter, 1);
	crumb_step_lap(x, &x->stats.swap_seconds);
	if (!error)
		error = unpack(x);
	crumb_step_lap(x, &x->stats.unpack_seconds);
	return error;
}

const struct plan crumb_plan_gather = {
        .name = "gather",
        .alias = "device",
        .brief = "all give all their frames, and everyone averages",
        .mean = mean,
        .swaps = 2,
};
