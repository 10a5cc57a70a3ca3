/* Sixteen lanes a part: AVX-512 F, BW, DQ, VL, VBMI, VBMI2, VPOPCNTDQ (Ice Lake, Zen 4 and later).
 *
 * SPDX-License-Identifier: MIT */
#ifndef AVX512_H
#define AVX512_H

#include <immintrin.h>

#define V16_LANES 16
#define P_FN      static inline V16_INLINE __attribute__((unused))
#define P_HAS_BITS_OF_TWO
#define P_HAS_BMI
#define P_HAS_COMPRESS
#define P_HAS_COMPRESS_BOTH
#define P_HAS_COMPRESS_NUMBERS
#define P_HAS_F16
#define P_HAS_FUSED
#define P_HAS_LIST
#define P_HAS_NIBBLES
#define P_HAS_ONES
#define P_HAS_PAIRS 256
#define P_HAS_SHIFT_IN
#define P_HAS_REFILL
#define P_HAS_WORDS
#define P_LOOKUP_BITS 4

typedef __m512 pf;
typedef __m512i pi;
typedef __mmask16 pm;
typedef __m512 v16t;

/* clang-format off */

P_FN pi p_bits_of(pf a) { return _mm512_castps_si512(a); }
P_FN pf p_of_bits(pi a) { return _mm512_castsi512_ps(a); }
P_FN pf p_set(float x) { return _mm512_set1_ps(x); }
P_FN pi p_seti(uint32_t x) { return _mm512_set1_epi32((int)x); }
P_FN pf p_loadf(const float *src) { return _mm512_loadu_ps(src); }
P_FN void p_storef(float *dst, pf a) { _mm512_storeu_ps(dst, a); }
P_FN pi p_loadi(const uint32_t *src) { return _mm512_loadu_si512(src); }
P_FN void p_storei(uint32_t *dst, pi a) { _mm512_storeu_si512(dst, a); }
P_FN pi p_load_u8(const uint8_t *src) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)src)); }
P_FN void p_store_u8(uint8_t *dst, pi a) { _mm_storeu_si128((__m128i *)dst, _mm512_cvtepi32_epi8(a)); }
P_FN pi p_load_u16(const uint8_t *src) { return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)src)); }
P_FN void p_store_u16(uint8_t *dst, pi a) { _mm256_storeu_si256((__m256i *)dst, _mm512_cvtepi32_epi16(a)); }
P_FN pf p_load_f16(const uint8_t *src) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)src)); }
P_FN void p_store_f16(uint8_t *dst, pf a)
{
	_mm256_storeu_si256((__m256i *)dst, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
P_FN pf p_add(pf a, pf b) { return _mm512_add_ps(a, b); }
P_FN pf p_sub(pf a, pf b) { return _mm512_sub_ps(a, b); }
P_FN pf p_mul(pf a, pf b) { return _mm512_mul_ps(a, b); }
P_FN pf p_min(pf a, pf b) { return _mm512_min_ps(a, b); }
P_FN pf p_max(pf a, pf b) { return _mm512_max_ps(a, b); }
/* |a| and |b| are compared, b >= 0. */
P_FN pf p_min_abs(pf a, pf b) { return _mm512_range_ps(a, b, 10); }
P_FN pf p_max_abs(pf a, pf b) { return _mm512_range_ps(a, b, 11); }
P_FN pf p_max_abs_nan(pf a, pf b)
{
	return _mm512_castsi512_ps(
	        _mm512_max_epi32(_mm512_castps_si512(_mm512_abs_ps(a)), _mm512_castps_si512(b)));
}
P_FN float p_max_lane(pf a) { return _mm512_reduce_max_ps(a); }
P_FN pf p_abs(pf a) { return _mm512_abs_ps(a); }
P_FN pm p_ge(pf a, pf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
P_FN pm p_gt(pf a, pf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
P_FN pm p_ne(pf a, pf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
P_FN pm p_negative(pf a) { return _mm512_movepi32_mask(_mm512_castps_si512(a)); }
P_FN pm p_both(pm a, pm b) { return a & b; }
P_FN pm p_either(pm a, pm b) { return a | b; }
P_FN pm p_lti(pi a, pi b) { return _mm512_cmplt_epi32_mask(a, b); }
P_FN pf p_min_abs_nonzero(pf a, pf b) { return _mm512_mask_range_ps(b, p_ne(a, p_set(0)), a, b, 10); }
P_FN pi p_addi(pi a, pi b) { return _mm512_add_epi32(a, b); }
P_FN pi p_addi_signed(pi a, pi b, pf y)
{
	return _mm512_mask_sub_epi32(_mm512_add_epi32(a, b), _mm512_movepi32_mask(_mm512_castps_si512(y)), a,
	                             b);
}
P_FN pi p_subi(pi a, pi b) { return _mm512_sub_epi32(a, b); }
P_FN pi p_muli(pi a, pi b) { return _mm512_mullo_epi32(a, b); }
P_FN pi p_mulhi_twice(pi a, pi b)
{
	const __m512i even = _mm512_mul_epu32(_mm512_add_epi32(a, a), b);
	const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 31), _mm512_srli_epi64(b, 32));
	return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
}
P_FN pi p_andi(pi a, pi b) { return _mm512_and_si512(a, b); }
P_FN pi p_ori(pi a, pi b) { return _mm512_or_si512(a, b); }
P_FN pi p_xori(pi a, pi b) { return _mm512_xor_si512(a, b); }
P_FN pi p_xor3(pi a, pi b, pi c) { return _mm512_ternarylogic_epi32(a, b, c, 0x96); }
P_FN pi p_shr_where(pm m, pi a, int s) { return _mm512_mask_srli_epi32(a, m, a, (unsigned)s); }
P_FN pi p_shift_in(pi a, pi b, int s) { return _mm512_shrdv_epi32(a, b, _mm512_set1_epi32(s)); }
P_FN pi p_shr(pi a, int s) { return _mm512_srli_epi32(a, (unsigned)s); }
P_FN pi p_shl(pi a, int s) { return _mm512_slli_epi32(a, (unsigned)s); }
P_FN pi p_ones(pi a) { return _mm512_popcnt_epi32(a); }
P_FN pi p_shrv(pi a, pi s) { return _mm512_srlv_epi32(a, s); }
P_FN pi p_shrv_low(pi a, pi s) { return _mm512_shrdv_epi32(a, _mm512_setzero_si512(), s); }
/* a >> 16, of numbers below 2^31; a multiplication, since the ports that shift are busier. */
P_FN pi p_upper(pi a) { return _mm512_madd_epi16(a, _mm512_set1_epi32(0x10000)); }
P_FN pf p_float_of(pi a) { return _mm512_cvtepi32_ps(a); }
P_FN pi p_trunc(pf a) { return _mm512_cvttps_epi32(a); }
P_FN pi p_ceil(pf a) { return _mm512_cvt_roundps_epi32(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
P_FN pf p_pick(pm m, pf a, pf b) { return _mm512_mask_mov_ps(b, m, a); }
P_FN pi p_addi_where(pm m, pi a, pi b) { return _mm512_mask_add_epi32(a, m, a, b); }
P_FN pf p_sub_where(pm m, pf a, pf b) { return _mm512_mask_sub_ps(a, m, a, b); }
P_FN pi p_and_maski(pm m, pi a) { return _mm512_maskz_mov_epi32(m, a); }
P_FN unsigned p_bits(pm m) { return m; }
P_FN uint32_t p_bits_of_two(const pm *a, const pm *b) { return _cvtmask32_u32(_mm512_kunpackw(*b, *a)); }
P_FN pm p_mask(unsigned bits) { return (pm)bits; }
/* Replaces each half of each of 32 bytes by its entry: one bit an element becomes two. */
P_FN pi p_pairs(const uint8_t *bits, const uint8_t entry[16])
{
	const __m512i x = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)bits));
	const __m512i half =
	        _mm512_and_si512(_mm512_or_si512(x, _mm512_slli_epi16(x, 4)), _mm512_set1_epi8(15));
	return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)entry)), half);
}
P_FN pi p_load_planes(const uint8_t *src, unsigned planes)
{
	const __m512i bytes = _mm512_maskz_loadu_epi8(~(__mmask64)0 >> (64 - 16 * planes), src);
#define BYTES(lane) (0x30201000 + 0x01010101 * (lane))
	return _mm512_permutexvar_epi8(_mm512_setr_epi32(BYTES(0), BYTES(1), BYTES(2), BYTES(3), BYTES(4),
	                                                 BYTES(5), BYTES(6), BYTES(7), BYTES(8), BYTES(9),
	                                                 BYTES(10), BYTES(11), BYTES(12), BYTES(13),
	                                                 BYTES(14), BYTES(15)),
	                               bytes);
#undef BYTES
}
P_FN pi p_to_each_byte(pi a, unsigned bits)
{
	const uint64_t from = 0x2020202000000000 + 0x0302010003020100 * (uint64_t)bits;
	return _mm512_multishift_epi64_epi8(_mm512_set1_epi64((long long)from), a);
}
/* Sums of trits take a byte each. */
typedef __m128i pb;
P_FN pi p_of_bytes(pb a) { return _mm512_cvtepu8_epi32(a); }
P_FN pb p_no_trit(void) { return _mm_setzero_si128(); }
P_FN pb p_add_trit(pb x, unsigned number, pm m, pf y)
{
	static const uint32_t worth[5] = {0x51515151, 0x1B1B1B1B, 0x09090909, 0x03030303, 0x01010101};
	const __m128i one = _mm_set1_epi32((int)worth[number]), two = _mm_add_epi8(one, one);
	return _mm_mask_add_epi8(x, m, x, _mm_mask_blend_epi8(p_negative(y), one, two));
}
P_FN v16t p_table(const float *entries) { return _mm512_loadu_ps(entries); }
/* Entries repeat, so bits above a pair have no effect. */
P_FN v16t p_table4(const float *entries) { return _mm512_broadcast_f32x4(_mm_loadu_ps(entries)); }
P_FN pf p_lookup_pair(v16t t, pi x, pi place) { return _mm512_permutexvar_ps(_mm512_srlv_epi32(x, place), t); }
P_FN pf p_lookup(v16t t, pi at) { return _mm512_permutexvar_ps(at, t); }
P_FN pf p_lookup8(v16t t, pi at) { return _mm512_permutexvar_ps(at, t); }
/* The words are compressed in a register and moved up to its end: a compressing or masked store takes some
 * CPUs a hundred cycles. */
