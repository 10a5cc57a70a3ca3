/* Huffman: a block of symbols in a canonical prefix code of at most 11 bits a symbol, as ALQ has it.
 *
 * Four streams of bits, so that four look-ups are under way at once: run t of 4,096 elements belongs to
 * stream t mod 4. Bits are taken from the lowest of a byte on, a code's first bit first. The encoder looks up
 * two symbols at a time, the decoder 11 bits and the up to four symbols that are whole in them. All is
 * scalar, and so compiled once for all instruction sets.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HUFFMAN_H
#define HUFFMAN_H

#include "coding/blocks.h"

enum { HUFFMAN_BITS = 11, HUFFMAN_SLOTS = 1 << HUFFMAN_BITS };

/* Codes a block: lengths, two a byte, the bytes of three streams, four streams. Returns the size, or 0 if it
 * is not below most. */
size_t crumb_huffman_encode(uint8_t *dst, size_t most, const uint8_t *codes, size_t groups,
                            const struct block_code *s, const uint32_t count[BLOCKS_MOST]);

struct huffman_decoder {
	/* By the next 11 bits: up to four symbols, a byte each from bit 0 on; from bit 32 on how many bits
	 * they have; from bit 40 on how many symbols there are. */
	uint64_t slot[HUFFMAN_SLOTS];
	uint8_t length[BLOCKS_MOST];
	const uint8_t *end; /* of the block */
	const float *ask;   /* as in rans_decode.h */
	struct {
		const uint8_t *begin;
		size_t size, bit; /* bytes; bits taken */
	} stream[BLOCKS_STREAMS];
};

/* Opens a block of count symbols; decodes the next groups, of which all rounds but the last are whole;
 * whether it ended where it should. */
bool crumb_huffman_open(struct huffman_decoder *d, const uint8_t *src, size_t size, unsigned count);
bool crumb_huffman_next(struct huffman_decoder *d, uint8_t *symbol, size_t groups);
bool crumb_huffman_close(const struct huffman_decoder *d);

#endif
