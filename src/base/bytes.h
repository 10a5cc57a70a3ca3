/* Byte access to frames, which are little-endian and not aligned, and the bits of floats.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BYTES_H
#define BYTES_H

#include "base/arithmetic.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if a packer takes the value: it is finite, and adding a residual cannot overflow. */
static inline bool usable(float x) { return x <= 0x1p120f && x >= -0x1p120f; }

static inline float float_of_bits(uint32_t bits)
{
	float x;
	__builtin_memcpy(&x, &bits, sizeof x);
	return x;
}
static inline uint32_t bits_of_float(float x)
{
	uint32_t bits;
	__builtin_memcpy(&bits, &x, sizeof bits);
	return bits;
}
static inline float get_f32(const uint8_t *src)
{
	float x;
	__builtin_memcpy(&x, src, sizeof x);
	return x;
}

static inline uint32_t get_u32(const uint8_t *src)
{
	uint32_t x;
	__builtin_memcpy(&x, src, sizeof x);
	return x;
}
static inline uint16_t get_u16(const uint8_t *src)
{
	uint16_t x;
	__builtin_memcpy(&x, src, sizeof x);
	return x;
}
static inline uint8_t *put_f32(uint8_t *dst, float x)
{
	__builtin_memcpy(dst, &x, sizeof x);
	return dst + sizeof x;
}
static inline uint8_t *put_u32(uint8_t *dst, uint32_t x)
{
	__builtin_memcpy(dst, &x, sizeof x);
	return dst + sizeof x;
}
static inline uint8_t *put_u16(uint8_t *dst, uint16_t x)
{
	__builtin_memcpy(dst, &x, sizeof x);
	return dst + sizeof x;
}

/* Returns true for more elements than any codec takes: on 32-bit hosts sizes might wrap. */
static inline bool too_many(uint64_t n) { return n >> 48 || n > SIZE_MAX / 64; }

static inline size_t divide_up(size_t a, size_t b) { return a / b + (a % b != 0); }

#endif
