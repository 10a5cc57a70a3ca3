/* CRC-32C of many blocks at once.
 *
 * One CRC is a chain of dependent crc32 instructions, three cycles each. With carry-less multiplication most
 * of a block (3,328 bytes with AVX-512, 1,216 with AVX2) is folded four vectors at a time (Gopal et al., Fast
 * CRC Computation Using PCLMULQDQ, 2009), while four parts of the rest go through the crc32 instruction in
 * parallel; products then move all five CRCs to the end of the block. Elsewhere four independent blocks go in
 * parallel. What is left of a payload goes alone.
 *
 * SPDX-License-Identifier: MIT */
#include "check/crc32c.h"
#include "v16/prefetch.h"
#include <string.h>

enum { BLOCK = 4096 };

#if defined(__SSE4_2__) && defined(__x86_64__) /* 32-bit code has no step of 8 bytes */
#include <immintrin.h>

static uint32_t step1(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }
static inline uint64_t word_at(const uint8_t *data)
{
	uint64_t x;
	memcpy(&x, data, sizeof x);
	return x;
}
static uint32_t step8(uint32_t crc, const uint8_t *data)
{
	return (uint32_t)_mm_crc32_u64(crc, word_at(data));
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

/* The preprocessor makes the table: an entry is its index, shifted out bit by bit. */
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

/* Continues the CRC of CRCs with a block's. */
static uint32_t append(uint32_t crc, uint32_t block)
{
	for (int i = 0; i < 4; i++)
		crc = step1(crc, (uint8_t)(block >> 8 * i));
	return crc;
}

uint32_t crc32c(const uint8_t *data, size_t size)
{
	uint32_t crc = ~0u;
	for (; size >= 8; size -= 8, data += 8)
		crc = step8(crc, data);
	for (; size; size--, data++)
		crc = step1(crc, *data);
	return ~crc;
}

#if defined(__PCLMUL__) && defined(__SSE4_2__) && defined(__x86_64__)

/* A block is divided into folded bytes and, after these, PARTS parts of equal length. Each of the steps folds
 * the next four vectors and takes words 8-byte words of each part. move: factors that move a CRC to the end
 * of the block, from the end of the folded bytes, from the ends of all parts but the last, and from the
 * block's start. */
enum { PARTS = 4 };
struct split {
	size_t steps, words;
	uint32_t move[PARTS + 1];
};

/* fold(x, by, next) moves each 128 bits of x over a distance and adds those of next. The factor for a
 * distance of b bits has x^(b + 32) and, above it, x^(b - 32) modulo the polynomial, bit-reversed and shifted
 * up by one. FAR: over four vectors; NEAR: over one. */

#if defined(__VPCLMULQDQ__) && defined(__AVX512F__)

typedef __m512i vector;
enum { WIDE = 64 };
static const struct split block = {12, 2, {0xd7a4825c, 0x271d9844, 0xd270f1a2, 0xab7aff2a, 0x82f89c77}};

static inline vector load(const uint8_t *data) { return _mm512_loadu_si512(data); }
static inline void store(uint8_t *data, vector x) { _mm512_storeu_si512(data, x); }
static inline vector factor(uint64_t high, uint64_t low)
{
	return _mm512_broadcast_i64x2(_mm_set_epi64x((long long)high, (long long)low));
}
static inline vector fold(vector x, vector by, vector next)
{
	enum { XOR_OF_THREE = 0x96 };
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, by, 0x00),
	                                 _mm512_clmulepi64_epi128(x, by, 0x11), next, XOR_OF_THREE);
}

#define FAR  factor(0xb9e02b86, 0xdcb17aa4)
#define NEAR factor(0x9e4addf8, 0x740eef02)

#else

typedef __m128i vector;
enum { WIDE = 16 };
static const struct split block = {18, 5, {0x465a4eee, 0x8e1450f7, 0x2342001e, 0x8227bb8a, 0x82f89c77}};

static inline vector load(const uint8_t *data) { return _mm_loadu_si128((const __m128i *)data); }
static inline void store(uint8_t *data, vector x) { _mm_storeu_si128((__m128i *)data, x); }
static inline vector factor(uint64_t high, uint64_t low)
{
	return _mm_set_epi64x((long long)high, (long long)low);
}
static inline vector fold(vector x, vector by, vector next)
{
	const __m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);
	return _mm_xor_si128(_mm_xor_si128(low, next), high);
}

