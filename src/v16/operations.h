/* Arithmetic, masks and tables of sixteen lanes. Included by v16.h alone.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPERATIONS_H
#define OPERATIONS_H

/* ---- parts ---------------------------------------------------------------------------------- */

/* Repeats the statement for each part, whose number is the constant k. */
#define V16_PART(i, ...)        \
	{                       \
		enum { k = i }; \
		__VA_ARGS__;    \
	}
#if V16_LANES == 16
#define EACH_PART(...) V16_PART(0, __VA_ARGS__)
#elif V16_LANES == 8
#define EACH_PART(...) V16_PART(0, __VA_ARGS__) V16_PART(1, __VA_ARGS__)
#elif V16_LANES == 4
#define EACH_PART(...) \
	V16_PART(0, __VA_ARGS__) V16_PART(1, __VA_ARGS__) V16_PART(2, __VA_ARGS__) V16_PART(3, __VA_ARGS__)
#else
#define EACH_PART(...)                  \
	for (int k = 0; k < V16; k++) { \
		__VA_ARGS__;            \
	}
#endif

/* clang-format off */

#ifndef P_HAS_FUSED
P_FN pf p_min_abs(pf a, pf b) { return p_min(p_abs(a), b); }
P_FN pf p_max_abs(pf a, pf b) { return p_max(p_abs(a), b); }
P_FN pf p_min_abs_nonzero(pf a, pf b) { return p_pick(p_ne(a, p_set(0)), p_min_abs(a, b), b); }
P_FN pi p_addi_where(pm m, pi a, pi b) { return p_addi(a, p_and_maski(m, b)); }
P_FN pf p_sub_where(pm m, pf a, pf b) { return p_sub(a, p_of_bits(p_and_maski(m, p_bits_of(b)))); }
P_FN pi p_shrv_low(pi a, pi b) { return p_shrv(a, p_andi(b, p_seti(31))); }
P_FN pi p_shr_where(pm m, pi a, int s) { return p_bits_of(p_pick(m, p_of_bits(p_shr(a, s)), p_of_bits(a))); }
P_FN pi p_xor3(pi a, pi b, pi c) { return p_xori(a, p_xori(b, c)); }
#ifndef P_HAS_TRITS
typedef pi pb;
P_FN pi p_of_bytes(pb a) { return a; }
P_FN pb p_no_trit(void) { return p_seti(0); }
P_FN pb p_add_trit(pb x, unsigned number, pm m, pf y)
{
	static const uint32_t worth[5] = {81, 27, 9, 3, 1};
	const pi one = p_seti(worth[number]);
	return p_addi(x, p_and_maski(m, p_addi(one, p_and_maski(p_negative(y), one))));
}
#endif
#endif

#ifndef P_HAS_GT_SIZE
P_FN pm p_gt_size(pf a, pf b) { return p_gt(a, b); }
#endif

#ifndef P_LOOKUP_BITS
#define P_LOOKUP_BITS 0
#endif

/* ---- lane by lane --------------------------------------------------------------------------- */

typedef struct { pf p[V16_PARTS]; } v16f;
typedef struct { pi p[V16_PARTS]; } v16i;
typedef struct { pm p[V16_PARTS]; } v16m;

/* Defines an operation by part k of its result. */
#define V16_EACH(RESULT, NAME, PARAMETERS, PART) \
	V16_FN RESULT NAME PARAMETERS { RESULT r; EACH_PART(r.p[k] = PART) return r; }

V16_EACH(v16f, v16_set, (float x), p_set(x))
V16_EACH(v16f, v16_add, (v16f a, v16f b), p_add(a.p[k], b.p[k]))
V16_EACH(v16f, v16_sub, (v16f a, v16f b), p_sub(a.p[k], b.p[k]))
V16_EACH(v16f, v16_mul, (v16f a, v16f b), p_mul(a.p[k], b.p[k]))
V16_EACH(v16f, v16_min, (v16f a, v16f b), p_min(a.p[k], b.p[k])) /* of numbers: a < b ? a : b */
V16_EACH(v16f, v16_max, (v16f a, v16f b), p_max(a.p[k], b.p[k])) /* a > b ? a : b */
V16_EACH(v16f, v16_abs, (v16f a), p_abs(a.p[k]))
V16_EACH(v16f, v16_min_abs, (v16f a, v16f b), p_min_abs(a.p[k], b.p[k])) /* of |a| and b, b >= 0 */
V16_EACH(v16f, v16_max_abs, (v16f a, v16f b), p_max_abs(a.p[k], b.p[k]))
V16_EACH(v16f, v16_min_abs_nonzero, (v16f a, v16f b), p_min_abs_nonzero(a.p[k], b.p[k])) /* min_abs; b if a is 0 */
V16_EACH(v16f, v16_max_abs_nan, (v16f a, v16f b), p_max_abs_nan(a.p[k], b.p[k])) /* max_abs; a NaN is the largest */

