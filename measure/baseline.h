/* Loops that do nothing but move memory: what a codec's speed is measured against. They use the widest
 * vectors that pay (512-bit ones move memory no faster than 256-bit ones).
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASELINE_H
#define BASELINE_H

#include <stddef.h>

/* r[i] += g[i]: the least that a codec with a residual can do. */
void floor_add(float *r, const float *g, size_t n);

/* The sum of g, in no particular order: the least that any codec can do. */
float floor_sum(const float *g, size_t n);

/* acc[i] *= s: the least that adding a frame to an accumulator can do. */
void floor_scale(float *acc, float s, size_t n);

#endif
