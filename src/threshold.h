/* A threshold that follows the distribution, so that a wanted share of the elements reaches it: a quantile of
 * |r + g|, found anew at every step in a sample (doc/FORMAT.md, twobit). What a step sends depends on what is
 * there at that step alone, so there is nothing to remember and nothing that swings.
 *
 * SPDX-License-Identifier: MIT */
#ifndef THRESHOLD_H
#define THRESHOLD_H

#include "codec.h"
#include "v16.h"

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

enum {
	THRESHOLD_HITS = 256, /* elements of the sample that are wanted above the threshold */
	THRESHOLD_BITS = 11,  /* of a magnitude's, that one look at the sample counts */
	THRESHOLD_BINS = 1 << THRESHOLD_BITS
};

/* Every apart-th group of sixteen, from the first on. */
struct threshold_sample {
	const float *r;
	const void *grad;
	size_t n, apart;
};

/* Counts the magnitudes that begin with head, by the bits that follow, of which the last is at shift; returns
 * how many the sample has in all. */
V16_FN uint64_t threshold_look(uint64_t *count, uint32_t head, int shift, const struct threshold_sample *s,
                               enum crumb_dtype type)
{
	const size_t groups = divide_up(s->n, V16);
	uint64_t all = 0;
	uint32_t bits[V16];
	memset(count, 0, THRESHOLD_BINS * sizeof *count);
	for (size_t group = 0; group < groups; group += s->apart) {
		const size_t i = V16 * group, few = s->n - i < V16 ? s->n - i : V16;
		const v16f r = few < V16 ? v16_loadf_few(s->r + i, few) : v16_loadf(s->r + i);
		const v16f g = few < V16 ? v16_load_few(type, s->grad, i, few) : v16_load(type, s->grad, i);
		v16_storei(bits, v16_shr(v16_bits_of(v16_abs(v16_add(r, g))), shift));
		for (size_t k = 0; k < few; k++)
			if (bits[k] >> THRESHOLD_BITS == head)
				count[bits[k] % THRESHOLD_BINS]++;
		all += few;
	}
	return all;
}

/* The greatest bin that has, with those above it, so many; takes those above off *wanted. */
static inline uint32_t threshold_bin(const uint64_t *count, double *wanted)
{
	uint32_t bin = THRESHOLD_BINS - 1;
	for (; bin > 0 && (double)count[bin] < *wanted; bin--)
		*wanted -= (double)count[bin];
	return bin;
}

/* The threshold of this step. value, share: of the keys. r, grad: what is owed, and the gradient, n > 0
 * elements. */
V16_FN float threshold_now(float value, float share, const float *r, enum crumb_dtype type, const void *grad,
                           size_t n)
{
	enum { HIGH = 31 - THRESHOLD_BITS, LOW = HIGH - THRESHOLD_BITS };
	if (value > 0)
		return value;
	uint64_t count[THRESHOLD_BINS];
	/* An odd number, which does not fall in step with rows. */
	const size_t apart = (size_t)((double)share * (double)n / (V16 * THRESHOLD_HITS)) | 1;
	struct threshold_sample sample = {r, grad, n, apart};
	uint64_t all = threshold_look(count, 0, HIGH, &sample, type);
	if (count[0] == all && apart > 1) {
		sample.apart = 1;
		all = threshold_look(count, 0, HIGH, &sample, type);
	}
	if (count[0] == all)
		return THRESHOLD_MOST;
	/* Where hardly any element is not zero, a quantile of all would be next to nothing. */
	const double half = (double)(all - count[0]) / 2;
	double wanted = (double)share * (double)all;
	wanted = wanted < half ? wanted : half;
	const uint32_t high = threshold_bin(count, &wanted);
	threshold_look(count, high, LOW, &sample, type);
	const uint32_t bits = high << HIGH | threshold_bin(count, &wanted) << LOW;
	float t;
	memcpy(&t, &bits, sizeof t);
	return t < THRESHOLD_LEAST ? THRESHOLD_LEAST : t > THRESHOLD_MOST ? THRESHOLD_MOST : t;
}

/* A share is for threshold=auto alone. */
static inline bool threshold_accepts(float value, float share, float fallback)
{
	return value == 0 || share == fallback;
}

#endif
