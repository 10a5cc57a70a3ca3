/* Codes, the numbers of elements' levels, at fixed width or as symbols (doc/FORMAT.md, qsgd).
 *
 * SPDX-License-Identifier: MIT */
#ifndef LEVELS_CODES_H
#define LEVELS_CODES_H

#include "payload/levels.h"
#include "coding/blocks.h"
#include "v16/v16.h"

/* Functions too long to be inlined, of which a file may use some. */
#define CODES_FN __attribute__((unused)) static

enum { GROUPS = LEVELS_BLOCK / V16 };

/* ---- fixed width ---------------------------------------------------------------------------- */

/* Returns the bits of a number above 0. */
static inline unsigned bit_width(uint32_t x) { return 32u - (unsigned)__builtin_clz(x); }

/* Returns the bytes of n codes of at most four bits: in a block of 128 the eight codes of a lane are one
 * number, whose bytes go to planes of sixteen bytes. */
static inline size_t plane_bytes(unsigned bits, size_t n)
{
	return V16 * divide_up(bits * divide_up(n, V16), 8);
}

/* Codes of more than four bits are written in two parts: the low four bits of all codes, then the others. */
static inline size_t fixed_bytes(unsigned bits, size_t n)
{
	return bits <= 4 ? plane_bytes(bits, n) : plane_bytes(4, n) + plane_bytes(bits - 4, n);
}

V16_FN void split_codes(v16i code[GROUPS], v16i x, const unsigned bits)
{
	for (int g = 0; g < GROUPS; g++, x = v16_shr(x, (int)bits))
		code[g] = v16_andi(x, v16_seti((1u << bits) - 1));
}

/* Calls a macro with bits, 1 to 4, as a constant. */
#define BY_BITS(bits, CALL) ((bits) == 1 ? CALL(1) : (bits) == 2 ? CALL(2) : (bits) == 3 ? CALL(3) : CALL(4))

/* Loads the lanes' numbers from the planes of a block. */
V16_FN v16i load_lanes(const uint8_t *src, size_t planes)
{
	v16i x = v16_seti(0);
	while (planes-- > 0)
		x = v16_ori(v16_shl(x, 8), v16_load_u8(src + V16 * planes));
	return x;
}

CODES_FN const uint8_t *load_block(const uint8_t *src, v16i code[GROUPS], size_t groups, unsigned bits)
{
	const size_t planes = divide_up(bits * groups, 8);
	const v16i x = load_lanes(src, planes);
#define SPLIT(BITS) split_codes(code, x, BITS)
	BY_BITS(bits, SPLIT);
	return src + V16 * planes;
}

/* Codes being written. */
struct codes_out {
	unsigned bits;
	uint8_t *low, *high;
	v16i low_lanes, high_lanes; /* the current block's codes, those of a lane joined */
};

/* Joins the codes of group g to those of the groups before. With P_HAS_SHIFT_IN, one instruction, codes come
 * in at the top and end there (joined_lanes shifts them down); without, each code goes to its place from the
 * bottom. */
V16_FN v16i join_lanes(v16i lanes, v16i code, unsigned bits, size_t g)
{
#ifdef P_HAS_SHIFT_IN
	(void)g;
	return v16_shift_in(lanes, code, bits);
#else
	return v16_ori(lanes, v16_shl(code, (int)(bits * g)));
#endif
}
V16_FN v16i joined_lanes(v16i lanes, unsigned bits)
{
#ifdef P_HAS_SHIFT_IN
	return v16_shr(lanes, (int)(32 - GROUPS * bits));
#else
	(void)bits;
	return lanes;
#endif
}
/* Joins the codes of the block's group g. wide: codes have more than four bits. */
V16_FN void codes_join(struct codes_out *c, v16i code, size_t g, const bool wide)
{
	if (wide) {
		c->high_lanes = join_lanes(c->high_lanes, v16_shr(code, 4), c->bits - 4, g);
		c->low_lanes = join_lanes(c->low_lanes, v16_andi(code, v16_seti(15)), 4, g);
	} else {
		c->low_lanes = join_lanes(c->low_lanes, code, c->bits, g);
	}
}

/* Writes the codes of a block's count elements; codes past these are dropped. */
V16_FN uint8_t *store_lanes(uint8_t *dst, v16i *lanes, unsigned bits, size_t count)
{
	v16i x = joined_lanes(*lanes, bits);
	if (count < LEVELS_BLOCK) {
		uint32_t keep[V16];
		for (size_t lane = 0; lane < V16; lane++)
			keep[lane] = (uint32_t)((UINT64_C(1) << (count + V16 - 1 - lane) / V16 * bits) - 1);
		x = v16_andi(x, v16_loadi(keep));
	}
	for (size_t planes = divide_up(bits * divide_up(count, V16), 8); planes > 0; planes--, dst += V16) {
		v16_store_u8(dst, v16_andi(x, v16_seti(255)));
		x = v16_shr(x, 8);
	}
	*lanes = v16_seti(0);
	return dst;
}

