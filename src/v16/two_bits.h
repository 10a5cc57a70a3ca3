/* Codes of two bits an element: sixteen elements are one little-endian word, the first element its lowest
 * bits.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TWO_BITS_H
#define TWO_BITS_H

#include "base/bytes.h"
#include "v16/v16.h"

/* Moves bit i to bit 2i. */
V16_FN uint64_t v16_spread(uint32_t bits)
{
#ifdef P_HAS_BMI
	return _pdep_u64(bits, 0x5555555555555555u);
#else
	uint64_t x = bits;
	x = (x | x << 16) & 0x0000FFFF0000FFFFu;
	x = (x | x << 8) & 0x00FF00FF00FF00FFu;
	x = (x | x << 4) & 0x0F0F0F0F0F0F0F0Fu;
	x = (x | x << 2) & 0x3333333333333333u;
	return (x | x << 1) & 0x5555555555555555u;
#endif
}

/* Returns the bit positions of a group's codes. */
V16_FN v16i bits_places(void)
{
	static const uint32_t place[V16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
	return v16_loadi(place);
}
/* Returns a group's codes. */
V16_FN v16i bits_get(const uint8_t *src)
{
	return v16_andi(v16_shrv(v16_seti(get_u32(src)), bits_places()), v16_seti(3));
}
/* Returns the table's entries for a group's codes. */
V16_FN v16f bits_lookup(v16t table4, const uint8_t *src)
{
	return v16_lookup_pair(table4, v16_seti(get_u32(src)), bits_places());
}

#endif
