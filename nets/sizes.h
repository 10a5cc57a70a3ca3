/* Every network here, trained or not, as a list of its parameter tensors.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SIZES_H
#define SIZES_H

#include "exchange/exchange.h"
#include <stddef.h>

enum { SIZES_MOST = 192 };

/* The tensors of a gradient in order of at, which counts from the network's first element. */
struct sizes {
	size_t parameters, count;
	struct crumb_slice tensor[SIZES_MOST];
};

/* Returns the i-th network's name, NULL past the last. */
const char *sizes_list(size_t i);

/* Finds a network. Returns 0, or -1 if there is none. One that can be trained has the size of its paper, on
 * model->input. */
int sizes_find(struct sizes *sizes, const char *name);

/* Makes a network of so many parameters, all in one fully connected layer. */
void sizes_count(struct sizes *sizes, size_t parameters);

#endif
