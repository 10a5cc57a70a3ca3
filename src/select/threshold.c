/* Looking for a threshold: which bin of magnitudes has it, and then which bin of that bin.
 *
 * SPDX-License-Identifier: MIT */
#include "select/threshold.h"
#include "base/bytes.h"
#include "v16/v16.h"

enum {
	HITS = 256, /* elements of the sample that are wanted above the threshold */
	BITS = 11,  /* of a magnitude's, that one look at the sample counts */
	BINS = 1 << BITS
};

/* Every apart-th group of sixteen, from the first on. */
struct sample {
	const float *r;
	const void *grad;
	size_t n, apart;
};

/* Counts the magnitudes that begin with head, by the bits that follow, of which the last is at shift; returns
 * how many the sample has in all. */
static uint64_t look(uint64_t *count, uint32_t head, int shift, const struct sample *s, enum crumb_dtype type)
{
	const size_t groups = divide_up(s->n, V16);
	uint64_t all = 0;
	uint32_t bits[V16];
	memset(count, 0, BINS * sizeof *count);
	for (size_t group = 0; group < groups; group += s->apart) {
		const size_t i = V16 * group, few = s->n - i < V16 ? s->n - i : V16;
		const v16f r = few < V16 ? v16_loadf_partial(s->r + i, few) : v16_loadf(s->r + i);
		const v16f g =
		        few < V16 ? v16_load_partial(type, s->grad, i, few) : v16_load(type, s->grad, i);
		v16_storei(bits, v16_bits_of(v16_abs(v16_add(r, g))));
		for (size_t k = 0; k < few; k++) {
			const uint32_t begin = bits[k] >> shift;
			if (begin >> BITS == head)
				count[begin % BINS]++;
		}
		all += few;
	}
	return all;
}

/* The greatest bin that has, with those above it, so many; takes those above off *wanted. */
static uint32_t find(const uint64_t *count, double *wanted)
{
	uint32_t bin = BINS - 1;
	for (; bin > 0 && (double)count[bin] < *wanted; bin--)
		*wanted -= (double)count[bin];
	return bin;
}

float threshold_choose(float value, float share, const float *r, enum crumb_dtype type, const void *grad,
                       size_t n)
{
	enum { HIGH = 31 - BITS, LOW = HIGH - BITS };
	if (value > 0)
		return value;
	uint64_t count[BINS];
	/* An odd number, which does not fall in step with rows. */
	const size_t apart = (size_t)((double)share * (double)n / (V16 * HITS)) | 1;
	struct sample from = {r, grad, n, apart};
	uint64_t all = look(count, 0, HIGH, &from, type);
	if (count[0] == all && apart > 1) {
		from.apart = 1;
		all = look(count, 0, HIGH, &from, type);
	}
	if (count[0] == all)
		return THRESHOLD_MOST;
	/* Where hardly any element is not zero, a quantile of all would be next to nothing. */
	const double half = (double)(all - count[0]) / 2;
	double wanted = (double)share * (double)all;
	wanted = wanted < half ? wanted : half;
	const uint32_t high = find(count, &wanted);
	look(count, high, LOW, &from, type);
	const float t = float_of_bits(high << HIGH | find(count, &wanted) << LOW);
	return t < THRESHOLD_LEAST ? THRESHOLD_LEAST : t > THRESHOLD_MOST ? THRESHOLD_MOST : t;
}