P_FN uint8_t *p_compress_u16(uint8_t *end, pm m, pi a)
{
	const __m256i lane = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	const __m256i words = _mm256_maskz_compress_epi16(m, _mm512_cvtepi32_epi16(a));
	const __m256i from = _mm256_add_epi16(lane, _mm256_set1_epi16((short)_mm_popcnt_u32(m)));
	_mm256_storeu_si256((__m256i *)(end - 32), _mm256_permutexvar_epi16(from, words));
	return end - 2 * _mm_popcnt_u32(m);
}
P_FN uint8_t *p_list_numbers(uint8_t *dst, pi x, unsigned first)
{
	const __m128i lane = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	const pm some = _mm512_test_epi32_mask(x, x);
	const __m128i number = _mm_add_epi8(lane, _mm_set1_epi8((char)first));
	_mm_storeu_si128((__m128i *)dst, _mm_maskz_compress_epi8(some, number));
	return dst + _mm_popcnt_u32(some);
}
/* Bits 6 and 7 are set before the store: a byte load after it would wait. */
P_FN uint8_t *p_compress_numbers(uint8_t *dst, uint64_t set, uint64_t sixth, uint64_t seventh)
{
	static const uint8_t number[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
	                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
	                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
	                                   48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
	const __m512i bit7 = _mm512_maskz_set1_epi8(seventh, (char)0x80), bit6 = _mm512_maskz_set1_epi8(sixth, 0x40);
	const __m512i bytes = _mm512_or_si512(_mm512_loadu_si512(number), _mm512_or_si512(bit7, bit6));
	_mm512_storeu_si512(dst, _mm512_maskz_compress_epi8(set, bytes));
	return dst + _mm_popcnt_u64(set);
}
P_FN uint8_t *p_compress_both_u16(uint8_t *end, pm m, pi a, pm n, pi b)
{
	static const uint16_t from[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
	                                  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
	                                  0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
	                                  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
	static const uint16_t low[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
	                                 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62};
	const __mmask32 both = _mm512_kunpackw(n, m);
	const int count = _mm_popcnt_u32(both);
	const __m512i lanes = _mm512_permutex2var_epi16(a, _mm512_loadu_si512(low), b);
	const __m512i words = _mm512_maskz_compress_epi16(both, lanes);
	_mm512_storeu_si512(end - 64, _mm512_permutexvar_epi16(_mm512_loadu_si512(from + count), words));
	return end - 2 * count;
}

/* Words of sixteen bits, from the lanes of two groups: lane i of a is word 2 i, that of b word 2 i + 1. */
P_FN pi p_words(pi a, pi b) { return _mm512_mask_blend_epi16(0xAAAAAAAA, a, _mm512_slli_epi32(b, 16)); }
P_FN pi p_lower(pi a) { return _mm512_and_si512(a, _mm512_set1_epi32(0xFFFF)); }
P_FN pi p_setw(uint16_t x) { return _mm512_set1_epi16((short)x); }
P_FN pi p_subw(pi a, pi b) { return _mm512_sub_epi16(a, b); }
/* 2 a, plus 1 where b is negative. */
P_FN pi p_push_signw(pi a, pi b) { return _mm512_shldi_epi16(a, b, 1); }
P_FN pi p_tablew(const float *entries)
{
	return _mm512_castsi256_si512(_mm512_cvtepi32_epi16(_mm512_loadu_si512(entries)));
}
P_FN pi p_lookupw(pi t, pi at) { return _mm512_permutexvar_epi16(at, t); }
P_FN void p_store_words_u8(uint8_t *dst, pi a)
{
	const __m512i first = _mm512_castsi128_si512(
	        _mm_setr_epi8(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60));
	const __m512i from = _mm512_inserti32x4(
	        first, _mm_setr_epi8(2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46, 50, 54, 58, 62), 1);
	_mm256_storeu_si256((__m256i *)dst, _mm512_castsi512_si256(_mm512_permutexvar_epi8(from, a)));
}
P_FN const uint8_t *p_refill(const uint8_t *src, pm m, pi x, pi *to)
{
	static const uint16_t above[32] = {0, 0, 0, 1, 0, 2,  0, 3,  0, 4,  0, 5,  0, 6,  0, 7,
	                                   0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
	const __m512i words = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)src));
	const __m512i next = _mm512_maskz_permutexvar_epi16(0xAAAAAAAA, _mm512_loadu_si512(above), words);
	*to = _mm512_mask_shldi_epi32(x, m, x, _mm512_maskz_expand_epi32(m, next), 16);
	return src + 2 * _mm_popcnt_u32(m);
}

#endif
