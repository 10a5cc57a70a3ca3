/* CRC-32C of many blocks at once.
 *
 * One CRC is a chain of dependent steps, three cycles each with the CPU's instruction. Where there is a
 * carry-less product, most of a block is folded instead with AVX-512, and three tenths with AVX2, whose
 * vectors are shorter: four vectors on to the next four, until four are left (Gopal et al., Fast
 * CRC Computation Using PCLMULQDQ, 2009). Meanwhile four parts of the rest go side by side by the
 * instruction, or eight on a CPU that has more of those, and such products move all CRCs to the end.
 * Elsewhere blocks, which are independent, go four side by side, or two of what is left.
 *
 * SPDX-License-Identifier: MIT */
#include "check/crc32c.h"
#include "v16/prefetch.h"
#include <string.h>
#ifdef __PCLMUL__
#include <immintrin.h>
#endif

enum { BLOCK = 4096 };

#ifdef __SSE4_2__
#include <nmmintrin.h>

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

/* The CRC of bytes, those before which have that CRC, together with these; 0 if there are none before. */
static uint32_t go_on(uint32_t crc, const uint8_t *data, size_t size)
{
	crc = ~crc;
	for (; size >= 8; size -= 8, data += 8)
		crc = step8(crc, data);
	for (; size; size--, data++)
		crc = step1(crc, *data);
	return ~crc;
}

uint32_t crc32c(const uint8_t *data, size_t size) { return go_on(0, data, size); }

#ifdef __PCLMUL__

/* fold: what 128 bits are worth so many bits further on, added to what stands there. A factor has x^(bits +
 * 32) and, above it, x^(bits - 32) modulo the polynomial, their 32 bits in reverse and shifted up by one. */

/* A step folds the next four vectors and takes some words of each of the parts, which follow what is folded.
 * move: to the end of all, from the ends of what is folded and of all parts but the last, and from the end
 * before. */
enum { PARTS = 8 /* at most */ };
struct split {
	size_t steps, parts, words;
	uint32_t move[PARTS + 1];
};

#if defined(__VPCLMULQDQ__) && defined(__AVX512F__)

typedef __m512i vector;
enum { WIDE = 64, MEANWHILE = 0 /* bytes on is the block that is copied while one is summed up */ };
static const struct split block = {12, 4, 2, {0xd7a4825c, 0x271d9844, 0xd270f1a2, 0xab7aff2a, 0x82f89c77}};
static const struct split block_in_pairs = {.steps = 6,
                                            .parts = 8,
                                            .words = 6,
                                            .move = {0xbedc6ba1, 0x45cddf4e, 0x00bcf5f6, 0x2342001e,
                                                     0x86d8e4d2, 0x98d8d9cb, 0x271d9844, 0xb6dd949b,
                                                     0x82f89c77}};

static inline vector load(const uint8_t *data) { return _mm512_loadu_si512(data); }
static inline void store(uint8_t *data, vector x) { _mm512_storeu_si512(data, x); }
static inline vector factor(uint64_t high, uint64_t low)
{
	return _mm512_broadcast_i64x2(_mm_set_epi64x((long long)high, (long long)low));
}
static inline vector fold(vector x, vector by, vector there)
{
	enum { XOR_OF_THREE = 0x96 };
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, by, 0x00),
	                                 _mm512_clmulepi64_epi128(x, by, 0x11), there, XOR_OF_THREE);
}

static inline vector with_crc(vector x, uint32_t crc)
{
	return _mm512_xor_si512(x, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
}

#define FAR  factor(0xb9e02b86, 0xdcb17aa4)
#define NEAR factor(0x9e4addf8, 0x740eef02)

#else

typedef __m128i vector;
enum { WIDE = 16, MEANWHILE = BLOCK };
static const struct split block = {18, 4, 5, {0x465a4eee, 0x8e1450f7, 0x2342001e, 0x8227bb8a, 0x82f89c77}};
static const struct split block_in_pairs = {.steps = 9,
                                            .parts = 8,
                                            .words = 6,
                                            .move = {0x7f47463d, 0x47972100, 0xb3a6da94, 0x8e1450f7,
                                                     0x00bcf5f6, 0x4597456a, 0x98d8d9cb, 0x65863b64,
                                                     0x82f89c77}};
enum { KIB = 1024 };
static const struct split kib = {5, 4, 4, {0x6b749fb2, 0xb3e32c28, 0xbac2fd7b, 0x878a92a7, 0x170076fa}};

static inline vector load(const uint8_t *data) { return _mm_loadu_si128((const __m128i *)data); }
static inline void store(uint8_t *data, vector x) { _mm_storeu_si128((__m128i *)data, x); }
static inline vector factor(uint64_t high, uint64_t low)
{
	return _mm_set_epi64x((long long)high, (long long)low);
}
static inline vector fold(vector x, vector by, vector there)
{
	const __m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);
	return _mm_xor_si128(_mm_xor_si128(low, there), high);
}

static inline vector with_crc(vector x, uint32_t crc)
{
	return _mm_xor_si128(x, _mm_cvtsi32_si128((int)crc));
}

#define FAR  factor(0x9e4addf8, 0x740eef02)
#define NEAR factor(0x14cd00bd6, 0xf20c0dfe)

#endif

enum { FOUR = 4 * WIDE, LINE = 64 };

/* What four vectors are worth. */
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

/* What a CRC is worth so many bits further on, but for a last division. by: x^(bits - 33) modulo the
 * polynomial, in reverse. */
static inline __m128i times(uint32_t crc, uint32_t by)
{
	return _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)crc), _mm_cvtsi32_si128((int)by), 0);
}

