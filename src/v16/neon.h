/* Four lanes a part: AdvSIMD, which every 64-bit ARM has.
 *
 * Memory is read and written as bytes, which need no alignment.
 *
 * SPDX-License-Identifier: MIT */
#ifndef NEON_H
#define NEON_H

#include <arm_neon.h>

#define V16_LANES 4
#define P_FN      static inline V16_INLINE __attribute__((unused))
#define P_HAS_F16

typedef float32x4_t pf;
typedef uint32x4_t pi;
typedef uint32x4_t pm; /* all ones or zero, a lane */
typedef uint8x16x4_t v16t;

/* clang-format off */

P_FN pi p_bits_of(pf a) { return vreinterpretq_u32_f32(a); }
P_FN pf p_of_bits(pi a) { return vreinterpretq_f32_u32(a); }
P_FN pf p_set(float x) { return vdupq_n_f32(x); }
P_FN pi p_seti(uint32_t x) { return vdupq_n_u32(x); }
P_FN pf p_loadf(const float *src) { return vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)src)); }
P_FN void p_storef(float *dst, pf a) { vst1q_u8((uint8_t *)dst, vreinterpretq_u8_f32(a)); }
P_FN pi p_loadi(const uint32_t *src) { return vreinterpretq_u32_u8(vld1q_u8((const uint8_t *)src)); }
P_FN void p_storei(uint32_t *dst, pi a) { vst1q_u8((uint8_t *)dst, vreinterpretq_u8_u32(a)); }
P_FN pi p_load_u8(const uint8_t *src)
{
	uint32_t x;
	memcpy(&x, src, sizeof x);
	return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(x))));
}
P_FN pi p_load_u16(const uint8_t *src) { return vmovl_u16(vreinterpret_u16_u8(vld1_u8(src))); }
P_FN void p_store_u16(uint8_t *dst, pi a) { vst1_u8(dst, vreinterpret_u8_u16(vmovn_u32(a))); }
P_FN void p_store_u8(uint8_t *dst, pi a)
{
	const uint16x4_t x = vmovn_u32(a);
	const uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(x, x))), 0);
	memcpy(dst, &bytes, sizeof bytes);
}
P_FN pf p_load_f16(const uint8_t *src) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(src))); }
P_FN void p_store_f16(uint8_t *dst, pf a) { vst1_u8(dst, vreinterpret_u8_f16(vcvt_f16_f32(a))); }
P_FN pf p_add(pf a, pf b) { return vaddq_f32(a, b); }
P_FN pf p_sub(pf a, pf b) { return vsubq_f32(a, b); }
P_FN pf p_mul(pf a, pf b) { return vmulq_f32(a, b); }
/* Not vminq and vmaxq, which order -0 before +0. */
P_FN pf p_min(pf a, pf b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
P_FN pf p_max(pf a, pf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
P_FN float p_max_lane(pf a) { return vmaxvq_f32(a); }
P_FN pf p_abs(pf a) { return vabsq_f32(a); }
P_FN pf p_max_abs_nan(pf a, pf b)
{
	return vreinterpretq_f32_s32(
	        vmaxq_s32(vreinterpretq_s32_f32(vabsq_f32(a)), vreinterpretq_s32_f32(b)));
}
P_FN pm p_ge(pf a, pf b) { return vcgeq_f32(a, b); }
P_FN pm p_gt(pf a, pf b) { return vcgtq_f32(a, b); }
P_FN pm p_ne(pf a, pf b) { return vmvnq_u32(vceqq_f32(a, b)); }
P_FN pm p_negative(pf a) { return vcltzq_s32(vreinterpretq_s32_f32(a)); }
P_FN pm p_both(pm a, pm b) { return vandq_u32(a, b); }
P_FN pm p_either(pm a, pm b) { return vorrq_u32(a, b); }
P_FN pm p_lti(pi a, pi b) { return vcltq_u32(a, b); }
P_FN pi p_addi(pi a, pi b) { return vaddq_u32(a, b); }
P_FN pi p_addi_signed(pi a, pi b, pf y)
{
	return vbslq_u32(vcltzq_s32(vreinterpretq_s32_f32(y)), vsubq_u32(a, b), vaddq_u32(a, b));
}
P_FN pi p_subi(pi a, pi b) { return vsubq_u32(a, b); }
P_FN pi p_muli(pi a, pi b) { return vmulq_u32(a, b); }
P_FN pi p_mulhi_twice(pi a, pi b)
{
	a = vaddq_u32(a, a);
	const uint32x4_t low = vreinterpretq_u32_u64(vmull_u32(vget_low_u32(a), vget_low_u32(b)));
	const uint32x4_t high = vreinterpretq_u32_u64(vmull_u32(vget_high_u32(a), vget_high_u32(b)));
	return vuzp2q_u32(low, high);
}
P_FN pi p_andi(pi a, pi b) { return vandq_u32(a, b); }
P_FN pi p_ori(pi a, pi b) { return vorrq_u32(a, b); }
P_FN pi p_xori(pi a, pi b) { return veorq_u32(a, b); }
/* NEON's shift by a register is to the left, and to the right by a negative number. */
P_FN pi p_shl(pi a, int s) { return vshlq_u32(a, vdupq_n_s32(s)); }
P_FN pi p_shr(pi a, int s) { return vshlq_u32(a, vdupq_n_s32(-s)); }
P_FN pi p_shrv(pi a, pi s) { return vshlq_u32(a, vnegq_s32(vreinterpretq_s32_u32(s))); }
P_FN pf p_float_of(pi a) { return vcvtq_f32_s32(vreinterpretq_s32_u32(a)); }
P_FN pi p_trunc(pf a) { return vcvtq_u32_f32(a); }
P_FN pi p_ceil(pf a) { return vcvtpq_u32_f32(a); }
P_FN pf p_pick(pm m, pf a, pf b) { return vbslq_f32(m, a, b); }
P_FN pi p_and_maski(pm m, pi a) { return vandq_u32(m, a); }
P_FN pi p_lane(void) { return (pi){1, 2, 4, 8}; } /* the bit of each */
P_FN unsigned p_bits(pm m) { return vaddvq_u32(vandq_u32(m, p_lane())); }
P_FN pm p_mask(unsigned bits) { return vtstq_u32(vdupq_n_u32(bits), p_lane()); }
P_FN v16t p_table(const float *entries)
{
	const uint8_t *byte = (const uint8_t *)entries;
	return (v16t){{vld1q_u8(byte), vld1q_u8(byte + 16), vld1q_u8(byte + 32), vld1q_u8(byte + 48)}};
}
P_FN v16t p_table4(const float *entries)
{
	const uint8x16_t table = vld1q_u8((const uint8_t *)entries);
	return (v16t){{table, table, table, table}};
}
/* The four bytes of each entry, by number. */
P_FN uint8x16_t p_entry(pi at)
{
	return vreinterpretq_u8_u32(vmlaq_u32(vdupq_n_u32(0x03020100), at, vdupq_n_u32(0x04040404)));
}
P_FN pf p_lookup(v16t t, pi at) { return vreinterpretq_f32_u8(vqtbl4q_u8(t, p_entry(at))); }
P_FN pf p_lookup8(v16t t, pi at)
{
	const uint8x16x2_t low = {{t.val[0], t.val[1]}};
	return vreinterpretq_f32_u8(vqtbl2q_u8(low, p_entry(at)));
}
P_FN pf p_lookup_pair(v16t t, pi x, pi place)
{
	const pi at = vandq_u32(p_shrv(x, place), vdupq_n_u32(3));
	return vreinterpretq_f32_u8(vqtbl1q_u8(t.val[0], p_entry(at)));
}

#endif
