/* The networks that crumb-train can train, each a table of layers that reads like a paper's text.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include "nets/shape.h"

enum layer_type {
	LAYER_CONV,         /* units filters of size x size, with bias unless LAYER_BATCHNORM follows */
	LAYER_MAX_POOL,     /* the maximum of each window of size x size */
	LAYER_AVERAGE_POOL, /* the mean of each window; elements past the edge do not count */
	LAYER_FC,           /* units outputs, with bias */
	LAYER_LSTM,         /* units cells over the rows of an image one pixel wide */
	LAYER_RELU,
	LAYER_BATCHNORM, /* of each channel, with a scale and a shift */
	LAYER_SHORTCUT,  /* adds the block's input: the output of the layer `back` layers before this one;
	                    every second pixel if that image is larger, zeros for missing channels */
	/* These make a transformer, on an image one pixel wide whose rows are the places of a sequence: */
	LAYER_EMBEDDING, /* units channels for each token, which the input gives one-hot */
	LAYER_POSITION,  /* adds a vector of its own to each place */
	LAYER_LAYERNORM, /* of each place over its channels, with a scale and a shift */
	LAYER_LINEAR,    /* units outputs at each place, with bias unless tied */
	LAYER_ATTENTION, /* size heads of causal self-attention; channels are queries, keys, values, a third
	                    each */
	LAYER_GELU       /* in its form by tanh */
};

struct layer {
	enum layer_type type;
	int units, size;
	int stride; /* pixels between windows, of which the last may reach past the edge of a pool; 0: 1 for a
	               convolution, and for a pool windows without overlap, none of them past the edge */
	int pad;    /* of a convolution: zeros on each side of the image */
	int back;   /* of a shortcut */
	bool tied;  /* of a linear layer: its weights are those of the embedding, the first layer */
};

static inline int layer_stride(const struct layer *layer)
{
	return layer->stride > 0 ? layer->stride : layer->type == LAYER_CONV ? 1 : layer->size;
}

/* A network. Its last layer's outputs go to softmax and cross-entropy, over the channels of each place. */
struct model {
	const char *name;
	const char *brief;
	struct shape input; /* as published; training data may have another shape */
	const struct layer *layers;
	size_t layer_count;
};

/* Returns the network of this name; NULL if there is none. */
const struct model *model_find(const char *name);

/* Returns the i-th network; NULL past the last. */
const struct model *model_list(size_t i);

#endif
