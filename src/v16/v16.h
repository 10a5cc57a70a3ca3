/* Sixteen lanes on every machine: the vocabulary in which codecs are written.
 *
 * A group of sixteen elements is one AVX-512 register, two AVX2, four SSE2 or NEON, or sixteen scalars. The
 * header of an instruction set defines a *part* (a register of V16_LANES lanes) and operations p_... on it;
 * this file makes the sixteen-lane operations of them. Every operation gives the same bits on every
 * instruction set: there is no fused multiply-add, no reciprocal estimate, no flush to zero.
 *
 * v16f: 16 f32. v16i: 16 u32. v16m: a mask, of whatever shape the machine compares into. v16t: a table of 16,
 * 8 or 4 f32.
 *
 * SPDX-License-Identifier: MIT */
#ifndef V16_H
#define V16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "v16/prefetch.h"
#include "crumb.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* Elements whose f32 are summed in order, and whose random numbers have one generator (doc/FORMAT.md, 3). */
enum { SUM_BLOCK = 4096 };

/* Inlined by force, but not under a sanitizer: with its checks around each value files would compile for
 * minutes. */
#ifdef V16_CALLS
#define V16_INLINE
#else
#define V16_INLINE __attribute__((always_inline))
#endif

/* The build says which, not the compiler's macros: it may be allowed more than the file is for. */
#if defined(V16_AVX512)
#include "v16/avx512.h"
#elif defined(V16_AVX2)
#include "v16/avx2.h"
#elif defined(V16_SSE2)
#include "v16/sse2.h"
#elif defined(V16_NEON)
#include "v16/neon.h"
#else
#include "v16/portable.h"
#endif

enum { V16 = 16 };

/* Calls the statement once a part, with the part's number in the constant k. */
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

/* What AVX-512 alone does in fewer instructions; sums of trits, unless they have a shape of their own. */
#ifndef P_HAS_FUSED
P_FN pf p_min_abs(pf a, pf b) { return p_min(p_abs(a), b); }
P_FN pf p_max_abs(pf a, pf b) { return p_max(p_abs(a), b); }
#ifndef P_HAS_LEAST_ABS
P_FN pf p_min_abs_nonzero(pf a, pf b)
{
	return p_min_abs(p_pick(p_ne(a, p_set(0)), a, p_set(__builtin_inff())), b);
}
#endif
P_FN pi p_addi_where(pm m, pi a, pi b) { return p_addi(a, p_keepi(m, b)); }
P_FN pf p_sub_where(pm m, pf a, pf b) { return p_sub(a, p_of_bits(p_keepi(m, p_bits_of(b)))); }
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
	return p_addi(x, p_keepi(m, p_addi(one, p_keepi(p_negative(y), one))));
}
#endif
#endif

#ifndef P_HAS_GT_SIZE
P_FN pm p_gt_size(pf a, pf b) { return p_gt(a, b); }
#endif

enum { V16_PARTS = 16 / V16_LANES };
typedef struct {
	pf p[V16_PARTS];
} v16f;
typedef struct {
	pi p[V16_PARTS];
} v16i;
typedef struct {
	pm p[V16_PARTS];
} v16m;

#define V16_FN static inline V16_INLINE __attribute__((unused))

