/* The symbols of a run as the rANS encoder takes them, group by group from the last to the first.
 *
 * Where a table look-up sees only the lowest four bits of a lane (AVX-512), symbols are packed as nibbles: a
 * lane of a register holds its symbols of eight consecutive groups, the first group's lowest, and a rotation
 * brings the next symbol down. Elsewhere a symbol is a byte.
 *
 * SPDX-License-Identifier: MIT */
#ifndef NIBBLES_H
#define NIBBLES_H

#include "coding/blocks.h"
#include "v16/v16.h"

#ifdef P_HAS_NIBBLES

/* Packs the symbols of groups <= BLOCKS_RUN / 16; those that are missing from the last register are 0. */
__attribute__((noinline)) static void read_nibbles(uint32_t *word, const uint8_t *codes, size_t groups,
                                                   const struct block_code *code)
{
	const size_t whole = code->nibbles ? groups / BLOCKS_NIBBLES : 0;
	uint8_t symbol[V16 * BLOCKS_NIBBLES];
	if (whole)
		code->nibbles(codes, whole, word);
	for (size_t g = BLOCKS_NIBBLES * whole; g < groups; g += BLOCKS_NIBBLES) {
		const size_t here = groups - g < BLOCKS_NIBBLES ? groups - g : BLOCKS_NIBBLES;
		v16i x = v16_seti(0);
		code->get(codes + code->width * g, here, symbol);
		for (size_t k = here; k-- > 0;)
			x = v16_ori(v16_shl(x, 4), v16_load_u8(symbol + V16 * k));
		v16_storei(word + V16 * (g / BLOCKS_NIBBLES), x);
	}
}

typedef uint32_t run_symbols[BLOCKS_RUN / BLOCKS_NIBBLES];
typedef v16i run_cursor;

V16_FN void run_read(run_symbols run, const uint8_t *codes, size_t groups, const struct block_code *code)
{
	read_nibbles(run, codes, groups, code);
}

/* Returns a cursor to the here <= 8 groups before group end, which is the end of the run or a multiple of 8:
 * their register, rotated so that one more rotation brings the last group's symbols down. */
V16_FN run_cursor run_seek(const run_symbols run, size_t end, size_t here)
{
	v16i at = v16_loadi(run + V16 * ((end - here) / BLOCKS_NIBBLES));
	for (; here < BLOCKS_NIBBLES; here++)
		at = v16_rotl(at, 4);
	return at;
}

/* Returns the symbols of the group before, in the lowest four bits of the lanes. */
V16_FN v16i run_previous(run_cursor *at)
{
	*at = v16_rotl(*at, 4);
	return *at;
}

#else

typedef uint8_t run_symbols[BLOCKS_RUN];
typedef const uint8_t *run_cursor;

V16_FN void run_read(run_symbols run, const uint8_t *codes, size_t groups, const struct block_code *code)
{
	code->get(codes, groups, run);
}

V16_FN run_cursor run_seek(const run_symbols run, size_t end, size_t here)
{
	(void)here;
	return run + V16 * end;
}

V16_FN v16i run_previous(run_cursor *at)
{
	*at -= V16;
	return v16_load_u8(*at);
}

#endif

#endif