/* memcpy, which compilers make slow for some sizes. */
static inline __attribute__((always_inline)) void copy_vectors(uint8_t *to, const uint8_t *from,
                                                               const size_t size)
{
	enum { LONGEST = WIDE > 32 ? WIDE : 32 };
	typedef uint8_t longest __attribute__((vector_size(LONGEST), aligned(1), may_alias));
	for (size_t i = 0; i < size; i += LONGEST)
		*(longest *)(to + i) = *(const longest *)(from + i);
}

/* Goes on with a CRC by as many bytes as are split. copy: NULL, or where the block that is MEANWHILE bytes
 * further on goes; it comes from a cache, and is not asked for ahead. */
static inline __attribute__((always_inline)) uint32_t go_on_by(const struct split split, uint32_t crc,
                                                               const uint8_t *data, uint8_t *copy)
{
	enum { PIECE = 512 };
	const size_t taken = 8 * split.words * split.parts, part_size = 8 * split.words * split.steps,
	             folded = FOUR * (split.steps + 1);
	const vector far = FAR;
	uint64_t part[PARTS] = {0};
	vector x[4];
	for (size_t k = 0; k < 4; k++)
		x[k] = load(data + WIDE * k);
	if (copy && MEANWHILE == 0)
		copy_vectors(copy, data, FOUR);
	for (size_t step = 0; step < split.steps; step++) {
		const size_t next_at = FOUR * (step + 1), taken_at = folded + taken * step;
		const uint8_t *const next = data + next_at, *const word =
		                                                    data + folded + 8 * split.words * step;
		for (size_t i = 0; !copy && i < FOUR; i += LINE)
			prefetch(next + i, 2 * crumb_stream_prefetch);
		for (size_t i = 0; !copy && i < taken; i += LINE)
			prefetch(data + taken_at + i, 2 * crumb_stream_prefetch);
		if (copy && MEANWHILE == 0) {
			copy_vectors(copy + next_at, next, FOUR);
			copy_vectors(copy + taken_at, data + taken_at, taken);
		} else if (copy && step < BLOCK / PIECE) {
			copy_vectors(copy + PIECE * step, data + MEANWHILE + PIECE * step, PIECE);
		}
		for (size_t k = 0; k < 4; k++)
			x[k] = fold(x[k], far, load(next + WIDE * k));
#pragma GCC unroll 48
		for (size_t i = 0; i < split.parts * split.words; i++) {
			const size_t k = i % split.parts;
			part[k] = _mm_crc32_u64(part[k], word_at(word + k * part_size + i / split.parts * 8));
		}
	}
	__m128i moved = _mm_xor_si128(times(crc, split.move[split.parts]), times(crc_of(x), split.move[0]));
#pragma GCC unroll 8
	for (size_t k = 0; k + 1 < split.parts; k++)
		moved = _mm_xor_si128(moved, times((uint32_t)part[k], split.move[k + 1]));
	return (uint32_t)part[split.parts - 1] ^
	       (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(moved));
}

/* Goes on with a CRC by whole fours of vectors, at least one; returns how many bytes these are. */
static size_t go_on_fours(uint32_t *crc, const uint8_t *data, size_t size)
{
	const vector far = FAR;
	vector x[4];
	size_t i = FOUR;
	for (size_t k = 0; k < 4; k++)
		x[k] = load(data + WIDE * k);
	x[0] = with_crc(x[0], *crc);
	for (; i + FOUR <= size; i += FOUR) {
		for (size_t line = 0; line < FOUR; line += LINE)
			prefetch(data + i + line, 2 * crumb_stream_prefetch);
		for (size_t k = 0; k < 4; k++)
			x[k] = fold(x[k], far, load(data + i + WIDE * k));
	}
	*crc = crc_of(x);
	return i;
}

/* The CRC of a block, which may be the last and short. copy: as above, of a whole block. */
static uint32_t block_crc(const uint8_t *data, size_t size, uint8_t *copy)
{
	uint32_t crc = ~0u;
	size_t i = 0;
	if (size == BLOCK && copy) /* itself copied, it is summed no faster in eight parts */
		return ~(crumb_crc_in_pairs && MEANWHILE != 0 ? go_on_by(block_in_pairs, crc, data, copy)
		                                              : go_on_by(block, crc, data, copy));
	if (size == BLOCK)
		return ~(crumb_crc_in_pairs ? go_on_by(block_in_pairs, crc, data, NULL)
		                            : go_on_by(block, crc, data, NULL));
#ifndef __AVX512F__
	for (; i + KIB <= size; i += KIB)
		crc = go_on_by(kib, crc, data + i, NULL);
#endif
	if (i + FOUR <= size)
		i += go_on_fours(&crc, data + i, size - i);
	return go_on(~crc, data + i, size - i);
}

uint32_t crc32c_blocks(uint32_t before, const uint8_t *data, size_t size, uint8_t *copy)
{
	uint32_t all = ~before;
	size_t copied = 0;
	for (size_t i = 0, here; i < size; i += here) {
		here = size - i < BLOCK ? size - i : BLOCK;
		uint8_t *const meanwhile =
		        copy && size - i >= MEANWHILE + BLOCK ? copy + i + MEANWHILE : NULL;
		const bool copies_itself = meanwhile && MEANWHILE == 0;
		if (copy && copied == i && !copies_itself) {
			memcpy(copy + i, data + i, here);
			copied += here;
		}
		all = append(all, block_crc(data + i, here, meanwhile));
		copied += meanwhile ? BLOCK : 0;
	}
	return ~all;
}

#else

enum { SIDE = 4 };

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

uint32_t crc32c_blocks(uint32_t before, const uint8_t *data, size_t size, uint8_t *copy)
{
	uint32_t all = ~before;
	if (copy)
		memcpy(copy, data, size);
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

#endif
