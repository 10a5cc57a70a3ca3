/* Loops that only move memory, the baselines of a codec's speed. They use the widest vectors that pay
 * (512-bit ones move memory no faster than 256-bit ones).
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASELINE_H
#define BASELINE_H

#include <stddef.h>

/* r[i] += g[i]: the lower bound of a codec with a residual. */
void baseline_add(float *r, const float *g, size_t n);

/* The sum of g, in any order: the lower bound of any codec. */
float baseline_sum(const float *g, size_t n);

/* acc[i] *= s: the lower bound of adding a frame to an accumulator. */
void baseline_scale(float *acc, float s, size_t n);

#endif
