/* Every network here, trained or not, as a list of its parameters: what it takes to know what a gradient
 * weighs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SIZES_H
#define SIZES_H

#include "exchange/exchange.h"
#include <stddef.h>

enum { SIZES_MOST = 192, SIZES_NAME = 32 };

/* One tensor of the gradient; slice.at counts from the network's first. */
struct sizes_tensor {
	char name[SIZES_NAME]; /* of the layer, "conv1"; of what shifts its outputs, "conv1.bias" */
	struct crumb_slice slice;
};

struct sizes {
	size_t parameters, count;
	struct sizes_tensor tensor[SIZES_MOST]; /* as they lie */
};

/* The i-th network's name, NULL past the last; *brief says what it is. */
const char *sizes_list(size_t i, const char **brief);

/* 0, or -1 if there is no such network. A network that can be trained has the size that the papers give it,
 * on model->input. */
int sizes_find(struct sizes *sizes, const char *name);

#endif