#define V16_UNARY(name, R, A)                                  \
	V16_FN R v16_##name(A a)                               \
	{                                                      \
		R r;                                           \
		EACH_PART(r.p[k] = p_##name(a.p[k])) return r; \
	}
#define V16_BINARY(name, R, A)                                         \
	V16_FN R v16_##name(A a, A b)                                  \
	{                                                              \
		R r;                                                   \
		EACH_PART(r.p[k] = p_##name(a.p[k], b.p[k])) return r; \
	}

/* clang-format off */
V16_BINARY(add, v16f, v16f)  /* a + b */
V16_BINARY(sub, v16f, v16f)
V16_BINARY(mul, v16f, v16f)
V16_BINARY(min, v16f, v16f)  /* of numbers: a < b ? a : b */
V16_BINARY(max, v16f, v16f)  /* a > b ? a : b */
V16_UNARY(abs, v16f, v16f)
V16_BINARY(min_abs, v16f, v16f) /* of |a| and b, b >= 0 */
V16_BINARY(max_abs, v16f, v16f)
V16_BINARY(min_abs_nonzero, v16f, v16f) /* min_abs, or b where a is 0; or, for |a|, the float before it */
V16_BINARY(max_abs_nan, v16f, v16f) /* max_abs, and a NaN is the greatest */
V16_BINARY(ge, v16m, v16f)   /* a >= b */
V16_BINARY(gt, v16m, v16f)
V16_BINARY(gt_size, v16m, v16f) /* of magnitudes */
V16_BINARY(ne, v16m, v16f)
V16_UNARY(negative, v16m, v16f) /* the sign bit, that of -0 too */
V16_BINARY(both, v16m, v16m)    /* a and b */
V16_BINARY(either, v16m, v16m)  /* a or b */

V16_BINARY(addi, v16i, v16i)    /* modulo 2^32 */
V16_BINARY(subi, v16i, v16i)
V16_BINARY(muli, v16i, v16i)
V16_BINARY(mulhi_twice, v16i, v16i) /* the upper half of twice the product, a < 2^31 */
V16_BINARY(andi, v16i, v16i)
V16_BINARY(ori, v16i, v16i)
V16_BINARY(xori, v16i, v16i)
V16_BINARY(lti, v16m, v16i)     /* a < b, of numbers below 2^31 */
V16_BINARY(shrv, v16i, v16i)    /* a >> b, lane by lane, b < 32 */
V16_BINARY(shrv_low, v16i, v16i) /* a >> b % 32 */
#ifdef P_HAS_ONES
V16_UNARY(ones, v16i, v16i)     /* how many bits are set */
#endif
V16_UNARY(float_of, v16f, v16i) /* of a number below 2^31, rounded */
V16_UNARY(trunc, v16i, v16f)    /* of a number in [0, 2^31), towards zero */
V16_UNARY(ceil, v16i, v16f)     /* of a number in [0, 2^31], upwards */
V16_UNARY(bits_of, v16i, v16f)  /* the same 32 bits */
V16_UNARY(of_bits, v16f, v16i)
/* clang-format on */

/* a + b, or a - b where y has the sign bit; b is 0 where y is. */
V16_FN v16i v16_addi_signed(v16i a, v16i b, v16f y)
{
	v16i r;
	EACH_PART(r.p[k] = p_addi_signed(a.p[k], b.p[k], y.p[k])) return r;
}

V16_FN v16f v16_set(float x)
{
	v16f r;
	EACH_PART(r.p[k] = p_set(x)) return r;
}
V16_FN v16i v16_seti(uint32_t x)
{
	v16i r;
	EACH_PART(r.p[k] = p_seti(x)) return r;
}
V16_FN v16f v16_loadf(const float *src)
{
	v16f r;
	EACH_PART(r.p[k] = p_loadf(src + k * V16_LANES)) return r;
}
V16_FN void v16_storef(float *dst, v16f a){EACH_PART(p_storef(dst + k * V16_LANES, a.p[k]))} V16_FN v16i
        v16_loadi(const uint32_t *src)
{
	v16i r;
	EACH_PART(r.p[k] = p_loadi(src + k * V16_LANES)) return r;
}
V16_FN void v16_storei(uint32_t *dst, v16i a) { EACH_PART(p_storei(dst + k * V16_LANES, a.p[k])) }

#ifdef P_HAS_NIBBLES
/* Of so many sixteen bytes, at most four, a lane's of each side by side; and of a lane each byte's eight bits
 * from bit number byte * bits on. */
V16_FN v16i v16_load_planes(const uint8_t *src, unsigned planes)
{
	return (v16i){{p_load_planes(src, planes)}};
}
V16_FN v16i v16_to_each_byte(v16i a, unsigned bits) { return (v16i){{p_to_each_byte(a.p[0], bits)}}; }
#endif

/* Numbers of one and two bytes; what is stored must fit. */
V16_FN v16i v16_load_u8(const uint8_t *src)
{
	v16i r;
	EACH_PART(r.p[k] = p_load_u8(src + k * V16_LANES)) return r;
}
V16_FN void v16_store_u8(uint8_t *dst, v16i a){EACH_PART(p_store_u8(dst + k * V16_LANES, a.p[k]))} V16_FN v16i
        v16_load_u16(const void *src)
{
	v16i r;
	EACH_PART(r.p[k] = p_load_u16((const uint8_t *)src + 2 * k * V16_LANES)) return r;
}
V16_FN void v16_store_u16(void *dst,
                          v16i a){EACH_PART(p_store_u16((uint8_t *)dst + 2 * k * V16_LANES, a.p[k]))}

#define v16_shr(a, s) v16_shr_((a), (s)) /* by a number below 32, the same in all lanes */
#define v16_shl(a, s) v16_shl_((a), (s))
V16_FN v16i v16_shr_(v16i a, int s)
{
	v16i r;
	EACH_PART(r.p[k] = p_shr(a.p[k], s)) return r;
}
V16_FN v16i v16_shl_(v16i a, int s)
{
	v16i r;
	EACH_PART(r.p[k] = p_shl(a.p[k], s)) return r;
}
#ifdef P_HAS_PUSH
/* a less its lowest s bits, and above it those of b, 0 < s < 32. */
V16_FN v16i v16_shift_in(v16i a, v16i b, unsigned s)
{
	v16i r;
	EACH_PART(r.p[k] = p_push(a.p[k], b.p[k], (int)s)) return r;
}
#endif
V16_FN v16i v16_xor3(v16i a, v16i b, v16i c)
{
	v16i r;
	EACH_PART(r.p[k] = p_xor3(a.p[k], b.p[k], c.p[k])) return r;
}
V16_FN v16i v16_rotl(v16i a, int s) { return v16_ori(v16_shl(a, s), v16_shr(a, 32 - s)); }

/* m ? a : b, and m ? a : 0 */
V16_FN v16f v16_pick(v16m m, v16f a, v16f b)
{
	v16f r;
	EACH_PART(r.p[k] = p_pick(m.p[k], a.p[k], b.p[k])) return r;
}
V16_FN v16i v16_and_maski(v16m m, v16i a)
{
	v16i r;
	EACH_PART(r.p[k] = p_keepi(m.p[k], a.p[k])) return r;
}
/* m ? a >> s : a */
V16_FN v16i v16_shr_where(v16m m, v16i a, int s)
{
	v16i r;
	EACH_PART(r.p[k] = p_shr_where(m.p[k], a.p[k], s)) return r;
}
/* m ? a + b : a */
V16_FN v16i v16_addi_where(v16m m, v16i a, v16i b)
{
	v16i r;
	EACH_PART(r.p[k] = p_addi_where(m.p[k], a.p[k], b.p[k])) return r;
}
/* m ? a - b : a */
V16_FN v16f v16_sub_where(v16m m, v16f a, v16f b)
{
	v16f r;
	EACH_PART(r.p[k] = p_sub_where(m.p[k], a.p[k], b.p[k])) return r;
}
V16_FN v16f v16_and_mask(v16m m, v16f a) { return v16_of_bits(v16_and_maski(m, v16_bits_of(a))); }

/* A mask as the lower 16 bits, lane 0 in bit 0, and back. */
V16_FN uint32_t v16_bits(v16m m)
{
	uint32_t bits = 0;
	EACH_PART(bits |= (uint32_t)p_bits(m.p[k]) << (k * V16_LANES)) return bits;
}
V16_FN uint32_t v16_bits_of_two(v16m a, v16m b)
{
#ifdef P_HAS_BITS_OF_TWO
	return p_bits_of_two(a.p[0], b.p[0]);
#elif defined(P_HAS_BITS_OF_FOUR)
	return p_bits_of_four(a.p[0], a.p[1], b.p[0], b.p[1]);
#else
	return v16_bits(a) | v16_bits(b) << V16;
#endif
}
V16_FN v16m v16_mask(uint16_t bits)
{
	v16m r;
	EACH_PART(r.p[k] = p_mask((bits >> (k * V16_LANES)) & ((1u << V16_LANES) - 1))) return r;
}
/* Where bits are set a, else b. */
V16_FN v16f v16_pick_bits(uint16_t bits, v16f a, v16f b)
{
#ifdef P_HAS_PICK_BITS
	v16f r;
	EACH_PART(r.p[k] = p_pick_bits(bits, k, a.p[k], b.p[k])) return r;
#else
	return v16_pick(v16_mask(bits), a, b);
#endif
}
V16_FN uint16_t v16_first(size_t count) { return (uint16_t)((1u << count) - 1); } /* count <= 16 */

/* Whether no magnitude is above 2^120, or a NaN. */
V16_FN bool v16_usable(v16f size) { return v16_bits(v16_ge(v16_set(0x1p120f), size)) == 0xFFFF; }

#ifdef P_HAS_LIST
/* Lists the lanes of the mask; sixteen words are written, of which those behind the list mean nothing.
 * Returns the list's end. */
V16_FN uint8_t *v16_list(uint8_t *dst, v16m m, v16i a)
{
	EACH_PART(p_list(dst, m.p[k], a.p[k]); dst += 4 * __builtin_popcount(p_bits(m.p[k])))
	return dst;
}
/* Lists, in a byte each, the numbers of the lanes that are not 0, of which lane 0 has number first; sixteen
 * bytes are written. Returns the list's end. */
V16_FN uint8_t *v16_list_numbers(uint8_t *dst, v16i x, unsigned first)
{
	EACH_PART(dst = p_list_numbers(dst, x.p[k], first + k * V16_LANES)) return dst;
}
#endif

/* A table of 16 (lookup) or 8 (lookup8) f32 and its entries by number; with P_HAS_NIBBLES lookup sees the
 * lower four bits of a lane alone. */
V16_FN v16t v16_table(const float *entries) { return p_table(entries); }
V16_FN v16f v16_lookup(v16t t, v16i at)
{
	v16f r;
	EACH_PART(r.p[k] = p_lookup(t, at.p[k])) return r;
}
V16_FN v16f v16_lookup8(v16t t, v16i at)
{
	v16f r;
	EACH_PART(r.p[k] = p_lookup8(t, at.p[k])) return r;
}

/* An entry by a lane's lowest bits, at most four; entries repeat after as many as these tell apart. */
V16_FN v16f v16_lookup_lowest(v16t t, v16i x, const unsigned bits)
{
#ifdef P_LOOKUP_BITS /* that a lookup looks at */
	const v16i at = bits <= P_LOOKUP_BITS ? x : v16_andi(x, v16_seti((1u << bits) - 1));
#else
	const v16i at = v16_andi(x, v16_seti((1u << bits) - 1));
#endif
	return bits <= 3 ? v16_lookup8(t, at) : v16_lookup(t, at);
}

#ifdef P_HAS_BYTE_TABLES
/* A table of sixteen f32, and the entries by 64 numbers of four bits at src: those in the lower bits of
 * sixteen bytes, in their upper ones, and the same of the next sixteen. */
V16_FN v16p v16_byte_tables(const float *entries) { return p_byte_tables(entries); }
V16_FN void v16_lookup_nibbles(v16p t, const uint8_t *src, v16f value[4])
{
	pf part[8];
	p_lookup_nibbles(t, src, part);
	for (int g = 0; g < 4; g++)
		value[g] = (v16f){{part[2 * g], part[2 * g + 1]}};
}
#endif

/* A table of four f32 (lookup8, too, by numbers below four), and its entries by the two bits of x from place
 * on, an even number. */
V16_FN v16t v16_table4(const float *entries) { return p_table4(entries); }
V16_FN v16f v16_lookup_pair(v16t t, v16i x, v16i place)
{
	v16f r;
	EACH_PART(r.p[k] = p_lookup_pair(t, x.p[k], place.p[k])) return r;
}

/* The f32 by number of a table of any size. */
V16_FN v16f v16_gather(const float *table, v16i at)
{
	uint32_t number[V16];
	float entry[V16];
	v16_storei(number, at);
	for (int i = 0; i < V16; i++)
		entry[i] = table[number[i]];
	return v16_loadf(entry);
}

/* Writes the lanes as bytes, which need not be aligned. */
V16_FN void v16_put(uint8_t *dst, v16i a)
{
	for (size_t k = 0; k < V16_PARTS; k++)
		memcpy(dst + 4 * k * V16_LANES, &a.p[k], sizeof a.p[k]);
}

/* Writes the lower sixteen bits of the lanes in m, one after another, so that they end at end; returns where
 * they begin. Up to 32 bytes before end may be written. */
V16_FN uint8_t *v16_compress_u16(uint8_t *end, v16m m, v16i a)
{
#ifdef P_HAS_COMPRESS
	for (int k = V16_PARTS; k-- > 0;)
		end = p_compress_u16(end, m.p[k], a.p[k]);
	return end;
#else
	const uint32_t mask = v16_bits(m);
	uint8_t *const begin = end - 2 * __builtin_popcount(mask);
	uint16_t lane[V16];
	v16_store_u16(lane, v16_andi(a, v16_seti(0xFFFF)));
	uint8_t *at = begin;
	for (uint32_t left = mask; left; left &= left - 1, at += 2)
		memcpy(at, &lane[__builtin_ctz(left)], 2);
	return begin;
#endif
}
/* The same of the lanes of a in m and then those of b in n. Up to 64 bytes before end may be written. */
V16_FN uint8_t *v16_compress_both_u16(uint8_t *end, v16m m, v16i a, v16m n, v16i b)
{
#ifdef P_HAS_COMPRESS_BOTH
	return p_compress_both_u16(end, m.p[0], a.p[0], n.p[0], b.p[0]);
#else
	return v16_compress_u16(v16_compress_u16(end, n, b), m, a);
#endif
}
/* The reverse: x * 2^16 and the next word in the lanes in m, x in the others; returns where the words end
 * that it took. Up to 32 bytes may be read. */
V16_FN const uint8_t *v16_refill(const uint8_t *src, v16m m, v16i x, v16i *to)
{
#ifdef P_HAS_REFILL
	return p_refill(src, m.p[0], x.p[0], &to->p[0]);
#else
	v16i word;
#ifdef P_HAS_COMPRESS
	EACH_PART(src = p_expand_u16(src, m.p[k], &word.p[k]))
#else
	uint16_t lane[V16] = {0};
	for (uint32_t left = v16_bits(m); left; left &= left - 1, src += 2)
		memcpy(&lane[__builtin_ctz(left)], src, 2);
	word = v16_load_u16(lane);
#endif
	*to = v16_ori(v16_bits_of(v16_pick(m, v16_of_bits(v16_shl(x, 16)), v16_of_bits(x))), word);
	return src;
#endif
}

/* The lanes added from lane 0 to lane 15, starting with lane 0; and the greatest lane, all of one sign. */
V16_FN float v16_sum_lanes(v16f a)
{
	float lane[V16];
	v16_storef(lane, a);
	float sum = lane[0];
	for (int i = 1; i < V16; i++)
		sum += lane[i];
	return sum;
}
V16_FN float v16_max_lane(v16f a)
{
	pf top = a.p[0];
	for (int k = 1; k < V16_PARTS; k++)
		top = p_max(top, a.p[k]);
	return p_top(top);
}

/* ---- f16 and bf16 --------------------------------------------------------------------------- */

V16_FN v16f v16_load_bf16(const void *src) { return v16_of_bits(v16_shl(v16_load_u16(src), 16)); }

/* Rounded to nearest even, as the upper halves of the lanes; no NaN, no infinity, nothing that rounds to one.
 */
V16_FN v16i v16_round_bf16(v16f a)
{
	const v16i x = v16_bits_of(a);
	const v16i odd = v16_andi(v16_shr(x, 16), v16_seti(1));
	return v16_addi(x, v16_addi(odd, v16_seti(0x7FFF)));
}
V16_FN void v16_store_bf16(void *dst, v16f a) { v16_store_u16(dst, v16_shr(v16_round_bf16(a), 16)); }
#ifdef P_HAS_STORE_UPPER
V16_FN void v16_store_bf16_two(uint8_t *dst, v16f a, v16f b)
{
	pi part[2 * V16_PARTS];
	EACH_PART(part[k] = v16_round_bf16(a).p[k]; part[V16_PARTS + k] = v16_round_bf16(b).p[k])
	for (size_t k = 0; k < 2 * V16_PARTS; k += 2)
		p_store_upper(dst + 2 * k * V16_LANES, part[k], part[k + 1]);
}
#endif

#ifdef P_HAS_F16
V16_FN v16f v16_load_f16(const void *src)
{
	v16f r;
	EACH_PART(r.p[k] = p_load_f16((const uint8_t *)src + 2 * k * V16_LANES)) return r;
}
V16_FN void v16_store_f16(void *dst,
                          v16f a){EACH_PART(p_store_f16((uint8_t *)dst + 2 * k * V16_LANES, a.p[k]))}
#else
V16_FN v16f v16_load_f16(const void *src)
{
	const v16i h = v16_load_u16(src);
	const v16i sign = v16_shl(v16_andi(h, v16_seti(0x8000)), 16);
	const v16i rest = v16_shl(v16_andi(h, v16_seti(0x7FFF)), 13);
	const v16f value = v16_mul(v16_of_bits(rest), v16_set(0x1p112f));
	const v16m special = v16_ge(value, v16_set(0x1p16f)); /* an infinity or a NaN */
	const v16i bits = v16_ori(v16_bits_of(value), v16_and_maski(special, v16_seti(0x7F800000)));
	return v16_of_bits(v16_ori(bits, sign));
}
/* Rounded to nearest even; |a| <= 65504. */
V16_FN void v16_store_f16(void *dst, v16f a)
{
	const v16i sign = v16_andi(v16_shr(v16_bits_of(a), 16), v16_seti(0x8000));
	const v16f size = v16_abs(a);
	const v16m normal = v16_ge(size, v16_set(0x1p-14f));
	const v16i x = v16_bits_of(size);
	const v16i odd = v16_andi(v16_shr(x, 13), v16_seti(1));
	const v16i rounded = v16_addi(x, v16_addi(odd, v16_seti(0x0FFF)));
	const v16i high = v16_shr(v16_subi(rounded, v16_seti(112u << 23)), 13);
	const v16i low = v16_subi(v16_bits_of(v16_add(size, v16_set(0.5f))), v16_seti(0x3F000000));
	const v16f half = v16_pick(normal, v16_of_bits(high), v16_of_bits(low));
	v16_store_u16(dst, v16_ori(v16_bits_of(half), sign));
}
#endif

/* ---- gradients of any type ------------------------------------------------------------------ */

V16_FN size_t v16_width(enum crumb_dtype type)
{
	return type == CRUMB_F32 ? 4 : 2;
}

/* The sixteen elements from number i. */
V16_FN v16f v16_load(enum crumb_dtype type, const void *src, size_t i)
{
	if (type == CRUMB_F32)
		return v16_loadf((const float *)src + i);
	const uint8_t *at = (const uint8_t *)src + 2 * i;
	return type == CRUMB_F16 ? v16_load_f16(at) : v16_load_bf16(at);
}
/* The same in a loop that goes through memory, which is asked for ahead. */
V16_FN v16f v16_streamf(const float *src)
{
	prefetch(src, crumb_stream_prefetch);
	return v16_loadf(src);
}
V16_FN v16f v16_stream(enum crumb_dtype type, const void *src, size_t i)
{
	prefetch((const uint8_t *)src + v16_width(type) * i, crumb_stream_prefetch);
	return v16_load(type, src, i);
}
/* The count <= 16 elements from number i; zeros in the other lanes. */
V16_FN v16f v16_load_partial(enum crumb_dtype type, const void *src, size_t i, size_t count)
{
	float few[V16] = {0};
	memcpy(few, (const uint8_t *)src + v16_width(type) * i, v16_width(type) * count);
	return v16_load(type, few, 0);
}
V16_FN void v16_storef_partial(float *dst, v16f a, size_t count)
{
	float few[V16];
	v16_storef(few, a);
	memcpy(dst, few, count * sizeof *few);
}
V16_FN v16f v16_loadf_partial(const float *src, size_t count)
{
	return v16_load_partial(CRUMB_F32, src, 0, count);
}

/* The count elements from number i as f32, and zeros to the end of dst, which has size, a multiple of 16. */
__attribute__((unused, noinline)) static void v16_widen(float *dst, size_t size, enum crumb_dtype type,
                                                        const void *src, size_t i, size_t count)
{
	for (size_t at = 0; at < size; at += V16) {
		const size_t left = at < count ? count - at : 0;
		v16_storef(dst + at, left >= V16 ? v16_load(type, src, i + at)
		                     : left      ? v16_load_partial(type, src, i + at, left)
		                                 : v16_set(0));
	}
}

/* return CALL with TYPE, a constant, in place of CRUMB_F32. The types of 16 bits share a loop that asks which
 * it is, at two thirds of the code. */
#define V16_BY_TYPE(type, CALL)                 \
	do {                                    \
		if (type == CRUMB_F32)          \
			return CALL(CRUMB_F32); \
		return CALL(type);              \
	} while (0)

/* ---- bits ----------------------------------------------------------------------------------- */

/* The number of the first bit, or one of 63 and 64 if there is none. */
V16_FN uint32_t v16_first_bit(uint64_t bits)
{
#ifdef P_HAS_BMI
	return (uint32_t)_tzcnt_u64(bits);
#else
	return (uint32_t)__builtin_ctzll(bits | 1ull << 63);
#endif
}

#endif
