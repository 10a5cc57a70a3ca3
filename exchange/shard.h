/* The mean on its way down, in plans where one rank takes it. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SHARD_H
#define SHARD_H

#include <crumb.h>
#include <stdbool.h>

struct crumb_exchange;
struct step;

/* The mean of one slice. */
struct down_slice {
	crumb_codec codec;
	crumb_packer *packer; /* NULL: another rank averages this slice */
	uint8_t *slot;
	size_t slot_size;
	bool sums;      /* the learners' frames agree on a scaler, and their exact sum may come down */
	bool sum;       /* it does in this step */
	int64_t length; /* of the frame in the slot, or an error */
};

struct down {
	struct down_slice *slice; /* [slice] */
	size_t *decoded;          /* slices of this rank's share that it averages by decoding */
	crumb_span *frame;        /* [slice]: what came down, and its weight: 1, or a learner's for a sum */
	float *weight;
};

/* The mean of a plan where slices have owners. */
int crumb_shard_mean(struct crumb_exchange *x, struct step *step, int error);

#endif
