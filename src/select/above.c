/* The bitmask of large elements of a chunk.
 *
 * SPDX-License-Identifier: MIT */
#include "select/above.h"

V16_FN void add_type(float *r, const void *grad, const enum crumb_dtype type, size_t first, size_t n, float t,
                     struct above *above)
{
	enum { PAIR = 2 * V16 };
	const v16f threshold = v16_set(t);
	const size_t end = n - first < ABOVE_CHUNK ? n : first + ABOVE_CHUNK;
	uint16_t *bits = above->bits;
	size_t i = first, count = 0;
	for (; i + PAIR <= end; i += PAIR, bits += 2) {
		v16m large[2];
		for (size_t k = 0; k < 2; k++) {
			const size_t at = i + V16 * k;
			const v16f x = v16_add(v16_streamf(r + at), v16_stream(type, grad, at));
			v16_storef(r + at, x);
			large[k] = v16_ge(v16_abs(x), threshold);
		}
		const uint32_t both = v16_bits_of_two(large[0], large[1]);
		put_u32((uint8_t *)bits, both);
		count += (size_t)__builtin_popcount(both);
	}
	for (; i < end; i += V16) {
		const size_t rest = end - i < V16 ? end - i : V16;
		const v16f x = v16_add(v16_loadf_partial(r + i, rest), v16_load_partial(type, grad, i, rest));
		v16_storef_partial(r + i, x, rest);
		/* Zeros may reach t where a thread flushes subnormal numbers (base/float_env.h). */
		*bits = (uint16_t)(v16_bits(v16_ge(v16_abs(x), threshold)) & v16_first(rest));
		count += (size_t)__builtin_popcount(*bits++);
	}
	above->end = end;
	above->count = count;
	above->groups = (size_t)(bits - above->bits);
}

void above_add(float *r, const void *grad, enum crumb_dtype type, size_t first, size_t n, float t,
               struct above *above)
{
#define ADD(TYPE) add_type(r, grad, TYPE, first, n, t, above)
	V16_BY_TYPE(type, ADD);
}
