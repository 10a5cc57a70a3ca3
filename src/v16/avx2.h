/* Eight lanes a part: AVX2, BMI2, F16C (Haswell, Zen and later).
 *
 * SPDX-License-Identifier: MIT */
#ifndef AVX2_H
#define AVX2_H

#include "v16/compact_table.h"
#include <immintrin.h>

#define V16_LANES 8
#define P_FN      static inline V16_INLINE __attribute__((unused))
#define P_HAS_BITS_OF_TWO
#define P_HAS_BMI
#define P_HAS_COMPRESS
#define P_HAS_F16
#define P_HAS_GT_SIZE
#define P_HAS_LIST
#define P_HAS_PAIRS 128
#define P_HAS_TRITS
#define P_LOOKUP_BITS 3

typedef __m256 pf;
typedef __m256i pi;
typedef __m256i pm; /* all ones or zero, a lane */
typedef struct {
	__m256 low, high;
} v16t;

/* clang-format off */

P_FN pi p_bits_of(pf a) { return _mm256_castps_si256(a); }
P_FN pf p_of_bits(pi a) { return _mm256_castsi256_ps(a); }
P_FN pf p_set(float x) { return _mm256_set1_ps(x); }
P_FN pi p_seti(uint32_t x) { return _mm256_set1_epi32((int)x); }
P_FN pf p_loadf(const float *src) { return _mm256_loadu_ps(src); }
P_FN void p_storef(float *dst, pf a) { _mm256_storeu_ps(dst, a); }
P_FN pi p_loadi(const uint32_t *src) { return _mm256_loadu_si256((const __m256i *)src); }
P_FN void p_storei(uint32_t *dst, pi a) { _mm256_storeu_si256((__m256i *)dst, a); }
P_FN pi p_load_u8(const uint8_t *src) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)src)); }
P_FN pi p_load_u16(const uint8_t *src) { return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)src)); }
P_FN __m128i p_narrow(pi a) { return _mm_packus_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)); }
P_FN void p_store_u16(uint8_t *dst, pi a) { _mm_storeu_si128((__m128i *)dst, p_narrow(a)); }
P_FN void p_store_u8(uint8_t *dst, pi a)
{
	const __m128i x = p_narrow(a);
	_mm_storel_epi64((__m128i *)dst, _mm_packus_epi16(x, x));
}
P_FN pf p_load_f16(const uint8_t *src) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)src)); }
P_FN void p_store_f16(uint8_t *dst, pf a)
{
	_mm_storeu_si128((__m128i *)dst, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
P_FN pf p_add(pf a, pf b) { return _mm256_add_ps(a, b); }
P_FN pf p_sub(pf a, pf b) { return _mm256_sub_ps(a, b); }
P_FN pf p_mul(pf a, pf b) { return _mm256_mul_ps(a, b); }
P_FN pf p_min(pf a, pf b) { return _mm256_min_ps(a, b); }
P_FN pf p_max(pf a, pf b) { return _mm256_max_ps(a, b); }
P_FN float p_max_lane(pf a)
{
	const __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
	const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_max_ps(two, _mm_movehdup_ps(two)));
}
P_FN pf p_abs(pf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
P_FN pf p_max_abs_nan(pf a, pf b)
{
	return _mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(p_abs(a)), _mm256_castps_si256(b)));
}
P_FN pm p_ge(pf a, pf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GE_OQ)); }
P_FN pm p_gt(pf a, pf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GT_OQ)); }
P_FN pm p_ne(pf a, pf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_NEQ_UQ)); }
P_FN pm p_negative(pf a) { return _mm256_srai_epi32(_mm256_castps_si256(a), 31); }
P_FN pm p_both(pm a, pm b) { return _mm256_and_si256(a, b); }
P_FN pm p_either(pm a, pm b) { return _mm256_or_si256(a, b); }
P_FN pm p_lti(pi a, pi b) { return _mm256_cmpgt_epi32(b, a); }
P_FN pm p_gt_size(pf a, pf b) { return p_lti(p_bits_of(b), p_bits_of(a)); } /* twice as many ports do it */
P_FN pi p_addi(pi a, pi b) { return _mm256_add_epi32(a, b); }
P_FN pi p_addi_signed(pi a, pi b, pf y) { return _mm256_add_epi32(a, _mm256_sign_epi32(b, _mm256_castps_si256(y))); }
P_FN pi p_subi(pi a, pi b) { return _mm256_sub_epi32(a, b); }
P_FN pi p_muli(pi a, pi b) { return _mm256_mullo_epi32(a, b); }
P_FN pi p_mulhi_twice(pi a, pi b)
{
	const __m256i even = _mm256_mul_epu32(a, b);
	const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 31), _mm256_srli_epi64(b, 32));
	return _mm256_blend_epi32(_mm256_srli_epi64(even, 31), odd, 0xAA);
}
P_FN pi p_andi(pi a, pi b) { return _mm256_and_si256(a, b); }
P_FN pi p_ori(pi a, pi b) { return _mm256_or_si256(a, b); }
P_FN pi p_xori(pi a, pi b) { return _mm256_xor_si256(a, b); }
P_FN pi p_shr(pi a, int s) { return _mm256_srli_epi32(a, s); }
P_FN pi p_shl(pi a, int s) { return _mm256_slli_epi32(a, s); }
P_FN pi p_shrv(pi a, pi s) { return _mm256_srlv_epi32(a, s); }
P_FN pf p_float_of(pi a) { return _mm256_cvtepi32_ps(a); }
P_FN pi p_trunc(pf a) { return _mm256_cvttps_epi32(a); }
P_FN pi p_ceil(pf a) { return _mm256_cvttps_epi32(_mm256_ceil_ps(a)); } /* too large a number gives 2^31, too */
P_FN pf p_pick(pm m, pf a, pf b) { return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(m)); }
P_FN pi p_and_maski(pm m, pi a) { return _mm256_and_si256(m, a); }
P_FN unsigned p_bits(pm m) { return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m)); }
/* Five operations; the bits of each part would take ten. */
P_FN uint32_t p_bits_of_two(const pm a[2], const pm b[2])
{
	const __m256i two = _mm256_packs_epi32(a[0], a[1]), next = _mm256_packs_epi32(b[0], b[1]);
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	return (uint32_t)_mm256_movemask_epi8(_mm256_permutevar8x32_epi32(_mm256_packs_epi16(two, next), order));
}
P_FN pm p_mask(unsigned bits)
{
	const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), lane), lane);
}
/* Replaces each half of each of 16 bytes by its entry: one bit an element becomes two. */
P_FN pi p_pairs(const uint8_t *bits, const uint8_t entry[16])
{
	const __m256i x = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)bits));
	const __m256i half =
	        _mm256_and_si256(_mm256_or_si256(x, _mm256_slli_epi16(x, 4)), _mm256_set1_epi8(15));
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)entry)),
	                           half);
}
/* The lanes of a mask of eight as bytes: p_bytes, all ones in their places; p_lanes, their numbers, compacted. */
P_FN uint64_t p_bytes(unsigned bits) { return _pdep_u64(bits, 0x0101010101010101) * 255; }
P_FN uint64_t p_lanes(unsigned bits) { return crumb_compact_table[bits]; }
/* The words of these numbers, a byte each; 0 for a negative number. */
P_FN __m128i p_words(__m128i words, uint64_t numbers)
{
	const __m128i n = _mm_cvtepi8_epi16(_mm_cvtsi64_si128((long long)numbers));
	const __m128i bytes =
	        _mm_add_epi16(_mm_mullo_epi16(n, _mm_set1_epi16(0x0202)), _mm_set1_epi16(0x0100));
	return _mm_shuffle_epi8(words, bytes);
}
P_FN uint8_t *p_compress_u16(uint8_t *end, pm m, pi a)
{
	const unsigned bits = p_bits(m), count = (unsigned)_mm_popcnt_u32(bits);
	const uint64_t last = p_lanes(bits) << ((64 - 8 * count) & 63); /* the numbers end with byte 7 */
	const __m128i words = p_narrow(_mm256_and_si256(a, _mm256_set1_epi32(0xFFFF)));
	_mm_storeu_si128((__m128i *)(end - 16), p_words(words, last));
	return end - 2 * count;
}
P_FN const uint8_t *p_expand_u16(const uint8_t *src, pm m, pi *a)
{
	const unsigned bits = p_bits(m);
	const uint64_t here = p_bytes(bits), rank = _pdep_u64(0x0706050403020100, here);
	*a = _mm256_cvtepu16_epi32(p_words(_mm_loadu_si128((const __m128i *)src), rank | ~here));
	return src + 2 * _mm_popcnt_u32(bits);
}
P_FN uint8_t *p_list_numbers(uint8_t *dst, pi x, unsigned first)
{
	const unsigned bits = 255 ^ p_bits(_mm256_cmpeq_epi32(x, _mm256_setzero_si256()));
	const uint64_t numbers = p_lanes(bits) + first * UINT64_C(0x0101010101010101);
	memcpy(dst, &numbers, sizeof numbers);
	return dst + _mm_popcnt_u32(bits);
}
/* Sums of sixteen trits are the upper bytes of words, in the order of packs_epi32. The lower bytes, 241, make
 * the division of p_put_trits round 256 v / 243 up. */