#define FAR  factor(0x9e4addf8, 0x740eef02)
#define NEAR factor(0x14cd00bd6, 0xf20c0dfe)

#endif

enum { FOUR = 4 * WIDE, LINE = 64 };

/* Returns the CRC of four vectors, not inverted. */
static inline uint32_t crc_of(const vector x[4])
{
	uint64_t crc = 0;
	const vector near = NEAR;
	uint8_t last[WIDE];
	vector all = x[0];
	for (size_t k = 1; k < 4; k++)
		all = fold(all, near, x[k]);
	store(last, all);
	for (size_t i = 0; i < WIDE; i += 8)
		crc = _mm_crc32_u64(crc, word_at(last + i));
	return (uint32_t)crc;
}

/* Moves a CRC over b bits, up to a final reduction. by: x^(b - 33) modulo the polynomial, bit-reversed. */
static inline __m128i times(uint32_t crc, uint32_t by)
{
	return _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)crc), _mm_cvtsi32_si128((int)by), 0);
}

/* Returns the CRC of a block. */
static uint32_t block_crc(const uint8_t *data)
{
	const size_t taken = 8 * block.words * PARTS, part_size = 8 * block.words * block.steps,
	             folded = FOUR * (block.steps + 1);
	const vector far = FAR;
	uint64_t part[PARTS] = {0};
	vector x[4];
	for (size_t k = 0; k < 4; k++)
		x[k] = load(data + WIDE * k);
	for (size_t step = 0; step < block.steps; step++) {
		const uint8_t *const next = data + FOUR * (step + 1), *const word = data + folded +
		                                                                    8 * block.words * step;
		for (size_t i = 0; i < FOUR; i += LINE)
			prefetch(next + i, 2 * crumb_stream_prefetch);
		for (size_t i = 0; i < taken; i += LINE)
			prefetch(data + folded + taken * step + i, 2 * crumb_stream_prefetch);
		for (size_t k = 0; k < 4; k++)
			x[k] = fold(x[k], far, load(next + WIDE * k));
#pragma GCC unroll 48
		for (size_t i = 0; i < PARTS * block.words; i++) {
			const size_t k = i % PARTS;
			part[k] = _mm_crc32_u64(part[k], word_at(word + k * part_size + i / PARTS * 8));
		}
	}
	__m128i moved = _mm_xor_si128(times(~0u, block.move[PARTS]), times(crc_of(x), block.move[0]));
#pragma GCC unroll 4
	for (size_t k = 0; k + 1 < PARTS; k++)
		moved = _mm_xor_si128(moved, times((uint32_t)part[k], block.move[k + 1]));
	return ~((uint32_t)part[PARTS - 1] ^ (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(moved)));
}

enum { AT_ONCE = 1 };

/* Continues the CRC of CRCs with those of AT_ONCE whole blocks. */
static uint32_t append_blocks(uint32_t all, const uint8_t *data) { return append(all, block_crc(data)); }

#else

enum { AT_ONCE = 4 };

static uint32_t append_blocks(uint32_t all, const uint8_t *data)
{
	uint32_t crc[AT_ONCE] = {~0u, ~0u, ~0u, ~0u};
	for (size_t i = 0; i < BLOCK; i += 8)
		for (size_t k = 0; k < AT_ONCE; k++)
			crc[k] = step8(crc[k], data + k * BLOCK + i);
	for (size_t k = 0; k < AT_ONCE; k++)
		all = append(all, ~crc[k]);
	return all;
}

#endif

uint32_t crc32c_blocks(uint32_t before, const uint8_t *data, size_t size)
{
	uint32_t all = ~before;
	for (; size >= AT_ONCE * BLOCK; size -= AT_ONCE * BLOCK, data += AT_ONCE * BLOCK)
		all = append_blocks(all, data);
	for (size_t here; size; size -= here, data += here) {
		here = size < BLOCK ? size : BLOCK;
		all = append(all, crc32c(data, here));
	}
	return ~all;
}
