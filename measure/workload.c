/* Gradients to measure with. Elements are products of two tables of random draws, which is fast and close
 * enough.
 *
 * SPDX-License-Identifier: MIT */
#include "measure/workload.h"

#include <math.h>

enum { TABLE_BITS = 12, TABLE = 1 << TABLE_BITS };

/* SplitMix64. */
static uint64_t next_bits(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static double next_uniform(uint64_t *state) /* above 0, up to 1 */
{
	return ((double)(next_bits(state) >> 11) + 1) * 0x1p-53;
}

static double next_gaussian(uint64_t *state)
{
	const double radius = sqrt(-2 * log(next_uniform(state)));
	return radius * cos(6.283185307179586 * next_uniform(state));
}

void workload_gradient(float *grad, size_t n, uint64_t seed)
{
	static float gaussian[TABLE], tail[TABLE];
	uint64_t shape = 1, state = seed;
	for (size_t i = 0; i < TABLE; i++) {
		gaussian[i] = (float)next_gaussian(&state);
		tail[i] = (float)exp(next_gaussian(&state));
	}
	for (size_t at = 0; at < n;) {
		const size_t size = (size_t)(4096 * pow(600, next_uniform(&shape)));
		const float sigma = (float)pow(10, -5 + 3 * next_uniform(&shape));
		const size_t end = n - at < size ? n : at + size;
		for (; at < end; at++) {
			const uint64_t bits = next_bits(&state);
			grad[at] = sigma * gaussian[bits % TABLE] * tail[(bits >> TABLE_BITS) % TABLE];
		}
	}
}
