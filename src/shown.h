/* A turn of packing in which few elements matter: r += g, and which are then great.
 *
 * Most runs of 32 have none, and those that have are found by a loop without a branch that could be
 * mispredicted.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SHOWN_H
#define SHOWN_H

#include "v16.h"

enum { SHOWN_TURN = 1024, SHOWN_RUN = 2 * V16 };

/* Of a turn, the runs in which some are great, and which these are. */
struct shown {
	size_t count;
	uint16_t from[SHOWN_TURN / SHOWN_RUN]; /* the turn's first element on */
	uint32_t bits[SHOWN_TURN / SHOWN_RUN];
};

/* r += grad of elements first to end - 1, a turn, and shows what is then of magnitude m > 0 or more. */
V16_FN void shown_add(float *r, const void *grad, const enum crumb_dtype type, size_t first, size_t end,
                      float m, struct shown *shown)
{
	const v16f least = v16_set(m);
	size_t i = first, count = 0;
	for (; i + SHOWN_RUN <= end; i += SHOWN_RUN) {
		v16m in[2];
		for (size_t k = 0; k < 2; k++) {
			const size_t at = i + V16 * k;
			const v16f x = v16_add(v16_streamf(r + at), v16_stream(type, grad, at));
			v16_storef(r + at, x);
			in[k] = v16_ge(v16_abs(x), least);
		}
		shown->from[count] = (uint16_t)(i - first);
		shown->bits[count] = v16_bits(in[0]) | v16_bits(in[1]) << V16;
		count += shown->bits[count] != 0;
	}
	if (i < end) {
		shown->from[count] = (uint16_t)(i - first);
		shown->bits[count] = 0;
		for (size_t at = i; at < end; at += V16) {
			const size_t few = end - at < V16 ? end - at : V16;
			const v16f x = v16_add(v16_loadf_few(r + at, few), v16_load_few(type, grad, at, few));
			v16_storef_few(r + at, x, few);
			/* Zeros, too, reach the least magnitude where subnormal numbers are taken for zeros.
			 */
			const uint32_t in = v16_bits(v16_ge(v16_abs(x), least)) & v16_first(few);
			shown->bits[count] |= in << (at - i);
		}
		count += shown->bits[count] != 0;
	}
	shown->count = count;
}

/* How many elements are shown. */
static inline size_t shown_elements(const struct shown *shown)
{
	size_t all = 0;
	for (size_t k = 0; k < shown->count; k++)
		all += (size_t)__builtin_popcount(shown->bits[k]);
	return all;
}

#endif
