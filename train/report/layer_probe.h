/* What a layer's gradient is like, and what its codec makes of it: of the first learner of this rank, and of
 * the step just taken. It looks on; nothing of the training depends on it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LAYER_PROBE_H
#define LAYER_PROBE_H

#include <stdbool.h>
#include "exchange/exchange.h"

enum { SPREAD_PERCENTILES = 6, SPREAD_BINS = 41 };
extern const unsigned spread_permille[SPREAD_PERCENTILES]; /* the last one is 1000 */

/* How n floats are distributed. */
struct spread {
	double percentile[SPREAD_PERCENTILES]; /* the least |x| that so many per mille do not exceed */
	double zeros;                          /* the share that is 0 */
	uint64_t bin[SPREAD_BINS];             /* how many are in each; equally wide, from -max to max |x| */
};

struct layer_probe {
	size_t slice; /* of the network, counted from 0 */
	enum crumb_kind kind;
	crumb_codec codec;
	struct spread gradient, arrived; /* arrived: its frames, decoded */
	double sent;                     /* share of the elements that the frames send by their code */
	double bin_sent;                 /* elements sent in a bin of the codec's; NaN: it has none */
	/* |x - arrived|^2 / |x|^2, where x is the gradient and what was owed before. NaN: x is 0. */
	double error;
	/* The variance of |g| / |bucket|, in Euclid's norm, over all elements; buckets are the codec's, or
	 * all that has a frame (Faghri et al., NeurIPS 2020, figure 1). */
	double variance;
	bool owes, clips; /* whether the codec keeps what it does not send; whether it clips first */
	struct spread residual, clipped; /* where it does; clipped: the gradient (Wen et al., section 3.3) */
	double clip_length, clip_cosine; /* of clipped: by the gradient's length; of the angle to it */
};

/* Layers are slices of weights, as the network has them; biases and batch normalisation go raw. */
bool layer_probe_wants(const struct crumb_slice *slice);

/* layer: the network's slice of that number. grad: the flat gradient that the learner gave the last step,
 * which was not skipped. cut: the exchange's slices, into some of which the layer may be cut. 0, or
 * CRUMB_EMEMORY. */
int layer_probe(struct layer_probe *probe, struct crumb_exchange *exchange, const struct crumb_slice *cut,
                size_t cuts, size_t slice, const struct crumb_slice *layer, const float *grad);

#endif
