/* Statistics of a layer's gradient and of its codec's result, for the first learner of this rank in the last
 * step. Training does not depend on them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LAYER_PROBE_H
#define LAYER_PROBE_H
#include "exchange/exchange.h"

#include <stdbool.h>

enum { SPREAD_PERCENTILES = 6, SPREAD_BINS = 41 };
extern const unsigned spread_permille[SPREAD_PERCENTILES]; /* the last one is 1000 */

/* The distribution of n floats. */
struct spread {
	double percentile[SPREAD_PERCENTILES]; /* p per mille of the |x| are at most this, p of
	                                          spread_permille */
	double zeros;                          /* share of zeros */
	uint64_t bin[SPREAD_BINS];             /* counts; equally wide, from -max to max |x| */
};

struct layer_probe {
	size_t slice; /* of the network, counted from 0 */
	enum crumb_kind kind;
	crumb_codec codec;
	struct spread gradient, arrived; /* arrived: the decoded frames */
	double sent;                     /* share of the elements that the frames send by their code */
	double bin_sent;                 /* elements sent by bin of the codec; NaN: it has none */
	/* |x - arrived|^2 / |x|^2, x the gradient plus the residual before. NaN: x is 0. */
	double error;
	/* The variance of |g| / |bucket|, in Euclid's norm, over all elements; buckets are the codec's, or
	 * whole frames (Faghri et al., NeurIPS 2020, figure 1). */
	double variance;
	bool owes, clips;                /* owes: the codec has a residual; clips: it clips */
	struct spread residual, clipped; /* if it does; clipped: the gradient (Wen et al., section 3.3) */
	double clip_length,
	        clip_cosine; /* clipped's length by the gradient's; cosine of the angle between them */
};

/* Returns true for a slice of weights; biases and batch normalisation go raw. */
bool layer_probe_wants(const struct crumb_slice *slice);

/* Fills in the statistics of the network's slice number `slice`. grad: the flat gradient that the learner
 * gave the last step, which was not skipped. cut: the exchange's slices, several of which may be of this
 * layer. 0, or CRUMB_EMEMORY. */
int layer_probe(struct layer_probe *probe, struct crumb_exchange *exchange, const struct crumb_slice *cut,
                size_t cuts, size_t slice, const struct crumb_slice *layer, const float *grad);

#endif
