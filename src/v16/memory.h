/* Sixteen lanes from memory and to it: numbers of one to four bytes, f16 and bf16, and gradients of any type.
 * No address need be aligned. Included by v16.h alone.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MEMORY_H
#define MEMORY_H

#include "crumb.h"
#include "v16/prefetch.h"

/* clang-format off */
V16_EACH(v16f, v16_loadf, (const float *src), p_loadf(src + k * V16_LANES))
V16_EACH(v16i, v16_loadi, (const uint32_t *src), p_loadi(src + k * V16_LANES))
V16_EACH(v16i, v16_load_u8, (const uint8_t *src), p_load_u8(src + k * V16_LANES))
V16_EACH(v16i, v16_load_u16, (const void *src), p_load_u16((const uint8_t *)src + 2 * k * V16_LANES))
V16_FN void v16_storef(float *dst, v16f a) { EACH_PART(p_storef(dst + k * V16_LANES, a.p[k])) }
V16_FN void v16_storei(uint32_t *dst, v16i a) { EACH_PART(p_storei(dst + k * V16_LANES, a.p[k])) }
/* The lanes must fit. */
V16_FN void v16_store_u8(uint8_t *dst, v16i a) { EACH_PART(p_store_u8(dst + k * V16_LANES, a.p[k])) }
V16_FN void v16_store_u16(void *dst, v16i a) { EACH_PART(p_store_u16((uint8_t *)dst + 2 * k * V16_LANES, a.p[k])) }
#ifdef P_HAS_NIBBLES
/* Reads 16 * planes bytes, planes <= 4: byte j of lane i is byte i of plane j. */
V16_FN v16i v16_load_planes(const uint8_t *src, unsigned planes) { return (v16i){{p_load_planes(src, planes)}}; }
#endif
/* clang-format on */

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

/* The lanes added in order, from lane 0 to lane 15. */
V16_FN float v16_sum_lanes(v16f a)
{
	float lane[V16];
	v16_storef(lane, a);
	float sum = lane[0];
	for (int i = 1; i < V16; i++)
		sum += lane[i];
	return sum;
}

/* ---- f16 and bf16 --------------------------------------------------------------------------- */

V16_FN v16f v16_load_bf16(const void *src) { return v16_of_bits(v16_shl(v16_load_u16(src), 16)); }

/* The upper halves of the lanes are the bf16, rounded to nearest even. No lane may be a NaN or an infinity,
 * or round to one. */
V16_FN v16i v16_round_bf16(v16f a)
{
	const v16i x = v16_bits_of(a);
	const v16i odd = v16_andi(v16_shr(x, 16), v16_seti(1));
	return v16_addi(x, v16_addi(odd, v16_seti(0x7FFF)));
}
V16_FN void v16_store_bf16(void *dst, v16f a) { v16_store_u16(dst, v16_shr(v16_round_bf16(a), 16)); }

/* Stores round to nearest even; |a| <= 65504. */
#ifdef P_HAS_F16
/* clang-format off */
V16_EACH(v16f, v16_load_f16, (const void *src), p_load_f16((const uint8_t *)src + 2 * k * V16_LANES))
V16_FN void v16_store_f16(void *dst, v16f a) { EACH_PART(p_store_f16((uint8_t *)dst + 2 * k * V16_LANES, a.p[k])) }
/* clang-format on */
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

/* Bytes of an element. */
V16_FN size_t v16_width(enum crumb_dtype type)
{
	return type == CRUMB_F32 ? 4 : 2;
}

/* The sixteen elements from number i on. */
V16_FN v16f v16_load(enum crumb_dtype type, const void *src, size_t i)
{
	if (type == CRUMB_F32)
		return v16_loadf((const float *)src + i);
	const uint8_t *at = (const uint8_t *)src + 2 * i;
	return type == CRUMB_F16 ? v16_load_f16(at) : v16_load_bf16(at);
}

/* v16_stream: v16_load in a loop through memory, with a prefetch. */
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

/* v16_..._partial: the first count <= 16 lanes alone; a load sets the others to 0. */
V16_FN v16f v16_load_partial(enum crumb_dtype type, const void *src, size_t i, size_t count)
{
	float lane[V16] = {0};
	memcpy(lane, (const uint8_t *)src + v16_width(type) * i, v16_width(type) * count);
	return v16_load(type, lane, 0);
}
V16_FN v16f v16_loadf_partial(const float *src, size_t count)
{
	return v16_load_partial(CRUMB_F32, src, 0, count);
}
V16_FN void v16_storef_partial(float *dst, v16f a, size_t count)
{
	float lane[V16];
	v16_storef(lane, a);
	memcpy(dst, lane, count * sizeof *lane);
}

/* v16_..._some: all lanes, or the first left if these are fewer. */
V16_FN v16f v16_loadf_some(const float *src, size_t left)
{
	return left < V16 ? v16_loadf_partial(src, left) : v16_loadf(src);
}
V16_FN void v16_storef_some(float *dst, v16f a, size_t left)
{
	if (left < V16)
		v16_storef_partial(dst, a, left);
	else
		v16_storef(dst, a);
}
/* acc += a. */
V16_FN void v16_add_some(float *acc, v16f a, size_t left)
{
	prefetch(acc, crumb_stream_prefetch);
	v16_storef_some(acc, v16_add(v16_loadf_some(acc, left), a), left);
}

/* Writes the count elements from number i on as f32, and zeros up to dst[size - 1]; size is a multiple of 16.
 */
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

/* Does CALL(type), compiled for f32 and, at two thirds of the code of three loops, for both types of 16 bits
 * together. */
#define V16_BY_TYPE(type, CALL)          \
	do {                             \
		if (type == CRUMB_F32)   \
			CALL(CRUMB_F32); \
		else                     \
			CALL(type);      \
	} while (0)

#endif