P_FN pi p_no_trits(void) { return _mm256_set1_epi16(241); }
P_FN pi p_add_trits(pi x, unsigned number, const pm m[2], const pf y[2])
{
	static const int worth[5] = {81 << 8, 27 << 8, 9 << 8, 3 << 8, 1 << 8};
	const __m256i one = _mm256_set1_epi16((short)worth[number]), two = _mm256_add_epi16(one, one);
	const __m256i sign = _mm256_packs_epi32(_mm256_castps_si256(y[0]), _mm256_castps_si256(y[1]));
	return _mm256_add_epi16(
	        x, _mm256_and_si256(_mm256_packs_epi32(m[0], m[1]), _mm256_blendv_epi8(one, two, sign)));
}
P_FN void p_put_trits(uint8_t *dst, pi x)
{
	const __m256i by = _mm256_set1_epi16((short)34522), order = _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5);
	const __m256i v = _mm256_srli_epi16(_mm256_mulhi_epu16(x, by), 7);
	const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(v, v), order);
	_mm_storeu_si128((__m128i *)dst, _mm256_castsi256_si128(bytes));
}
P_FN v16t p_table(const float *entries)
{
	return (v16t){_mm256_loadu_ps(entries), _mm256_loadu_ps(entries + 8)};
}
/* Entries repeat, so bits above a pair have no effect. */
P_FN v16t p_table4(const float *entries)
{
	const __m256 table = _mm256_broadcast_ps((const __m128 *)entries);
	return (v16t){table, table};
}
P_FN pf p_lookup_pair(v16t t, pi x, pi place) { return _mm256_permutevar8x32_ps(t.low, _mm256_srlv_epi32(x, place)); }
P_FN pf p_lookup8(v16t t, pi at) { return _mm256_permutevar8x32_ps(t.low, at); }
P_FN pf p_lookup(v16t t, pi at)
{
	const __m256 upper = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)); /* bit 3 in the sign */
	return _mm256_blendv_ps(p_lookup8(t, at), _mm256_permutevar8x32_ps(t.high, at), upper);
}

#endif
