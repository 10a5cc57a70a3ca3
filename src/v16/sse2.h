/* Four lanes a part: SSE2, which every x86-64 has.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SSE2_H
#define SSE2_H

#include <emmintrin.h>

#define V16_LANES 4
#define P_FN      static inline V16_INLINE __attribute__((unused))

typedef __m128 pf;
typedef __m128i pi;
typedef __m128i pm; /* all ones or zero, a lane */
typedef const float *v16t;

/* clang-format off */

P_FN pi p_bits_of(pf a) { return _mm_castps_si128(a); }
P_FN pf p_of_bits(pi a) { return _mm_castsi128_ps(a); }
P_FN pf p_set(float x) { return _mm_set1_ps(x); }
P_FN pi p_seti(uint32_t x) { return _mm_set1_epi32((int)x); }
P_FN pf p_loadf(const float *src) { return _mm_loadu_ps(src); }
P_FN void p_storef(float *dst, pf a) { _mm_storeu_ps(dst, a); }
P_FN pi p_loadi(const uint32_t *src) { return _mm_loadu_si128((const __m128i *)src); }
P_FN void p_storei(uint32_t *dst, pi a) { _mm_storeu_si128((__m128i *)dst, a); }
P_FN pi p_load_u8(const uint8_t *src)
{
	int x;
	memcpy(&x, src, sizeof x);
	const __m128i zero = _mm_setzero_si128();
	return _mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(x), zero), zero);
}
P_FN pi p_load_u16(const uint8_t *src)
{
	return _mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)src), _mm_setzero_si128());
}
/* SSE2 has signed saturation alone; sign-extended from sixteen bits, no lane is saturated. */
P_FN __m128i p_narrow(pi a)
{
	const __m128i x = _mm_srai_epi32(_mm_slli_epi32(a, 16), 16);
	return _mm_packs_epi32(x, x);
}
P_FN void p_store_u16(uint8_t *dst, pi a) { _mm_storel_epi64((__m128i *)dst, p_narrow(a)); }
P_FN void p_store_u8(uint8_t *dst, pi a)
{
	const __m128i x = p_narrow(a);
	const int bytes = _mm_cvtsi128_si32(_mm_packus_epi16(x, x));
	memcpy(dst, &bytes, sizeof bytes);
}
P_FN pf p_add(pf a, pf b) { return _mm_add_ps(a, b); }
P_FN pf p_sub(pf a, pf b) { return _mm_sub_ps(a, b); }
P_FN pf p_mul(pf a, pf b) { return _mm_mul_ps(a, b); }
P_FN pf p_min(pf a, pf b) { return _mm_min_ps(a, b); }
P_FN pf p_max(pf a, pf b) { return _mm_max_ps(a, b); }
P_FN float p_max_lane(pf a)
{
	const __m128 two = _mm_max_ps(a, _mm_movehl_ps(a, a));
	return _mm_cvtss_f32(_mm_max_ps(two, _mm_shuffle_ps(two, two, 1)));
}
P_FN pf p_abs(pf a) { return _mm_andnot_ps(_mm_set1_ps(-0.0f), a); }
P_FN pf p_max_abs_nan(pf a, pf b)
{
	const __m128 size = p_abs(a);
	const __m128 worse = _mm_castsi128_ps(_mm_cmpgt_epi32(_mm_castps_si128(size), _mm_castps_si128(b)));
	return _mm_or_ps(_mm_and_ps(worse, size), _mm_andnot_ps(worse, b));
}
P_FN pm p_ge(pf a, pf b) { return _mm_castps_si128(_mm_cmpge_ps(a, b)); }
P_FN pm p_gt(pf a, pf b) { return _mm_castps_si128(_mm_cmpgt_ps(a, b)); }
P_FN pm p_ne(pf a, pf b) { return _mm_castps_si128(_mm_cmpneq_ps(a, b)); }
P_FN pm p_negative(pf a) { return _mm_srai_epi32(_mm_castps_si128(a), 31); }
P_FN pm p_both(pm a, pm b) { return _mm_and_si128(a, b); }
P_FN pm p_either(pm a, pm b) { return _mm_or_si128(a, b); }
P_FN pm p_lti(pi a, pi b) { return _mm_cmplt_epi32(a, b); }
P_FN pi p_addi(pi a, pi b) { return _mm_add_epi32(a, b); }
P_FN pi p_addi_signed(pi a, pi b, pf y)
{
	const __m128i down = _mm_srai_epi32(_mm_castps_si128(y), 31);
	return _mm_add_epi32(a, _mm_sub_epi32(_mm_xor_si128(b, down), down));
}
P_FN pi p_subi(pi a, pi b) { return _mm_sub_epi32(a, b); }
P_FN pi p_muli(pi a, pi b)
{
	const __m128i even = _mm_mul_epu32(a, b);
	const __m128i odd = _mm_mul_epu32(_mm_srli_si128(a, 4), _mm_srli_si128(b, 4));
	return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, 8), _mm_shuffle_epi32(odd, 8));
}
P_FN pi p_mulhi_twice(pi a, pi b)
{
	const __m128i even = _mm_mul_epu32(a, b);
	const __m128i odd = _mm_mul_epu32(_mm_srli_epi64(a, 31), _mm_srli_epi64(b, 32));
	return _mm_or_si128(_mm_srli_epi64(even, 31), _mm_slli_epi64(_mm_srli_epi64(odd, 32), 32));
}
P_FN pi p_andi(pi a, pi b) { return _mm_and_si128(a, b); }
P_FN pi p_ori(pi a, pi b) { return _mm_or_si128(a, b); }
P_FN pi p_xori(pi a, pi b) { return _mm_xor_si128(a, b); }
P_FN pi p_shr(pi a, int s) { return _mm_srli_epi32(a, s); }
P_FN pi p_shl(pi a, int s) { return _mm_slli_epi32(a, s); }
/* SSE2 shifts all lanes by one number: a is shifted by each lane's, and that lane is kept. */
P_FN pi p_shrv(pi a, pi s)
{
	const __m128i odd = _mm_srli_epi64(s, 32), even = _mm_srli_epi64(_mm_slli_epi64(s, 32), 32);
	const __m128 x0 = _mm_castsi128_ps(_mm_srl_epi32(a, even));
	const __m128 x1 = _mm_castsi128_ps(_mm_srl_epi32(a, odd));
	const __m128 x2 = _mm_castsi128_ps(_mm_srl_epi32(a, _mm_unpackhi_epi64(even, even)));
	const __m128 x3 = _mm_castsi128_ps(_mm_srl_epi32(a, _mm_unpackhi_epi64(odd, odd)));
	const __m128 low = _mm_shuffle_ps(x0, x1, _MM_SHUFFLE(1, 1, 0, 0));
	const __m128 high = _mm_shuffle_ps(x2, x3, _MM_SHUFFLE(3, 3, 2, 2));
	return _mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
}
P_FN pf p_float_of(pi a) { return _mm_cvtepi32_ps(a); }
P_FN pi p_trunc(pf a) { return _mm_cvttps_epi32(a); }
P_FN pi p_ceil(pf a)
{
	const __m128i below = _mm_cvttps_epi32(a); /* too large a number gives -2^31, too */
	const __m128 up = _mm_cmpgt_ps(a, p_abs(_mm_cvtepi32_ps(below)));
	return _mm_sub_epi32(below, _mm_castps_si128(up));
}
P_FN pf p_pick(pm m, pf a, pf b)
{
	const __m128 mask = _mm_castsi128_ps(m);
	return _mm_or_ps(_mm_and_ps(mask, a), _mm_andnot_ps(mask, b));
}
P_FN pi p_and_maski(pm m, pi a) { return _mm_and_si128(m, a); }
P_FN unsigned p_bits(pm m) { return (unsigned)_mm_movemask_ps(_mm_castsi128_ps(m)); }
P_FN pm p_mask(unsigned bits)
{
	const __m128i lane = _mm_setr_epi32(1, 2, 4, 8);
	return _mm_cmpeq_epi32(_mm_and_si128(_mm_set1_epi32((int)bits), lane), lane);
}
P_FN v16t p_table(const float *entries) { return entries; }
P_FN v16t p_table4(const float *entries) { return entries; }
P_FN pf p_lookup(v16t t, pi at)
{
	const uint64_t low = (uint64_t)_mm_cvtsi128_si64(at);
	const uint64_t high = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(at, at));
	return _mm_setr_ps(t[(uint32_t)low], t[low >> 32], t[(uint32_t)high], t[high >> 32]);
}
P_FN pf p_lookup8(v16t t, pi at) { return p_lookup(t, at); }
P_FN pf p_lookup_pair(v16t t, pi x, pi place) { return p_lookup(t, p_andi(p_shrv(x, place), p_seti(3))); }

#endif
