/* The test that every gradient passes before it changes a residual: all elements are finite, and none is
 * above 2^120.
 *
 * A NaN fails each comparison, so that one comparison per element finds it, infinities and large numbers
 * alike.
 *
 * SPDX-License-Identifier: MIT */
#include "check/finite.h"
#include "v16/v16.h"

enum { BLOCK = 4096 }; /* elements between two branches on what was found */

/* Four masks are independent, which hides the latency of combining them. */
static bool usable_32(const float *grad, size_t n)
{
	const v16f most = v16_set(0x1p120f);
	size_t i = 0;
	while (n - i >= 4 * V16) {
		const size_t end = n - i < BLOCK ? i + (n - i) / (4 * V16) * (4 * V16) : i + BLOCK;
		v16m good[4] = {v16_mask(0xFFFF), v16_mask(0xFFFF), v16_mask(0xFFFF), v16_mask(0xFFFF)};
		for (; i < end; i += 4 * V16)
			for (size_t k = 0; k < 4; k++)
				good[k] = v16_both(good[k],
				                   v16_ge(most, v16_abs(v16_streamf(grad + i + V16 * k))));
		if (v16_bits(v16_both(v16_both(good[0], good[1]), v16_both(good[2], good[3]))) != 0xFFFF)
			return false;
	}
	for (; i < n; i += V16) {
		const v16f x = n - i < V16 ? v16_loadf_partial(grad + i, n - i) : v16_loadf(grad + i);
		if (!v16_usable(v16_abs(x)))
			return false;
	}
	return true;
}

/* Magnitudes of 16 bits are compared as integers, which order them likewise. */
static bool usable_16(const uint8_t *grad, size_t n, int16_t most)
{
	typedef int16_t words
	        __attribute__((vector_size(V16_LANES < 4 ? 16 : 4 * V16_LANES), aligned(1), may_alias));
	enum { FOUR = 4 * sizeof(words) };
	uint8_t last[FOUR] = {0};
	words bad[4] = {{0}};
	for (size_t i = 0; i < 2 * n; i += FOUR) {
		const uint8_t *at = grad + i;
		if (2 * n - i < FOUR)
			at = memcpy(last, at, 2 * n - i);
		for (size_t line = 0; line < FOUR; line += 64)
			prefetch(at + line, crumb_stream_prefetch);
		for (size_t k = 0; k < 4; k++)
			bad[k] |= (((const words *)at)[k] & 0x7FFF) > most;
	}
	bad[0] |= bad[1] | bad[2] | bad[3];
	int16_t any = 0;
	for (size_t k = 0; k < sizeof(words) / 2; k++)
		any = (int16_t)(any | bad[0][k]);
	return !any;
}

bool gradient_finite(const void *grad, size_t n, enum crumb_dtype type)
{
	enum { F16_MOST = 0x7BFF, BF16_MOST = 0x7B80 /* 2^120 */ };
	return type == CRUMB_F32 ? usable_32(grad, n)
	                         : usable_16(grad, n, type == CRUMB_F16 ? F16_MOST : BF16_MOST);
}
