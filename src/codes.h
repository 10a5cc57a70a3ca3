/* Codes of fixed width: of the number of an element's level (doc/FORMAT.md, qsgd).
 *
 * SPDX-License-Identifier: MIT */
#ifndef CODES_H
#define CODES_H

#include "levels.h"
#include "v16.h"

enum { GROUPS = LEVELS_BLOCK / V16 };

/* How many bits a number above 0 has. */
static unsigned bits_of(uint32_t x) { return 32u - (unsigned)__builtin_clz(x); }

/* Bytes of n codes of at most four bits: blocks of 128, each lane's eight codes together. */
static size_t plane_bytes(unsigned bits, size_t n) { return V16 * divide_up(bits * divide_up(n, V16), 8); }

/* Codes of more than four bits are written in two parts, the low four bits of all first. */
static size_t code_bytes(unsigned bits, size_t n)
{
	return bits <= 4 ? plane_bytes(bits, n) : plane_bytes(4, n) + plane_bytes(bits - 4, n);
}

/* A block's lane numbers: of each lane the codes of groups 0 to 7, of so many bits, the first in the lowest.
 */
V16_FN v16i join_codes(const v16i code[GROUPS], const unsigned bits)
{
	v16i x = code[GROUPS - 1];
	for (int g = GROUPS - 1; g-- > 0;)
		x = v16_ori(v16_shl(x, (int)bits), code[g]);
	return x;
}

V16_FN void split_codes(v16i code[GROUPS], v16i x, const unsigned bits)
{
	for (int g = 0; g < GROUPS; g++, x = v16_shr(x, (int)bits))
		code[g] = v16_andi(x, v16_seti((1u << bits) - 1));
}

/* Calls a macro with the constant that bits is, 1 to 4. */
#define BY_BITS(bits, CALL) ((bits) == 1 ? CALL(1) : (bits) == 2 ? CALL(2) : (bits) == 3 ? CALL(3) : CALL(4))

static uint8_t *put_block(uint8_t *dst, const v16i code[GROUPS], size_t groups, unsigned bits)
{
#define JOIN(BITS) join_codes(code, BITS)
	v16i x = BY_BITS(bits, JOIN);
	for (size_t planes = divide_up(bits * groups, 8); planes > 0; planes--, dst += V16, x = v16_shr(x, 8))
		v16_store_u8(dst, v16_andi(x, v16_seti(255)));
	return dst;
}

/* The lane numbers of a block that begins at src. */
V16_FN v16i get_lanes(const uint8_t *src, size_t planes)
{
	v16i x = v16_seti(0);
	while (planes-- > 0)
		x = v16_ori(v16_shl(x, 8), v16_load_u8(src + V16 * planes));
	return x;
}

static const uint8_t *get_block(const uint8_t *src, v16i code[GROUPS], size_t groups, unsigned bits)
{
	const size_t planes = divide_up(bits * groups, 8);
	const v16i x = get_lanes(src, planes);
#define SPLIT(BITS) split_codes(code, x, BITS)
	BY_BITS(bits, SPLIT);
	return src + V16 * planes;
}

/* Where codes are written to or read from. */
struct codes {
	unsigned bits;
	uint8_t *low, *high;
};

/* Codes of groups after the last one are 0. */
static void codes_put(struct codes *c, v16i code[GROUPS], size_t groups)
{
	if (c->bits > 4) {
		v16i high[GROUPS];
		for (int g = 0; g < GROUPS; g++) {
			high[g] = v16_shr(code[g], 4);
			code[g] = v16_andi(code[g], v16_seti(15));
		}
		c->high = put_block(c->high, high, groups, c->bits - 4);
	}
	c->low = put_block(c->low, code, groups, c->bits < 4 ? c->bits : 4);
}

struct coded {
	unsigned bits;
	const uint8_t *low, *high;
};

static void coded_get(struct coded *c, v16i code[GROUPS], size_t groups)
{
	c->low = get_block(c->low, code, groups, c->bits < 4 ? c->bits : 4);
	if (c->bits > 4) {
		v16i more[GROUPS];
		c->high = get_block(c->high, more, groups, c->bits - 4);
		for (int g = 0; g < GROUPS; g++)
			code[g] = v16_ori(code[g], v16_shl(more[g], 4));
	}
}

/* Whether a code of the blocks of n elements, of at most four bits, has all bits set. */
static bool coded_fill(const struct coded *c, size_t n)
{
	const uint32_t lowest = c->bits == 4 ? 0x11111111 : c->bits == 3 ? 0x00249249 : 0x00005555;
	const uint8_t *src = c->low;
	v16i full = v16_seti(0);
	for (size_t i = 0; i < n; i += LEVELS_BLOCK) {
		const size_t groups = n - i < LEVELS_BLOCK ? divide_up(n - i, V16) : GROUPS,
		             planes = divide_up(c->bits * groups, 8);
		const v16i x = get_lanes(src, planes), two = v16_andi(x, v16_shr(x, 1));
		src += V16 * planes;
		full = v16_ori(full, c->bits == 4   ? v16_andi(two, v16_shr(two, 2))
		                     : c->bits == 3 ? v16_andi(two, v16_shr(x, 2))
		                                    : two);
	}
	return v16_bits(v16_ne(v16_float_of(v16_andi(full, v16_seti(lowest))), v16_set(0)));
}

#endif
