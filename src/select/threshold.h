/* A threshold that follows the distribution, so that a wanted share of the elements reaches it: a quantile of
 * |r + g|, found anew at every step in a sample (doc/FORMAT.md, twobit). What a step sends depends on what is
 * there at that step alone, so there is nothing to remember and nothing that swings.
 *
 * SPDX-License-Identifier: MIT */
#ifndef THRESHOLD_H
#define THRESHOLD_H

#include "base/per_isa.h"
#include "v16/v16.h"

#define threshold_choose PER_ISA(threshold_choose)

/* The values of the codecs' key threshold: 0, or a number. */
static const char *const threshold_names[] = {"auto", NULL};
#define THRESHOLD_LEAST 0x1p-100f
#define THRESHOLD_MOST  0x1p100f
#define THRESHOLD_KEY(fallback)                                                                           \
	{                                                                                                 \
		"threshold", "the quantum; auto: such that the share is sent", fallback, THRESHOLD_LEAST, \
		        THRESHOLD_MOST, 0, threshold_names                                                \
	}
#define THRESHOLD_SHARE(fallback)                                                                       \
	{                                                                                               \
		"share", "of the elements, to be sent (threshold=auto)", fallback, 1e-6f, 0.5f, 0, NULL \
	}

/* The threshold of this step. value, share: of the keys. r, grad: what is owed, and the gradient, n > 0
 * elements. */
float threshold_choose(float value, float share, const float *r, enum crumb_dtype type, const void *grad,
                       size_t n);

/* A share is for threshold=auto alone. */
static inline bool threshold_accepts(float value, float share, float fallback)
{
	return value == 0 || share == fallback;
}

/* Which of sixteen elements are sent. */
struct sent {
	v16m plus, minus;
};

/* Takes one quantum t of those of sixteen x = r + g that reach it, either way; returns what is left of them.
 */
V16_FN v16f threshold_take(v16f x, v16f t, v16f minus_t, struct sent *sent)
{
	*sent = (struct sent){v16_ge(x, t), v16_ge(minus_t, x)};
	return v16_sub_where(sent->minus, v16_sub_where(sent->plus, x, t), minus_t);
}

#endif
