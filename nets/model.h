/* The networks that crumb-train knows, each a table of layers that reads like a paper's text.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>
#include "nets/shape.h"

enum layer_type {
	LAYER_CONV,         /* units filters of size x size, with bias unless LAYER_BATCHNORM follows */
	LAYER_MAX_POOL,     /* the greatest of each window of size x size */
	LAYER_AVERAGE_POOL, /* the mean of each; what hangs over the edge does not count */
	LAYER_FC,           /* units outputs, with bias */
	LAYER_LSTM,         /* units cells that see an image's rows, one pixel wide, one after another */
	LAYER_RELU,
	LAYER_BATCHNORM, /* of each channel, then a scale and a shift of its own */
	LAYER_SHORTCUT   /* adds what went into the block: the output of the layer `back` layers before this
	                    one;   where that image is larger, every second pixel, and where channels lack,
	                    zeros
	                  */
};

struct layer {
	enum layer_type type;
	int units, size;
	int stride; /* of a pool, 0: windows side by side, and a rest that fills none is left out; else
	               windows begin so far apart, and the last ones may hang over the edge. Of a convolution,
	               0: 1 */
	int pad;    /* of a convolution: zeros on each side of the image */
	int back;   /* of a shortcut */
};

static inline int layer_stride(const struct layer *layer)
{
	return layer->stride > 0 ? layer->stride : layer->type == LAYER_CONV ? 1 : layer->size;
}

/* The last layer's outputs go to softmax and cross-entropy, its channels at each place. */
struct model {
	const char *name;
	const char *brief;
	struct shape input; /* as published; the data that it is trained on may have another */
	const struct layer *layers;
	size_t layer_count;
};

/* NULL if there is no such network. */
const struct model *model_find(const char *name);

/* The i-th network, NULL past the last. */
const struct model *model_list(size_t i);

#endif
