/* Selection among few floats: the k-th greatest magnitude, bit by bit. Each bit takes a pass over the floats,
 * which are expected to be in L1.
 *
 * Magnitudes are ordered as their bits are, so the comparison is one of integers.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GREATEST_H
#define GREATEST_H

#include "v16/v16.h"

V16_FN v16i greatest_load(const float *x, size_t i, size_t n)
{
	return v16_bits_of(v16_abs(v16_loadf_some(x + i, n - i)));
}

/* Returns how many of n magnitudes have bits of at least least, 0 < least < 2^31. */
V16_FN size_t greatest_reach(const float *x, size_t n, uint32_t least)
{
	const v16i threshold = v16_seti(least);
	size_t reach = 0;
	for (size_t i = 0; i < n; i += V16) {
		const v16m below = v16_lti(greatest_load(x, i, n), threshold);
		reach += V16 - (size_t)__builtin_popcount(v16_bits(below));
	}
	return reach;
}

/* Returns the greatest bits of a magnitude, with zeros below bit number `last`, that k of n magnitudes reach.
 * With last = 0 they are those of the k-th greatest magnitude. */
V16_FN uint32_t greatest_kth(const float *x, size_t n, size_t k, unsigned last)
{
	uint32_t found = 0;
	for (unsigned shift = 31; shift-- > last;) {
		const uint32_t tried = found | UINT32_C(1) << shift;
		if (greatest_reach(x, n, tried) >= k)
			found = tried;
	}
	return found;
}

#endif
