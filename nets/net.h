/* A network laid out for one shape of input: the places of each layer's parameters in one flat array, which
 * is also the layout of its gradient. The trainer computes layers; this file knows nothing of that.
 *
 * SPDX-License-Identifier: MIT */
#ifndef NET_H
#define NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "exchange/exchange.h"
#include "nets/model.h"
#include "nets/shape.h"

/* A layer in its place. Weights are [units][channels][height][width] (fc: [units][inputs]), bias is [units];
 * in batch normalisation they are the scales and the shifts, both [channels]. */
struct net_layer {
	struct layer layer;
	struct shape in, out;
	size_t weights_at, weights; /* first parameter and how many; 0 in a layer without parameters */
	size_t bias_at, bias;
	/* LSTM: weights of its own state, [4 units][units]; weights are [4 units][inputs], gates in the order
	 * input, forget, candidate, output. */
	size_t recurrent_at, recurrent;
	size_t statistics_at; /* batch normalisation: means and then variances, after all parameters */
};

#define NET_MAX_LAYERS 128

struct net {
	const struct model *model;
	struct shape input;
	int classes, places; /* a sample's logits: [places][classes] */
	float dropout; /* share of a fully connected layer's inputs that training drops, except in the first
	                  layer; the trainer sets it */
	bool carries;  /* LSTMs begin with the state in which the batch before ended; the trainer sets it */
	size_t states; /* floats of a sample's LSTM states: h and c of each layer */
	size_t layer_count;
	struct net_layer layer[NET_MAX_LAYERS];
	size_t parameters;
	size_t statistics; /* floats after the parameters */
	size_t slice_count;
	struct crumb_slice slice[3 * NET_MAX_LAYERS]; /* weights, bias, weights, ... as they lie */
};

/* Lays out a network. Returns 0, or -1 with a line in why if the input does not suit it. */
int net_open(struct net *net, const struct model *model, struct shape input, char *why, size_t cap);

/* Makes the whole gradient one slice of kind fc: codecs with buckets then quantise one long vector. */
void net_flatten(struct net *net);

#endif
