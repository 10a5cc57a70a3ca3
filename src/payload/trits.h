/* Ternary digits (0: 0, 1: +1, 2: -1) as trits, five in a byte, or as bits, two for each, as in the maps of
 * sparse signs and the codes of three levels; and the bit planes of sums of digits (doc/FORMAT.md, terngrad).
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRITS_H
#define TRITS_H

#include "base/bytes.h"
#include "v16/two_bits.h"

enum { TRITS, BITS };              /* how digits are coded */
enum { TRITS_ELEMENTS = 5 * V16 }; /* of sixteen bytes of trits: a block */

static inline size_t digit_bytes(unsigned coding, size_t n)
{
	return coding == TRITS ? V16 * divide_up(n, TRITS_ELEMENTS) : 4 * divide_up(n, V16);
}

/* Returns the lanes whose number, below 2^31, is not zero. */
V16_FN uint16_t nonzero(v16i x) { return (uint16_t)v16_bits(v16_lti(v16_seti(0), x)); }

/* ---- bits and trits ----------------------------------------------------------------------------- */

/* Returns true if no element's two bits are both set in [src, end), which are whole words. */
static inline bool bits_clean(const uint8_t *src, const uint8_t *end)
{
	uint32_t bad = 0;
	for (; src < end; src += 4) {
		const uint32_t x = get_u32(src);
		bad |= x & x >> 1 & 0x55555555u;
	}
	return !bad;
}
/* Returns true if no bit is set after the n-th element's. */
static inline bool bits_end(const uint8_t *src, size_t n)
{
	return n % V16 == 0 || !(get_u32(src + digit_bytes(BITS, n) - 4) >> 2 * (n % V16));
}

/* Sixteen sums of weighted trits, in registers of the width that suits the instruction set. */
typedef struct {
#ifdef P_HAS_TRITS
	pi words;
#else
	pb p[V16_PARTS];
#endif
} v16b;

/* Adds the digits of group number, of five: sent lanes are 1, or 2 if y has the sign bit. */
V16_FN v16b v16_add_trit(v16b x, unsigned number, v16m sent, v16f y)
{
	v16b r;
#ifdef P_HAS_TRITS
	r.words = p_add_trits(x.words, number, sent.p, y.p);
#else
	EACH_PART(r.p[k] = p_add_trit(x.p[k], number, sent.p[k], y.p[k]))
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

/* Writes digits, a group of sixteen at a time: five groups become sixteen bytes of trits, or each group four
 * bytes of bits. */
struct digit_writer {
	uint8_t *dst;
	unsigned coding, groups; /* groups: in sums, less than five */
	v16b sums;
};

/* Stores v = 81 d0 + 27 d1 + 9 d2 + 3 d3 + d4 as ceil(256 v / 243). The product is exact for all 243 values.
 */
V16_FN void store_trits(uint8_t *dst, v16i v)
{
	v16_store_u8(dst, v16_shr(v16_addi(v16_muli(v, v16_seti(8631)), v16_seti(8100)), 13));
}

V16_FN void store_sums(uint8_t *dst, v16b sums)
{
#ifdef P_HAS_TRITS
	p_put_trits(dst, sums.words);
#else
	v16i v;
	EACH_PART(v.p[k] = p_of_bytes(sums.p[k]))
	store_trits(dst, v);
#endif
}

/* Writes a group: sent elements are 1, or 2 if x has the sign bit; others are 0. */
V16_FN void digits_put(struct digit_writer *w, v16m sent, v16f x)
{
	if (w->coding == TRITS) {
		w->sums = v16_add_trit(w->sums, w->groups, sent, x);
		if (++w->groups == 5) {
			store_sums(w->dst, w->sums);
			w->dst += V16;
			w->sums = v16_no_trits();
			w->groups = 0;
		}
	} else {
		const uint32_t all = v16_bits(sent), minus = v16_bits(v16_negative(x)) & all;
		w->dst = put_u32(w->dst, (uint32_t)(v16_spread(all ^ minus) | v16_spread(minus) << 1));
	}
}

/* Fills the last sixteen bytes of trits with zeros. */
V16_FN void digits_end(struct digit_writer *w)
{
	while (w->groups)
		digits_put(w, v16_mask(0), v16_set(0));
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
		store_trits(dst, v);
	}
}

/* Returns the digits of the next group of sixteen bytes of trits. */
V16_FN v16i trits_next(v16i *x)
{
	const v16i y = v16_addi(v16_addi(*x, *x), *x);
	*x = v16_andi(y, v16_seti(255));
	return v16_shr(y, 8);
}

/* ---- planes -------------------------------------------------------------------------------------- */

/* Returns ceil(log2(2 learners + 1)), the bits of an element of a sum. */
static inline unsigned planes_of(uint32_t learners) { return 32u - (unsigned)__builtin_clz(2 * learners); }

static inline size_t sum_bytes(uint32_t learners, size_t n)
{
	return 2 * planes_of(learners) * divide_up(n, V16);
}

/* Returns a group's numbers: sums of digits plus learners, so that they are not negative. */
V16_FN v16i planes_get(const uint8_t *src, unsigned planes)
{
	v16i x = v16_seti(0);
	for (unsigned j = 0; j < planes; j++)
		x = v16_ori(x, v16_and_maski(v16_mask(get_u16(src + 2 * j)), v16_seti(1u << j)));
	return x;
}

/* Writes the numbers of the lanes in here, and zeros for the others; returns the end. */
V16_FN uint8_t *planes_put(uint8_t *dst, v16i x, unsigned planes, uint16_t here)
{
	for (unsigned j = 0; j < planes; j++)
		dst = put_u16(dst, nonzero(v16_andi(x, v16_seti(1u << j))) & here);
	return dst;
}

/* Returns the digits 0, 1, 2 as 0, 1, -1, modulo 2^32. */
V16_FN v16i signed_digits(v16i digit)
{
	const v16i high = v16_shr(digit, 1);
	return v16_subi(digit, v16_addi(v16_addi(high, high), high));
}

#endif
