/* The automatic threshold is a quantile of |r + g| in a sample. Magnitudes are ordered as their bits are: a
 * histogram of the upper bits of the sample finds the bin that has the quantile, and a histogram of the next
 * bits of that bin's magnitudes the bin within it, whose lower end is the threshold.
 *
 * SPDX-License-Identifier: MIT */
#include "select/threshold.h"
#include "base/bytes.h"
#include "v16/v16.h"

enum {
	HITS = 4096, /* elements of the sample that should reach the threshold */
	BITS = 11,   /* of a magnitude's 31, for one histogram */
	BINS = 1 << BITS
};

/* Every apart-th group of sixteen, from the first one on. */
struct sample {
	const float *r;
	const void *grad;
	size_t n, apart;
};

/* Makes a histogram of BITS bits of the sampled magnitudes, of which the last is bit number shift; magnitudes
 * whose bits above these are not prefix are left out. Returns the number of all elements in the sample. */
static uint64_t count_bins(uint64_t *histogram, uint32_t prefix, int shift, const struct sample *s,
                           enum crumb_dtype type)
{
	const size_t groups = divide_up(s->n, V16);
	uint64_t all = 0;
	uint32_t bits[V16];
	memset(histogram, 0, BINS * sizeof *histogram);
	for (size_t group = 0; group < groups; group += s->apart) {
		const size_t i = V16 * group, count = s->n - i < V16 ? s->n - i : V16;
		const v16f r = v16_loadf_some(s->r + i, count);
		const v16f g =
		        count < V16 ? v16_load_partial(type, s->grad, i, count) : v16_load(type, s->grad, i);
		v16_storei(bits, v16_bits_of(v16_abs(v16_add(r, g))));
		for (size_t k = 0; k < count; k++) {
			const uint32_t upper = bits[k] >> shift;
			if (upper >> BITS == prefix)
				histogram[upper % BINS]++;
		}
		all += count;
	}
	return all;
}

/* Returns the largest bin that, with those above it, has *wanted elements; subtracts those above it from
 * *wanted. */
static uint32_t find_bin(const uint64_t *histogram, double *wanted)
{
	uint32_t bin = BINS - 1;
	for (; bin > 0 && (double)histogram[bin] < *wanted; bin--)
		*wanted -= (double)histogram[bin];
	return bin;
}

float threshold_choose(float value, float share, const float *r, enum crumb_dtype type, const void *grad,
                       size_t n)
{
	enum { HIGH = 31 - BITS, LOW = HIGH - BITS };
	if (value > 0)
		return value;
	uint64_t histogram[BINS];
	/* The distance is odd, so that samples do not all fall on the same columns of a matrix. */
	const size_t apart = (size_t)((double)share * (double)n / HITS) | 1;
	struct sample sample = {r, grad, n, apart};
	uint64_t all = count_bins(histogram, 0, HIGH, &sample, type);
	if (histogram[0] == all && apart > 1) {
		sample.apart = 1;
		all = count_bins(histogram, 0, HIGH, &sample, type);
	}
	if (histogram[0] == all)
		return THRESHOLD_MAX;
	/* If hardly any element is not zero, the quantile of all would be zero: of these at most half are
	 * sent. */
	const double half = (double)(all - histogram[0]) / 2;
	double wanted = (double)share * (double)all;
	wanted = wanted < half ? wanted : half;
	const uint32_t high = find_bin(histogram, &wanted);
	count_bins(histogram, high, LOW, &sample, type);
	const float t = float_of_bits(high << HIGH | find_bin(histogram, &wanted) << LOW);
	return t < THRESHOLD_MIN ? THRESHOLD_MIN : t > THRESHOLD_MAX ? THRESHOLD_MAX : t;
}
