/* The histogram of a block's symbols.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COUNT_H
#define COUNT_H

#include "coding/nibbles.h"

#if defined P_HAS_ONES && defined P_HAS_NIBBLES

/* Deinterleaves fields of so many bits: evens gets those of a and b that the mask even selects, odds the
 * others. */
V16_FN void unzip(v16i *evens, v16i *odds, v16i a, v16i b, int bits, uint32_t even)
{
	*evens = v16_ori(v16_andi(a, v16_seti(even)), v16_shl(v16_andi(b, v16_seti(even)), bits));
	*odds = v16_ori(v16_shr(v16_andi(a, v16_seti(~even)), bits), v16_andi(b, v16_seti(~even)));
}

/* Transposes the nibbles of 512 symbols into bit planes: plane[1], [2], [4] and [8] have the bits of that
 * value of all symbols, in the same order. */
V16_FN void bit_planes(v16i plane[BLOCKS_MOST], const uint32_t *word)
{
	v16i pair[4];
	for (int k = 0; k < 2; k++, word += 2 * V16)
		unzip(&pair[k], &pair[k + 2], v16_loadi(word), v16_loadi(word + V16), 2, 0x33333333);
	unzip(&plane[1], &plane[2], pair[0], pair[1], 1, 0x55555555);
	unzip(&plane[4], &plane[8], pair[2], pair[3], 1, 0x55555555);
}

V16_FN uint32_t sum_of_lanes(v16i x)
{
	uint32_t lane[V16], sum = 0;
	v16_storei(lane, x);
	for (int k = 0; k < V16; k++)
		sum += lane[k];
	return sum;
}

/* Counts with population counts: with[j] is the number of symbols that have all bits of j, from which
 * inclusion and exclusion leave those that are j. That is at most fifteen counts for 512 symbols; comparing
 * bytes takes sixteen for 64. */
V16_FN void count_below(uint32_t count[BLOCKS_MOST], const int most, const uint8_t *codes, size_t groups,
                        const struct block_code *code)
{
	enum { RUN = BLOCKS_RUN / V16, AT_ONCE = 4 };
	run_symbols word;
	v16i with[BLOCKS_MOST];
	for (int j = 1; j < most; j++)
		with[j] = v16_seti(0);
	for (size_t g = 0; g < groups; g += RUN) {
		const size_t here = groups - g < RUN ? groups - g : RUN,
		             words = divide_up(here, BLOCKS_NIBBLES),
		             end = divide_up(words, AT_ONCE) * AT_ONCE;
		read_nibbles(word, codes + code->width * g, here, code);
		memset(word + V16 * words, 0, sizeof *word * V16 * (end - words));
		for (size_t i = 0; i < end; i += AT_ONCE) {
			v16i all[BLOCKS_MOST];
			bit_planes(all, word + V16 * i);
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

/* Counts the symbols of groups. */
static void count_symbols(uint32_t count[BLOCKS_MOST], const uint8_t *codes, size_t groups,
                          const struct block_code *code)
{
	if (code->count <= 8)
		count_below(count, 8, codes, groups, code);
	else
		count_below(count, BLOCKS_MOST, codes, groups, code);
}

#else

/* Adds up size bytes, a multiple of 8, in four lanes of 16 bits. */
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

/* Counts the symbols of groups by comparison, in lanes of a byte that a run cannot overflow; four symbols at
 * a time, so that the counts stay in registers. Vectors are no wider than a register: a compiler splits wider
 * ones into bytes. */
static void count_symbols(uint32_t count[BLOCKS_MOST], const uint8_t *codes, size_t groups,
                          const struct block_code *code)
{
	enum { LANES = V16_LANES < 8 ? 16 : 32, RUN = 128 * LANES, AT_ONCE = 4 };
	typedef uint8_t lanes __attribute__((vector_size(LANES), aligned(1), may_alias));
	uint8_t symbol[RUN];
	memset(count, 0, BLOCKS_MOST * sizeof *count);
	for (size_t g = 0; g < groups; g += RUN / V16) {
		const size_t here = groups - g < RUN / V16 ? groups - g : RUN / V16,
		             end = divide_up(V16 * here, LANES) * LANES;
		code->get(codes + code->width * g, here, symbol);
		memset(symbol + V16 * here, 0xFF, end - V16 * here);
		for (unsigned j = 0; j < code->count; j += AT_ONCE) {
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
