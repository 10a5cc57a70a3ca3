/* A network laid out for one shape of input: where each layer's parameters lie in one flat array, which is
 * also the layout of its gradient. Knows nothing of how layers are computed; that is the trainer's.
 *
 * SPDX-License-Identifier: MIT */
#ifndef NET_H
#define NET_H

#include <stddef.h>
#include <stdint.h>
#include "exchange/exchange.h"
#include "nets/model.h"
#include "nets/shape.h"

/* A layer in its place. Weights are [units][channels][height][width] (fc: [units][inputs]), bias is [units];
 * of batch normalisation, the scales and the shifts, both [channels]. */
struct net_layer {
	struct layer layer;
	struct shape in, out;
	size_t weights_at,
	        weights; /* first parameter and how many; 0 of them in a layer without parameters */
	size_t bias_at, bias;
	size_t recurrent_at,
	        recurrent;    /* of an LSTM: weights of its own state, [4 units][units]; weights are [4
	                         units][inputs], gates in the order input, forget, candidate, output */
	size_t statistics_at; /* of batch normalisation: means and then variances, after all parameters */
};

#define NET_MAX_LAYERS 128

struct net {
	const struct model *model;
	struct shape input;
	int classes, places; /* a sample's logits: [places][classes] */
	float dropout;       /* share of the inputs of fully connected layers, but for the first layer, that
	                        training       leaves out; the trainer's, 0 at first */
	size_t layer_count;
	struct net_layer layer[NET_MAX_LAYERS];
	size_t parameters;
	size_t statistics; /* floats that a test wants behind the parameters */
	size_t slice_count;
	struct crumb_slice slice[3 * NET_MAX_LAYERS]; /* weights, bias, weights, ... as they lie */
};

/* 0, or -1 with a line in why when the input is too small for the network. */
int net_open(struct net *net, const struct model *model, struct shape input, char *why, size_t cap);

/* Makes one slice of the whole gradient, of kind fc: quantisers of buckets then see one long vector. */
void net_flatten(struct net *net);

#endif
