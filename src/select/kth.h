/* Selection: the k-th largest magnitude of many floats, and how many floats reach a magnitude.
 *
 * Magnitudes are ordered as their bits are, so radix selection finds the k-th largest: a histogram of the
 * upper bits says which of its bins has it, a histogram of the next bits in that bin which of theirs, and so
 * on. Three passes over the floats find all 31 bits, however they are distributed, and give every instruction
 * set the same answer.
 *
 * Floats are read as bytes, since they may stand in a frame, at any address.
 *
 * SPDX-License-Identifier: MIT */
#ifndef KTH_H
#define KTH_H

#include "base/bytes.h"
#include <math.h>
#include <string.h>

#define MIN_MAGNITUDE 0x1p-149f /* the least that is not 0 */

enum { RADIX_BITS = 11 }; /* of one pass; its histogram fits L1 */

/* Adds to the histogram the next width bits, of which the last is bit number shift, of the magnitudes whose
 * bits above these are prefix. */
static inline void count_radix(const uint8_t *x, size_t count, uint32_t prefix, unsigned shift,
                               unsigned width, size_t histogram[1 << RADIX_BITS])
{
	for (size_t i = 0; i < count; i++) {
		const uint32_t bits = get_u32(x + 4 * i) & 0x7FFFFFFF;
		if (bits >> shift >> width == prefix)
			histogram[bits >> shift & ((1u << width) - 1)]++;
	}
}

/* Returns the k-th largest magnitude of count floats, 1 <= k <= count. */
static inline float kth_magnitude(const uint8_t *x, size_t count, size_t k)
{
	uint32_t found = 0;
	for (unsigned shift = 31; shift;) {
		const unsigned width = shift < RADIX_BITS ? shift : RADIX_BITS;
		size_t histogram[1 << RADIX_BITS] = {0};
		uint32_t bin = (1u << width) - 1;
		shift -= width;
		count_radix(x, count, found, shift, width, histogram);
		for (; k > histogram[bin]; bin--)
			k -= histogram[bin];
		found = found << width | bin;
	}
	return float_of_bits(found);
}

/* Counts the floats of magnitude m or more, and those above m. */
static inline void count_ranks(const uint8_t *x, size_t count, float m, size_t *reach, size_t *above)
{
	*reach = *above = 0;
	for (size_t i = 0; i < count; i++) {
		const float size = fabsf(get_f32(x + 4 * i));
		*reach += size >= m;
		*above += size > m;
	}
}

#endif
