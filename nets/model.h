/* The networks that crumb-train knows, each a table of layers that reads like a paper's text.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>
#include "shape.h"

enum layer_type {
	LAYER_CONV,     /* units filters of size x size, no padding, stride 1, with bias */
	LAYER_MAX_POOL, /* size x size windows, side by side; a rest that fills no window is left out */
	LAYER_FC,       /* units outputs, with bias */
	LAYER_RELU
};

struct layer {
	enum layer_type type;
	int units, size;
};

/* The last layer's outputs go to softmax and cross-entropy. */
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