/* Writes a block of which count elements are the tensor's. */
V16_FN void codes_store(struct codes_out *c, size_t count)
{
	c->low = store_lanes(c->low, &c->low_lanes, c->bits < 4 ? c->bits : 4, count);
	if (c->bits > 4)
		c->high = store_lanes(c->high, &c->high_lanes, c->bits - 4, count);
}

/* Codes being read. */
struct codes_in {
	unsigned bits;
	const uint8_t *low, *high;
};

CODES_FN void codes_load(struct codes_in *c, v16i code[GROUPS], size_t groups)
{
	c->low = load_block(c->low, code, groups, c->bits < 4 ? c->bits : 4);
	if (c->bits > 4) {
		v16i high[GROUPS];
		c->high = load_block(c->high, high, groups, c->bits - 4);
		for (int g = 0; g < GROUPS; g++)
			code[g] = v16_ori(code[g], v16_shl(high[g], 4));
	}
}

/* Returns true if a code of four bits in [src, end) has all its bits set. */
CODES_FN bool codes_full_4(const uint8_t *src, const uint8_t *end)
{
	uint8_t max = 0, max_low = 0;
	for (; src < end; src++) {
		const uint8_t low = *src & 0xF;
		max = *src > max ? *src : max;
		max_low = low > max_low ? low : max_low;
	}
	return max >= 0xF0 || max_low == 0xF;
}

/* ---- symbols -------------------------------------------------------------------------------- */

/* Returns the symbols of n elements: whole blocks, in which codes past the last element are 0. */
static inline size_t symbol_count(size_t n) { return LEVELS_BLOCK * divide_up(n, LEVELS_BLOCK); }

V16_FN void symbols_of(const uint8_t *codes, size_t groups, uint8_t *symbol, unsigned bits)
{
	typedef uint8_t bytes __attribute__((vector_size(V16), aligned(1), may_alias));
	const bytes *plane = (const bytes *)codes;
	bytes *to = (bytes *)symbol;
	for (size_t g = 0; g < groups; g += GROUPS, plane += bits)
		for (unsigned k = 0; k < GROUPS; k++) {
			const unsigned byte = bits * k / 8, bit = bits * k % 8;
			bytes x = plane[byte] >> (uint8_t)bit;
			if (bit + bits > 8)
				x |= plane[byte + 1] << (uint8_t)(8 - bit);
			*to++ = x & (uint8_t)((1u << bits) - 1);
		}
}
#define SYMBOLS_OF(bits)                                                                           \
	static inline void symbols_of_##bits(const uint8_t *codes, size_t groups, uint8_t *symbol) \
	{                                                                                          \
		symbols_of(codes, groups, symbol, bits);                                           \
	}
// clang-format off
SYMBOLS_OF(2)
SYMBOLS_OF(3)
SYMBOLS_OF(4)
// clang-format on

#ifdef P_HAS_NIBBLES
/* Spreads a lane's eight codes to four bits each. */
V16_FN void nibbles_of(const uint8_t *codes, size_t blocks, uint32_t *word, const unsigned bits)
{
	const uint32_t low = 0x01010101 * ((1u << bits) - 1);
	for (; blocks-- > 0; codes += V16 * bits, word += V16) {
		v16i x = v16_load_planes(codes, bits);
		if (bits < 4) {
			x = v16_to_each_byte(x, 2 * bits);
			x = v16_ori(v16_andi(x, v16_seti(low)),
			            v16_andi(v16_shl(x, (int)(4 - bits)), v16_seti(low << 4)));
		}
		v16_storei(word, x);
	}
}
#define NIBBLES_OF(bits)                                                                          \
	static inline void nibbles_of_##bits(const uint8_t *codes, size_t blocks, uint32_t *word) \
	{                                                                                         \
		nibbles_of(codes, blocks, word, bits);                                            \
	}
// clang-format off
NIBBLES_OF(2)
NIBBLES_OF(3)
NIBBLES_OF(4)
// clang-format on
#else
#define nibbles_of_2 NULL
#define nibbles_of_3 NULL
#define nibbles_of_4 NULL
#endif

static inline struct block_code levels_block_code(uint32_t count)
{
	const unsigned bits = bit_width(count - 1);
	return bits == 2   ? (struct block_code){count, 4, symbols_of_2, nibbles_of_2}
	       : bits == 3 ? (struct block_code){count, 6, symbols_of_3, nibbles_of_3}
	                   : (struct block_code){count, 8, symbols_of_4, nibbles_of_4};
}

static inline enum blocks_coder levels_coder(unsigned coding)
{
	return coding == LEVELS_HUFFMAN ? BLOCKS_HUFFMAN : BLOCKS_ENTROPY;
}

#endif
