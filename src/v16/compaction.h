/* Compaction: the lanes of a mask written one after another, and read back. Included by v16.h alone.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMPACTION_H
#define COMPACTION_H

#ifdef P_HAS_LIST
/* Writes, a byte each, the numbers of the lanes that are not 0, of which lane 0 has number first. Writes 16
 * bytes. Returns the numbers' end. */
V16_FN uint8_t *v16_list_numbers(uint8_t *dst, v16i x, unsigned first)
{
	EACH_PART(dst = p_list_numbers(dst, x.p[k], first + k * V16_LANES))
	return dst;
}
#endif

/* Writes the numbers of the bits that are set, 1 to 63, a byte each; number i gets its bits 6 and 7 from
 * bit i of sixth and seventh. Up to 64 bytes may be written. Returns the numbers' end. */
V16_FN uint8_t *v16_compress_numbers(uint8_t *dst, uint64_t set, uint64_t sixth, uint64_t seventh)
{
#ifdef P_HAS_COMPRESS_NUMBERS
	return p_compress_numbers(dst, set, sixth, seventh);
#else
	uint8_t *const end = dst + __builtin_popcountll(set);
	do { /* three at a time: a branch on whether there is one more would be mispredicted */
		for (int k = 0; k < 3; k++, set &= set - 1) {
			const uint32_t i = v16_first_bit(set) % 64;
			*dst++ = (uint8_t)(i | (sixth >> i & 1) << 6 | (seventh >> i & 1) << 7);
		}
	} while (set);
	return end;
#endif
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
/* Writes the lanes of a in m and then those of b in n. Up to 64 bytes before end may be written. */
V16_FN uint8_t *v16_compress_both_u16(uint8_t *end, v16m m, v16i a, v16m n, v16i b)
{
#ifdef P_HAS_COMPRESS_BOTH
	return p_compress_both_u16(end, m.p[0], a.p[0], n.p[0], b.p[0]);
#else
	return v16_compress_u16(v16_compress_u16(end, n, b), m, a);
#endif
}
/* The reverse: x * 2^16 plus the next word in the lanes in m, x in the others. Returns the end of the words
 * that were used. Up to 32 bytes may be read. */
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

#endif
