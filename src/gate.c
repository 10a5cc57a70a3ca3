/* The gate: what may enter a packer.
 *
 * SPDX-License-Identifier: MIT */
#include "gate.h"
#include "v16.h"

/* Four masks hide the latency of the comparison; a block of 4,096 elements with a bad one ends the search. */
V16_FN bool all_usable(const void *grad, size_t n, const enum crumb_dtype type)
{
	const v16f most = v16_set(0x1p120f);
	size_t i = 0;
	while (n - i >= 4 * V16) {
		const size_t end = n - i < 4096 ? i + (n - i) / (4 * V16) * (4 * V16) : i + 4096;
		v16m good[4] = {v16_mask(0xFFFF), v16_mask(0xFFFF), v16_mask(0xFFFF), v16_mask(0xFFFF)};
		for (; i < end; i += 4 * V16)
			for (int k = 0; k < 4; k++)
				good[k] = v16_both(
				        good[k],
				        v16_ge(most, v16_abs(v16_stream(type, grad, i + (size_t)k * V16))));
		if (v16_bits(v16_both(v16_both(good[0], good[1]), v16_both(good[2], good[3]))) != 0xFFFF)
			return false;
	}
	for (; i < n; i += V16) {
		const v16f x = n - i < V16 ? v16_load_few(type, grad, i, n - i) : v16_load(type, grad, i);
		if (!v16_usable(v16_abs(x)))
			return false;
	}
	return true;
}

bool PER_ISA(finite)(const void *grad, size_t n, enum crumb_dtype type)
{
#define FINITE(TYPE) all_usable(grad, n, TYPE)
	V16_BY_TYPE(type, FINITE);
}
