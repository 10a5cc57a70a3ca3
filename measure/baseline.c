/* Loops that only move memory. Each is written once and compiled twice on x86-64.
 *
 * SPDX-License-Identifier: MIT */
#include "measure/baseline.h"

#define INLINE static inline __attribute__((always_inline))

INLINE void add(float *restrict r, const float *restrict g, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r[i] += g[i];
}

/* Sixty-four partial sums: enough ILP to hide the latency of additions. */
INLINE float sum(const float *g, size_t n)
{
	typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));
	enum { LANES = 8, SUMS = 8 };
	vector part[SUMS] = {{0}};
	size_t i = 0;
	for (; i + LANES * SUMS <= n; i += LANES * SUMS)
		for (int k = 0; k < SUMS; k++)
			part[k] += *(const vector *)(g + i + LANES * k);
	float total = 0;
	for (; i < n; i++)
		total += g[i];
	for (int k = 0; k < SUMS; k++)
		for (int lane = 0; lane < LANES; lane++)
			total += part[k][lane];
	return total;
}

INLINE void scale(float *acc, float s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		acc[i] *= s;
}

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2")))

AVX2 static void add_avx2(float *r, const float *g, size_t n) { add(r, g, n); }

AVX2 static float sum_avx2(const float *g, size_t n) { return sum(g, n); }

AVX2 static void scale_avx2(float *acc, float s, size_t n) { scale(acc, s, n); }

void baseline_add(float *r, const float *g, size_t n)
{
	(__builtin_cpu_supports("avx2") ? add_avx2 : add)(r, g, n);
}

float baseline_sum(const float *g, size_t n)
{
	return (__builtin_cpu_supports("avx2") ? sum_avx2 : sum)(g, n);
}

void baseline_scale(float *acc, float s, size_t n)
{
	(__builtin_cpu_supports("avx2") ? scale_avx2 : scale)(acc, s, n);
}
#else
void baseline_add(float *r, const float *g, size_t n) { add(r, g, n); }

float baseline_sum(const float *g, size_t n) { return sum(g, n); }

void baseline_scale(float *acc, float s, size_t n) { scale(acc, s, n); }
#endif
