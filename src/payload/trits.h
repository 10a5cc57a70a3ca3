/* Ternary digits (0: 0, 1: +1, 2: -1): five trits a byte, or two bits each; and bit planes, for sums of them
 * (doc/FORMAT.md, terngrad).
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRITS_H
#define TRITS_H

#include "base/bytes.h"
#include "v16/two_bits.h"

enum { TRITS, BITS }; /* how digits stand in a payload */
enum { TRITS_ELEMENTS = 5 * V16 };

static inline size_t digit_bytes(unsigned coding, size_t n)
{
	return coding == TRITS ? V16 * divide_up(n, TRITS_ELEMENTS) : 4 * divide_up(n, V16);
}

/* ---- bits and trits ----------------------------------------------------------------------------- */

/* Returns true if no element in [src, end), whole words, has both bits set. */
static inline bool bits_clean(const uint8_t *src, const uint8_t *end)
{
	uint32_t bad = 0;
	for (; src < end; src += 4) {
		const uint32_t x = get_u32(src);
		bad |= x & x >> 1 & 0x55555555u;
	}
	return !bad;
}
/* Returns true if no bit is set past the last of n elements. */
static inline bool bits_end(const uint8_t *src, size_t n)
{
	return n % V16 == 0 || !(get_u32(src + digit_bytes(BITS, n) - 4) >> 2 * (n % V16));
}

/* Sixteen sums of trits, in the width that the instruction set likes. */
typedef struct {
#ifdef P_HAS_TRITS
	pi words;
#else
	pb p[V16_PARTS];
#endif
} v16b;

V16_FN v16b v16_add_trit(v16b x, unsigned number, v16m m, v16f y)
{
	v16b r;
#ifdef P_HAS_TRITS
	r.words = p_add_trits(x.words, number, m.p, y.p);
#else
	EACH_PART(r.p[k] = p_add_trit(x.p[k], number, m.p[k], y.p[k]))
#endif
	return r;
}
V16_FN v16b v16_no_trits(void)
{
	v16b r;
#ifdef P_HAS_TRITS
	r.words = p_no_trits();
#else
	EACH_PART(r.p[k] = p_no_trit())
#endif
	return r;
}

/* A writer of digits: five groups become sixteen bytes of trits, or each group four bytes of two-bit codes.
 */
struct digit_writer {
	uint8_t *dst;
	unsigned coding, groups;
	v16b value;
};

/* Stores ceil(256 v / 243) for v = 81 d0 + 27 d1 + 9 d2 + 3 d3 + d4; a test shows that the product is exact
 * for all 243 values. */
V16_FN void put_trits(uint8_t *dst, v16i v)
{
	v16_store_u8(dst, v16_shr(v16_addi(v16_muli(v, v16_seti(8631)), v16_seti(8100)), 13));
}

/* Stores sixteen sums of five trits each. */
V16_FN void put_sums(uint8_t *dst, v16b x)
{
#ifdef P_HAS_TRITS
	p_put_trits(dst, x.words);
#else
	v16i v;
	EACH_PART(v.p[k] = p_of_bytes(x.p[k]))
	put_trits(dst, v);
#endif
}

/* Writes sixteen digits: 0 if not sent, else 2 if x has the sign bit, else 1. */
V16_FN void digits_put(struct digit_writer *d, v16m sent, v16f x)
{
	if (d->coding == TRITS) {
		d->value = v16_add_trit(d->value, d->groups, sent, x);
		if (++d->groups == 5) {
			put_sums(d->dst, d->value);
			d->dst += V16;
			d->value = v16_no_trits();
			d->groups = 0;
		}
	} else {
		const uint32_t mask = v16_bits(sent), minus = v16_bits(v16_negative(x)) & mask;
		d->dst = put_u32(d->dst, (uint32_t)(v16_spread(mask ^ minus) | v16_spread(minus) << 1));
	}
}

V16_FN void digits_end(struct digit_writer *d)
{
	while (d->groups)
		digits_put(d, v16_mask(0), v16_set(0));
}

static inline void trits_of_bits(uint8_t *dst, const uint8_t *bits, size_t n)
{
	for (size_t i = 0; i < n; i += TRITS_ELEMENTS, dst += V16) {
		v16i v = v16_seti(0);
		for (size_t k = 0; k < 5; k++) {
			v = v16_addi(v16_addi(v, v), v);
			if (n - i > V16 * k) {
				v = v16_addi(v, bits_get(bits));
				bits += 4;
			}
		}
		put_trits(dst, v);
	}
}

/* Returns the next digit of sixteen bytes of trits. */
V16_FN v16i trits_next(v16i *x)
{
	const v16i y = v16_addi(v16_addi(*x, *x), *x);
	*x = v16_andi(y, v16_seti(255));
	return v16_shr(y, 8);
}

/* ---- planes -------------------------------------------------------------------------------------- */

/* ceil(log2(2 learners + 1)) */
static inline unsigned planes_of(uint32_t learners) { return 32u - (unsigned)__builtin_clz(2 * learners); }

static inline size_t sum_bytes(uint32_t learners, size_t n)
{
	return 2 * planes_of(learners) * divide_up(n, V16);
}

/* Returns sixteen sums q + learners. */
V16_FN v16i planes_get(const uint8_t *src, unsigned planes)
{
	v16i x = v16_seti(0);
	for (unsigned j = 0; j < planes; j++) {
		uint16_t plane;
		memcpy(&plane, src + 2 * j, sizeof plane);
		x = v16_ori(x, v16_and_maski(v16_mask(plane), v16_seti(1u << j)));
	}
	return x;
}

V16_FN uint8_t *planes_put(uint8_t *dst, v16i x, unsigned planes, uint16_t here)
{
	for (unsigned j = 0; j < planes; j++, dst += 2) {
		const v16i bit = v16_andi(x, v16_seti(1u << j));
		const uint16_t plane = v16_bits(v16_ne(v16_float_of(bit), v16_set(0))) & here;
		memcpy(dst, &plane, sizeof plane);
	}
	return dst;
}

/* Returns 0, 1, -1 (modulo 2^32) for digits 0, 1, 2. */
V16_FN v16i number_of(v16i digit)
{
	const v16i high = v16_shr(digit, 1);
	return v16_subi(digit, v16_addi(v16_addi(high, high), high));
}

#endif
