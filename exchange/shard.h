/* The mean on its way down, in plans where one rank takes it. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SHARD_H
#define SHARD_H

#include "exchange/upload.h"

struct down {
	struct slot *slot; /* [slice]: the means that this rank packs */
	size_t *decoded;   /* slices of this rank's share that it averages by decoding */
	crumb_span *frame; /* [slice]: the frames that came down */
	float *weight;     /* [slice]: of these frames: 1, or a learner's weight for a sum */
};

/* The mean of a plan where slices have owners. */
int crumb_shard_mean(struct crumb_exchange *x, struct step *step, int error);

#endif
