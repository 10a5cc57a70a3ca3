/* How often each symbol of a block occurs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COUNT_H
#define COUNT_H

#include "coding/nibbles.h"

#if defined P_HAS_ONES && defined P_HAS_NIBBLES

/* Of two registers every other stretch of so many bits, those that even names, and the others. */
V16_FN void unzip(v16i *evens, v16i *odds, v16i a, v16i b, int bits, uint32_t even)
{
	*evens = v16_ori(v16_andi(a, v16_seti(even)), v16_shl(v16_andi(b, v16_seti(even)), bits));
	*odds = v16_ori(v16_shr(v16_andi(a, v16_seti(~even)), bits), v16_andi(b, v16_seti(~even)));
}

/* Of 512 symbols, all in the same order, the bits worth 1, 2, 4 and 8. */
V16_FN void bits_of_nibbles(v16i bit[BLOCKS_MOST], const uint32_t *word)
{
	v16i pair[4];
	for (int k = 0; k < 2; k++, word += 2 * V16)
		unzip(&pair[k], &pair[k + 2], v16_loadi(word), v16_loadi(word + V16), 2, 0x33333333);
	unzip(&bit[1], &bit[2], pair[0], pair[1], 1, 0x55555555);
	unzip(&bit[4], &bit[8], pair[2], pair[3], 1, 0x55555555);
}

V16_FN uint32_t sum_of_lanes(v16i x)
{
	uint32_t lane[V16], sum = 0;
	v16_storei(lane, x);
	for (int k = 0; k < V16; k++)
		sum += lane[k];
	return sum;
}

/* By their bits: how often bits are set together, less how often others are set with them, is how often a
 * symbol occurs. That takes fifteen counts for 512 symbols, or seven, where comparing takes sixteen for 64.
 */
V16_FN void count_below(uint32_t count[BLOCKS_MOST], const int most, const uint8_t *codes, size_t groups,
                        const struct block_code *s)
{
	enum { RUN = BLOCKS_RUN / V16, AT_ONCE = 4 };
	uint32_t word[BLOCKS_RUN / BLOCKS_NIBBLES];
	v16i with[BLOCKS_MOST];
	for (int j = 1; j < most; j++)
		with[j] = v16_seti(0);
	for (size_t g = 0; g < groups; g += RUN) {
		const size_t here = groups - g < RUN ? groups - g : RUN,
		             words = divide_up(here, BLOCKS_NIBBLES),
		             end = divide_up(words, AT_ONCE) * AT_ONCE;
		symbols_nibbles(word, codes + s->width * g, here, s);
		memset(word + V16 * words, 0, sizeof *word * V16 * (end - words));
		for (size_t i = 0; i < end; i += AT_ONCE) {
			v16i all[BLOCKS_MOST];
			bits_of_nibbles(all, word + V16 * i);
			for (int j = 1; j < most; j++) {
				if (j & (j - 1))
					all[j] = v16_andi(all[j & (j - 1)], all[j & -j]);
				with[j] = v16_addi(with[j], v16_ones(all[j]));
			}
		}
	}
	memset(count, 0, BLOCKS_MOST * sizeof *count);
	count[0] = (uint32_t)(V16 * groups);
	for (int j = 1; j < most; j++)
		count[j] = sum_of_lanes(with[j]);
	for (int bit = 1; bit < most; bit *= 2)
		for (int j = 0; j < most; j++)
			if (!(j & bit))
				count[j] -= count[j | bit];
}

static void count_symbols(uint32_t count[BLOCKS_MOST], const uint8_t *codes, size_t groups,
                          const struct block_code *s)
{
	if (s->count <= 8)
		count_below(count, 8, codes, groups, s);
	else
		count_below(count, BLOCKS_MOST, codes, groups, s);
}

#else

/* Of a few words, in four lanes of 16 bits. */
static inline uint32_t sum_of_bytes(const uint8_t *src, size_t size)
{
	const uint64_t even = 0x00FF00FF00FF00FF;
	uint64_t sum = 0, word;
	for (size_t i = 0; i < size; i += sizeof word) {
		memcpy(&word, src + i, sizeof word);
		sum += (word & even) + (word >> 8 & even);
	}
	return (uint32_t)(sum * 0x0001000100010001 >> 48);
}

/* Run by run in lanes of a byte each, which a run does not fill, and four symbols at a time. A compiler takes
 * vectors wider than a register apart, byte by byte. */
static void count_symbols(uint32_t count[BLOCKS_MOST], const uint8_t *codes, size_t groups,
                          const struct block_code *s)
{
	enum { LANES = V16_LANES < 8 ? 16 : 32, RUN = 128 * LANES, AT_ONCE = 4 };
	typedef uint8_t lanes __attribute__((vector_size(LANES), aligned(1), may_alias));
	uint8_t symbol[RUN];
	memset(count, 0, BLOCKS_MOST * sizeof *count);
	for (size_t g = 0; g < groups; g += RUN / V16) {
		const size_t here = groups - g < RUN / V16 ? groups - g : RUN / V16,
		             end = divide_up(V16 * here, LANES) * LANES;
		s->get(codes + s->width * g, here, symbol);
		memset(symbol + V16 * here, 0xFF, end - V16 * here);
		for (unsigned j = 0; j < s->count; j += AT_ONCE) {
			lanes lane[AT_ONCE] = {{0}};
			for (size_t i = 0; i < end; i += LANES)
				for (unsigned k = 0; k < AT_ONCE; k++)
					lane[k] -= (lanes)(*(const lanes *)(symbol + i) ==
					                   (lanes){0} + (uint8_t)(j + k));
			for (unsigned k = 0; k < AT_ONCE; k++)
				count[j + k] += sum_of_bytes((const uint8_t *)&lane[k], LANES);
		}
	}
}

#endif

#endif
