/* Networks that are not trained here, only weighed: their layers with parameters, as published for ImageNet's
 * 1000 classes, or for GPT-2's 50257 tokens.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PUBLISHED_H
#define PUBLISHED_H

#include "exchange/exchange.h"
#include <stddef.h>

/* Weights [units][run], none if run is 0, and then a bias or a normalisation. */
struct published_layer {
	enum crumb_kind kind;
	int units, run;
	enum { THEN_BIAS, THEN_NORM, THEN_NOTHING } then; /* [units]; scale [units] and shift [units] */
};

struct published {
	const char *name;
	const struct published_layer *layers;
	size_t layer_count;
};

/* Returns the i-th network; NULL past the last. */
const struct published *published_list(size_t i);

#endif
