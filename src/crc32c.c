/* CRC-32C of many blocks at once.
 *
 * One CRC is a chain of dependent steps, three cycles each with the CPU's instruction; blocks of the payload
 * are independent, so four of them go side by side, or two of what is left.
 *
 * SPDX-License-Identifier: MIT */
#include "crc32c.h"
#include <string.h>

enum { BLOCK = 4096, SIDE = 4 };

#ifdef __SSE4_2__
#include <nmmintrin.h>

static uint32_t step1(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }
static uint32_t step8(uint32_t crc, const uint8_t *data)
{
	uint64_t x;
	memcpy(&x, data, sizeof x);
	return (uint32_t)_mm_crc32_u64(crc, x);
}

#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>

static uint32_t step1(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }
static uint32_t step8(uint32_t crc, const uint8_t *data)
{
	uint64_t x;
	memcpy(&x, data, sizeof x);
	return __crc32cd(crc, x);
}

#else

/* The table by the preprocessor: an entry is its number, shifted out bit by bit. */
#define T1(c)  ((c) >> 1 ^ ((c)&1 ? 0x82F63B78u : 0u))
#define T2(c)  T1(T1(c))
#define T4(c)  T2(T2(c))
#define T8(c)  T4(T4(c))
#define R4(c)  T8((c) + 0u), T8((c) + 1u), T8((c) + 2u), T8((c) + 3u)
#define R16(c) R4(c), R4((c) + 4u), R4((c) + 8u), R4((c) + 12u)
#define R64(c) R16(c), R16((c) + 16u), R16((c) + 32u), R16((c) + 48u)
static const uint32_t table[256] = {R64(0u), R64(64u), R64(128u), R64(192u)};

static uint32_t step1(uint32_t crc, uint8_t byte) { return crc >> 8 ^ table[(crc ^ byte) & 0xFF]; }
static uint32_t step8(uint32_t crc, const uint8_t *data)
{
	for (int i = 0; i < 8; i++)
		crc = step1(crc, data[i]);
	return crc;
}

#endif

/* Goes on with a CRC by the four bytes of another one. */
static uint32_t append(uint32_t crc, uint32_t block)
{
	for (int i = 0; i < 4; i++)
		crc = step1(crc, (uint8_t)(block >> 8 * i));
	return crc;
}

/* Goes on with a CRC by those of so many blocks, the last of which has so many bytes. */
static inline __attribute__((always_inline)) uint32_t append_blocks(uint32_t all, const uint8_t *data,
                                                                    const size_t count, size_t last)
{
	uint32_t crc[SIDE] = {~0u, ~0u, ~0u, ~0u};
	size_t i = 0;
	for (; i + 8 <= last; i += 8)
		for (size_t k = 0; k < count; k++)
			crc[k] = step8(crc[k], data + k * BLOCK + i);
	for (size_t byte = i; byte < last; byte++)
		crc[count - 1] = step1(crc[count - 1], data[(count - 1) * BLOCK + byte]);
	for (; i < BLOCK; i += 8)
		for (size_t k = 0; k < count - 1; k++)
			crc[k] = step8(crc[k], data + k * BLOCK + i);
	for (size_t k = 0; k < count; k++)
		all = append(all, ~crc[k]);
	return all;
}

uint32_t PER_ISA(checksum)(const uint8_t *data, size_t size)
{
	uint32_t all = ~0u;
	for (size_t here; size; data += here, size -= here) {
		if (size >= SIDE * BLOCK) {
			here = SIDE * BLOCK;
			all = append_blocks(all, data, SIDE, BLOCK);
		} else if (size > BLOCK) {
			here = size < 2 * BLOCK ? size : 2 * BLOCK;
			all = append_blocks(all, data, 2, here - BLOCK);
		} else {
			here = size;
			all = append_blocks(all, data, 1, here);
		}
	}
	return ~all;
}
