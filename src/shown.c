/* What is great of a turn of r + g.
 *
 * SPDX-License-Identifier: MIT */
#include "shown.h"
#include "v16.h"

V16_FN void note(struct shown *shown, size_t *count, size_t from, uint32_t bits)
{
	shown->from[*count] = (uint16_t)from;
	shown->bits[*count] = bits;
	*count += bits != 0;
}

/* From a cache, runs are looked through when all bits of the turn are known, which is faster; from memory,
 * that would be time in which nothing is asked for. */
V16_FN size_t add_type(float *r, const void *grad, const enum crumb_dtype type, size_t first, size_t end,
                       float m, const bool cached, struct shown *shown)
{
	const v16f least = v16_set(m);
	uint32_t bits[SHOWN_TURN / SHOWN_RUN];
	size_t i = first, count = 0;
	for (; i + SHOWN_RUN <= end; i += SHOWN_RUN) {
		v16m in[2];
		for (size_t k = 0; k < 2; k++) {
			const size_t at = i + V16 * k;
			const v16f x = cached ? v16_add(v16_loadf(r + at), v16_load(type, grad, at))
			                      : v16_add(v16_streamf(r + at), v16_stream(type, grad, at));
			v16_storef(r + at, x);
			in[k] = v16_ge(v16_abs(x), least);
		}
		if (cached)
			bits[(i - first) / SHOWN_RUN] = v16_bits_of_two(in[0], in[1]);
		else
			note(shown, &count, i - first, v16_bits(in[0]) | v16_bits(in[1]) << V16);
	}
	for (size_t from = 0; cached && from < i - first; from += SHOWN_RUN)
		note(shown, &count, from, bits[from / SHOWN_RUN]);
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
	size_t elements = 0;
	for (size_t k = 0; k < count; k++)
		elements += (size_t)__builtin_popcount(shown->bits[k]);
	return elements;
}

size_t PER_ISA(shown_add)(float *r, const void *grad, enum crumb_dtype type, size_t first, size_t end,
                          float m, bool cached, struct shown *shown)
{
	if (V16_LANES >= 8 && type == CRUMB_F32 && cached)
		return add_type(r, grad, CRUMB_F32, first, end, m, true, shown);
#define ADD(TYPE) add_type(r, grad, TYPE, first, end, m, false, shown)
	V16_BY_TYPE(type, ADD);
}
