/* What is great of a turn of r + g.
 *
 * SPDX-License-Identifier: MIT */
#include "select/above.h"

V16_FN void add_type(float *r, const void *grad, const enum crumb_dtype type, size_t first, size_t n, float m,
                     size_t most, const bool cached, struct above *above)
{
	enum { PAIR = 2 * V16, RUN = 512, TURN_OF_MEMORY = 1024 };
	const v16f least = v16_set(m);
	const size_t turn = cached ? ABOVE_CHUNK : TURN_OF_MEMORY, end = n - first < turn ? n : first + turn;
	uint16_t *bits = above->bits;
	size_t i = first, count = 0;
	while (end - i >= PAIR && count <= most) {
		const size_t stop = end - i < RUN ? end - (end - i) % PAIR : i + RUN;
		for (; i < stop; i += PAIR, bits += 2) {
			v16m in[2];
			for (size_t k = 0; k < 2; k++) {
				const size_t at = i + V16 * k;
				const v16f x =
				        cached ? v16_add(v16_loadf(r + at), v16_load(type, grad, at))
				               : v16_add(v16_streamf(r + at), v16_stream(type, grad, at));
				v16_storef(r + at, x);
				in[k] = v16_ge(v16_abs(x), least);
			}
			const uint32_t both = v16_bits_of_two(in[0], in[1]);
			put_u32((uint8_t *)bits, both);
			count += (size_t)__builtin_popcount(both);
		}
	}
	for (; i < end && end - i < PAIR; i += V16) {
		const size_t few = end - i < V16 ? end - i : V16;
		const v16f x = v16_add(v16_loadf_partial(r + i, few), v16_load_partial(type, grad, i, few));
		v16_storef_partial(r + i, x, few);
		/* Zeros, too, reach the least magnitude where subnormal numbers are taken for zeros. */
		*bits = (uint16_t)(v16_bits(v16_ge(v16_abs(x), least)) & v16_first(few));
		count += (size_t)__builtin_popcount(*bits++);
	}
	above->end = i < end ? i : end;
	above->count = count;
	above->groups = (size_t)(bits - above->bits);
	*bits = 0;
}

void above_add(float *r, const void *grad, enum crumb_dtype type, size_t first, size_t n, float m,
               size_t most, bool cached, struct above *above)
{
	if (V16_LANES >= 8 && type == CRUMB_F32 && cached) {
		add_type(r, grad, CRUMB_F32, first, n, m, most, true, above);
		return;
	}
#define ADD(TYPE) add_type(r, grad, TYPE, first, n, m, most, false, above)
	V16_BY_TYPE(type, ADD);
}
