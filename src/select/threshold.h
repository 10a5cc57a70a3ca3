/* The threshold of twobit and strom: a number, or automatic, so that a wanted share of the elements reaches
 * it; and their quantisation by it.
 *
 * An automatic threshold is a quantile of |r + g|, taken anew at every step from a sample (doc/FORMAT.md,
 * twobit). It depends on that step alone: there is no state, and no control loop that could oscillate.
 *
 * SPDX-License-Identifier: MIT */
#ifndef THRESHOLD_H
#define THRESHOLD_H

#include "base/per_isa.h"
#include "v16/v16.h"

#define threshold_choose PER_ISA(threshold_choose)

/* The key's value 0 is called auto; others are the threshold itself. */
#define THRESHOLD_MIN 0x1p-100f
#define THRESHOLD_MAX 0x1p100f
#define THRESHOLD_KEY(fallback)                                                                         \
	{                                                                                               \
		"threshold", "the quantum; auto: such that the share is sent", fallback, THRESHOLD_MIN, \
		        THRESHOLD_MAX, 0, CHOICES("auto")                                               \
	}
#define THRESHOLD_SHARE(fallback)                                                                       \
	{                                                                                               \
		"share", "of the elements, to be sent (threshold=auto)", fallback, 1e-6f, 0.5f, 0, NULL \
	}

/* Returns this step's threshold, given the values of both keys, and the residual r and the gradient of n > 0
 * elements. */
float threshold_choose(float value, float share, const float *r, enum crumb_dtype type, const void *grad,
                       size_t n);

/* Returns true unless a share is set beside a fixed threshold. */
static inline bool threshold_accepts(float value, float share, float fallback)
{
	return value == 0 || share == fallback;
}

/* Masks of the elements of a group that send a quantum. */
struct sent {
	v16m plus, minus;
};

/* Quantises a group x = r + g: elements >= t send t, those <= -t send -t. Returns the residual. */
V16_FN v16f threshold_take(v16f x, v16f t, v16f minus_t, struct sent *sent)
{
	*sent = (struct sent){v16_ge(x, t), v16_ge(minus_t, x)};
	return v16_sub_where(sent->minus, v16_sub_where(sent->plus, x, t), minus_t);
}

#endif