V16_EACH(v16i, v16_seti, (uint32_t x), p_seti(x))
V16_EACH(v16i, v16_addi, (v16i a, v16i b), p_addi(a.p[k], b.p[k])) /* modulo 2^32 */
V16_EACH(v16i, v16_subi, (v16i a, v16i b), p_subi(a.p[k], b.p[k]))
V16_EACH(v16i, v16_muli, (v16i a, v16i b), p_muli(a.p[k], b.p[k]))
V16_EACH(v16i, v16_mulhi_twice, (v16i a, v16i b), p_mulhi_twice(a.p[k], b.p[k])) /* 2 a b >> 32, a < 2^31 */
V16_EACH(v16i, v16_andi, (v16i a, v16i b), p_andi(a.p[k], b.p[k]))
V16_EACH(v16i, v16_ori, (v16i a, v16i b), p_ori(a.p[k], b.p[k]))
V16_EACH(v16i, v16_xori, (v16i a, v16i b), p_xori(a.p[k], b.p[k]))
V16_EACH(v16i, v16_xor3, (v16i a, v16i b, v16i c), p_xor3(a.p[k], b.p[k], c.p[k]))
V16_EACH(v16i, v16_shr, (v16i a, int s), p_shr(a.p[k], s)) /* s < 32, the same in all lanes */
V16_EACH(v16i, v16_shl, (v16i a, int s), p_shl(a.p[k], s))
V16_EACH(v16i, v16_shrv, (v16i a, v16i b), p_shrv(a.p[k], b.p[k])) /* b < 32, a lane's own */
V16_EACH(v16i, v16_shrv_low, (v16i a, v16i b), p_shrv_low(a.p[k], b.p[k])) /* a >> b % 32 */
V16_FN v16i v16_rotl(v16i a, int s) { return v16_ori(v16_shl(a, s), v16_shr(a, 32 - s)); }
/* a + b, or a - b if y has the sign bit; b is 0 where y is. */
V16_EACH(v16i, v16_addi_signed, (v16i a, v16i b, v16f y), p_addi_signed(a.p[k], b.p[k], y.p[k]))
#ifdef P_HAS_SHIFT_IN
/* a without its lowest s bits, and above it the lowest s bits of b, 0 < s < 32. */
V16_EACH(v16i, v16_shift_in, (v16i a, v16i b, unsigned s), p_shift_in(a.p[k], b.p[k], (int)s))
#endif
#ifdef P_HAS_ONES
V16_EACH(v16i, v16_ones, (v16i a), p_ones(a.p[k])) /* number of bits that are set */
#endif
#ifdef P_HAS_NIBBLES
/* Byte i of each lane becomes that lane's eight bits from bit number i * bits on. */
V16_EACH(v16i, v16_to_each_byte, (v16i a, unsigned bits), p_to_each_byte(a.p[k], bits))
#endif

V16_EACH(v16f, v16_float_of, (v16i a), p_float_of(a.p[k])) /* of a number below 2^31, rounded */
V16_EACH(v16i, v16_trunc, (v16f a), p_trunc(a.p[k]))       /* of a number in [0, 2^31), towards zero */
V16_EACH(v16i, v16_ceil, (v16f a), p_ceil(a.p[k]))         /* of a number in [0, 2^31], upwards */
V16_EACH(v16i, v16_bits_of, (v16f a), p_bits_of(a.p[k]))   /* the same 32 bits */
V16_EACH(v16f, v16_of_bits, (v16i a), p_of_bits(a.p[k]))

/* ---- masks ---------------------------------------------------------------------------------- */

V16_EACH(v16m, v16_ge, (v16f a, v16f b), p_ge(a.p[k], b.p[k])) /* a >= b */
V16_EACH(v16m, v16_gt, (v16f a, v16f b), p_gt(a.p[k], b.p[k]))
V16_EACH(v16m, v16_ne, (v16f a, v16f b), p_ne(a.p[k], b.p[k]))
V16_EACH(v16m, v16_gt_size, (v16f a, v16f b), p_gt_size(a.p[k], b.p[k])) /* a > b, neither has the sign bit */
V16_EACH(v16m, v16_lti, (v16i a, v16i b), p_lti(a.p[k], b.p[k]))         /* a < b, of numbers below 2^31 */
V16_EACH(v16m, v16_negative, (v16f a), p_negative(a.p[k]))               /* the sign bit, that of -0 too */
V16_EACH(v16m, v16_both, (v16m a, v16m b), p_both(a.p[k], b.p[k]))
V16_EACH(v16m, v16_either, (v16m a, v16m b), p_either(a.p[k], b.p[k]))

