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

V16_FN uint8_t *put_planes(uint8_t *dst, const v16i *code, size_t groups, unsigned shift, const unsigned bits)
{
	const v16i mask = v16_seti((1u << bits) - 1);
	v16i x = v16_seti(0);
	for (size_t g = groups; g-- > 0;)
		x = v16_ori(v16_shl(x, (int)bits), v16_andi(v16_shr(code[g], (int)shift), mask));
	const size_t planes = divide_up(bits * groups, 8);
	for (size_t j = 0; j < planes; j++, dst += V16)
		v16_store_u8(dst, v16_andi(v16_shr(x, (int)(8 * j)), v16_seti(255)));
	return dst;
}

static uint8_t *put_codes(uint8_t *dst, const v16i *code, size_t groups, unsigned shift, unsigned bits)
{
	switch (bits) {
	case 1:
		return put_planes(dst, code, groups, shift, 1);
	case 2:
		return put_planes(dst, code, groups, shift, 2);
	case 3:
		return put_planes(dst, code, groups, shift, 3);
	default:
		return put_planes(dst, code, groups, shift, 4);
	}
}

V16_FN const uint8_t *get_planes(const uint8_t *src, v16i *code, size_t groups, const unsigned bits)
{
	const size_t planes = divide_up(bits * groups, 8);
	v16i x = v16_seti(0);
	for (size_t j = 0; j < planes; j++, src += V16)
		x = v16_ori(x, v16_shl(v16_load_u8(src), (int)(8 * j)));
	for (size_t g = 0; g < GROUPS; g++, x = v16_shr(x, (int)bits))
		code[g] = v16_andi(x, v16_seti((1u << bits) - 1));
	return src;
}

static const uint8_t *get_codes(const uint8_t *src, v16i code[GROUPS], size_t groups, unsigned bits)
{
	switch (bits) {
	case 1:
		return get_planes(src, code, groups, 1);
	case 2:
		return get_planes(src, code, groups, 2);
	case 3:
		return get_planes(src, code, groups, 3);
	default:
		return get_planes(src, code, groups, 4);
	}
}

/* Where codes are written to or read from. */
struct codes {
	unsigned bits;
	uint8_t *low, *high;
};

static void codes_put(struct codes *c, const v16i *code, size_t groups)
{
	c->low = put_codes(c->low, code, groups, 0, c->bits < 4 ? c->bits : 4);
	if (c->bits > 4)
		c->high = put_codes(c->high, code, groups, 4, c->bits - 4);
}

struct coded {
	unsigned bits;
	const uint8_t *low, *high;
};

static void coded_get(struct coded *c, v16i code[GROUPS], size_t groups)
{
	c->low = get_codes(c->low, code, groups, c->bits < 4 ? c->bits : 4);
	if (c->bits > 4) {
		v16i more[GROUPS];
		c->high = get_codes(c->high, more, groups, c->bits - 4);
		for (size_t g = 0; g < GROUPS; g++)
			code[g] = v16_ori(code[g], v16_shl(more[g], 4));
	}
}

#endif
