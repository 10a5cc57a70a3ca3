/* Symbols as words: each lane has its symbols of eight groups, four bits each, the first group's lowest. That
 * is for machines whose tables are looked up by the lower four bits of a lane, whatever is above.
 *
 * SPDX-License-Identifier: MIT */
#ifndef NIBBLES_H
#define NIBBLES_H

#include "coding/blocks.h"
#include "v16/v16.h"

#ifdef P_HAS_NIBBLES

/* Of 16 * groups <= BLOCKS_RUN symbols; those that are missing from the last eight groups are 0. */
__attribute__((noinline)) static void symbols_nibbles(uint32_t *word, const uint8_t *codes, size_t groups,
                                                      const struct block_code *s)
{
	const size_t whole = s->nibbles ? groups / BLOCKS_NIBBLES : 0;
	uint8_t symbol[V16 * BLOCKS_NIBBLES];
	if (whole)
		s->nibbles(codes, whole, word);
	for (size_t g = BLOCKS_NIBBLES * whole; g < groups; g += BLOCKS_NIBBLES) {
		const size_t here = groups - g < BLOCKS_NIBBLES ? groups - g : BLOCKS_NIBBLES;
		v16i x = v16_seti(0);
		s->get(codes + s->width * g, here, symbol);
		for (size_t k = here; k-- > 0;)
			x = v16_ori(v16_shl(x, 4), v16_load_u8(symbol + V16 * k));
		v16_storei(word + V16 * (g / BLOCKS_NIBBLES), x);
	}
}

#endif

#endif
