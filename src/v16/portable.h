/* One lane a part, in plain C: runs everywhere; the other instruction sets are tested against it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PORTABLE_H
#define PORTABLE_H

#define V16_LANES 1
#undef V16_INLINE
#define V16_INLINE /* forced inlining of sixteen scalars a value would compile for minutes */
#define P_FN       static inline V16_INLINE __attribute__((unused))

typedef float pf;
typedef uint32_t pi;
typedef uint32_t pm; /* all ones or zero */
typedef const float *v16t;

/* clang-format off */

P_FN pi p_bits_of(pf a)
{
	pi r;
	memcpy(&r, &a, sizeof r);
	return r;
}
P_FN pf p_of_bits(pi a)
{
	pf r;
	memcpy(&r, &a, sizeof r);
	return r;
}
P_FN pf p_set(float x) { return x; }
P_FN pi p_seti(uint32_t x) { return x; }
P_FN pf p_loadf(const void *src) /* of any alignment, which clang does not assume of a float's */
{
	pf x;
	memcpy(&x, src, sizeof x);
	return x;
}
P_FN void p_storef(void *dst, pf a) { memcpy(dst, &a, sizeof a); }
P_FN pi p_loadi(const uint32_t *src) { return *src; }
P_FN void p_storei(uint32_t *dst, pi a) { *dst = a; }
P_FN pi p_load_u8(const uint8_t *src) { return *src; }
P_FN void p_store_u8(uint8_t *dst, pi a) { *dst = (uint8_t)a; }
P_FN pi p_load_u16(const uint8_t *src)
{
	uint16_t x;
	memcpy(&x, src, sizeof x);
	return x;
}
P_FN void p_store_u16(uint8_t *dst, pi a)
{
	const uint16_t x = (uint16_t)a;
	memcpy(dst, &x, sizeof x);
}
P_FN pf p_add(pf a, pf b) { return a + b; }
P_FN pf p_sub(pf a, pf b) { return a - b; }
P_FN pf p_mul(pf a, pf b) { return a * b; }
P_FN pf p_min(pf a, pf b) { return a < b ? a : b; }
P_FN pf p_max(pf a, pf b) { return a > b ? a : b; }
P_FN float p_max_lane(pf a) { return a; }
P_FN pf p_abs(pf a) { return p_of_bits(p_bits_of(a) & 0x7FFFFFFFu); }
P_FN pf p_max_abs_nan(pf a, pf b)
{
	const pi size = p_bits_of(a) & 0x7FFFFFFFu, most = p_bits_of(b);
	return p_of_bits(size > most ? size : most);
}
P_FN pm p_ge(pf a, pf b) { return a >= b ? ~0u : 0; }
P_FN pm p_gt(pf a, pf b) { return a > b ? ~0u : 0; }
P_FN pm p_ne(pf a, pf b) { return a != b ? ~0u : 0; }
P_FN pm p_negative(pf a) { return p_bits_of(a) >> 31 ? ~0u : 0; }
P_FN pm p_both(pm a, pm b) { return a & b; }
P_FN pm p_either(pm a, pm b) { return a | b; }
P_FN pm p_lti(pi a, pi b) { return a < b ? ~0u : 0; }
P_FN pi p_addi(pi a, pi b) { return a + b; }
P_FN pi p_addi_signed(pi a, pi b, pf y)
{
	const pi down = -(p_bits_of(y) >> 31);
	return a + ((b ^ down) - down);
}
P_FN pi p_subi(pi a, pi b) { return a - b; }
P_FN pi p_muli(pi a, pi b) { return a * b; }
P_FN pi p_mulhi_twice(pi a, pi b) { return (pi)((uint64_t)a * b >> 31); }
P_FN pi p_andi(pi a, pi b) { return a & b; }
P_FN pi p_ori(pi a, pi b) { return a | b; }
P_FN pi p_xori(pi a, pi b) { return a ^ b; }
P_FN pi p_shr(pi a, int s) { return a >> s; }
P_FN pi p_shl(pi a, int s) { return a << s; }
P_FN pi p_shrv(pi a, pi s) { return a >> s; }
P_FN pf p_float_of(pi a) { return (float)(int32_t)a; }
P_FN pi p_trunc(pf a) { return (pi)a; }
P_FN pi p_ceil(pf a) { return (uint32_t)a + ((float)(uint32_t)a < a); }
P_FN pf p_pick(pm m, pf a, pf b) { return p_of_bits((p_bits_of(a) & m) | (p_bits_of(b) & ~m)); }
P_FN pi p_and_maski(pm m, pi a) { return a & m; }
P_FN unsigned p_bits(pm m) { return m & 1; }
P_FN pm p_mask(unsigned bits) { return bits ? ~0u : 0; }
P_FN v16t p_table(const float *entries) { return entries; }
P_FN v16t p_table4(const float *entries) { return entries; }
P_FN pf p_lookup_pair(v16t t, pi x, pi place) { return t[x >> place & 3]; }
P_FN pf p_lookup(v16t t, pi at) { return t[at]; }
P_FN pf p_lookup8(v16t t, pi at) { return t[at]; }

#endif
