/* The plan gather: every rank gives every rank the frames of its learners, and every rank decodes them all
 * (AdaComp's peer-to-peer exchange).
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/plan.h"
#include "exchange/step.h"

static int mean(struct crumb_exchange *x, struct step *step, int error)
{
	error = crumb_upload_swap(step, error);
	if (!error)
		error = crumb_upload_find(x, step->segment->share);
	if (!error)
		error = crumb_upload_mean(step, step->segment->by_length, step->segment->count);
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