V16_EACH(v16f, v16_pick, (v16m m, v16f a, v16f b), p_pick(m.p[k], a.p[k], b.p[k]))             /* m ? a : b */
V16_EACH(v16i, v16_and_maski, (v16m m, v16i a), p_and_maski(m.p[k], a.p[k]))                   /* m ? a : 0 */
V16_EACH(v16i, v16_shr_where, (v16m m, v16i a, int s), p_shr_where(m.p[k], a.p[k], s))         /* m ? a >> s : a */
V16_EACH(v16i, v16_addi_where, (v16m m, v16i a, v16i b), p_addi_where(m.p[k], a.p[k], b.p[k])) /* m ? a + b : a */
V16_EACH(v16f, v16_sub_where, (v16m m, v16f a, v16f b), p_sub_where(m.p[k], a.p[k], b.p[k]))   /* m ? a - b : a */
V16_FN v16f v16_and_mask(v16m m, v16f a) { return v16_of_bits(v16_and_maski(m, v16_bits_of(a))); }

/* clang-format on */

/* A mask as the lower 16 bits, lane 0 in bit 0. */
V16_FN uint32_t v16_bits(v16m m)
{
	uint32_t bits = 0;
	EACH_PART(bits |= (uint32_t)p_bits(m.p[k]) << (k * V16_LANES))
	return bits;
}
V16_FN uint32_t v16_bits_of_two(v16m a, v16m b)
{
#ifdef P_HAS_BITS_OF_TWO
	return p_bits_of_two(a.p, b.p);
#else
	return v16_bits(a) | v16_bits(b) << V16;
#endif
}
/* clang-format off */
V16_EACH(v16m, v16_mask, (uint16_t bits), p_mask((bits >> (k * V16_LANES)) & ((1u << V16_LANES) - 1)))
/* clang-format on */
/* a in the lanes of the bits that are set, else b. */
V16_FN v16f v16_pick_bits(uint16_t bits, v16f a, v16f b) { return v16_pick(v16_mask(bits), a, b); }

V16_FN uint16_t v16_first(size_t count) { return (uint16_t)((1u << count) - 1); } /* count <= 16 */

/* The number of the first bit, or one of 63 and 64 if there is none. */
V16_FN uint32_t v16_first_bit(uint64_t bits)
{
#ifdef P_HAS_BMI
	return (uint32_t)_tzcnt_u64(bits);
#else
	return (uint32_t)__builtin_ctzll(bits | 1ull << 63);
#endif
}

/* Returns true if no magnitude is above 2^120 or a NaN. */
V16_FN bool v16_usable(v16f size) { return v16_bits(v16_ge(v16_set(0x1p120f), size)) == 0xFFFF; }

/* The largest lane, of lanes of one sign. */
V16_FN float v16_max_lane(v16f a)
{
	pf most = a.p[0];
	for (int k = 1; k < V16_PARTS; k++)
		most = p_max(most, a.p[k]);
	return p_max_lane(most);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* clang-format off */
V16_FN v16t v16_table(const float *entries) { return p_table(entries); }
V16_EACH(v16f, v16_lookup, (v16t t, v16i at), p_lookup(t, at.p[k]))   /* the entries by number, below 16 */
V16_EACH(v16f, v16_lookup8, (v16t t, v16i at), p_lookup8(t, at.p[k])) /* of a table of 8, or of 4 by numbers below 4 */
/* A table of four f32, and its entries by the two bits of x from place on, an even number. */
V16_FN v16t v16_table4(const float *entries) { return p_table4(entries); }
V16_EACH(v16f, v16_lookup_pair, (v16t t, v16i x, v16i place), p_lookup_pair(t, x.p[k], place.p[k]))
/* clang-format on */

/* The entries by the lowest bits of the lanes, at most four, in a table whose entries repeat after the first
 * 2^bits. */
V16_FN v16f v16_lookup_lowest(v16t t, v16i x, const unsigned bits)
{
	const v16i at = bits <= P_LOOKUP_BITS ? x : v16_andi(x, v16_seti((1u << bits) - 1));
	return bits <= 3 ? v16_lookup8(t, at) : v16_lookup(t, at);
}

#endif
