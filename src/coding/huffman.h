/* Huffman: a block of symbols in a canonical prefix code of at most 11 bits a symbol (ALQ codes so).
 *
 * There are four bit streams, so that four look-ups are in flight at once: run t of 4,096 elements belongs to
 * stream t mod 4. The encoder looks up two symbols at a time; the decoder looks up 11 bits, and finds the up
 * to four symbols that are whole in them. All is scalar, and so compiled once for all instruction sets.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HUFFMAN_H
#define HUFFMAN_H

#include "coding/blocks.h"

enum { HUFFMAN_BITS = 11, HUFFMAN_SLOTS = 1 << HUFFMAN_BITS };

/* Encodes a block: code lengths, two a byte; the sizes of three streams; four streams. Returns the size, or 0
 * if it is not below limit. */
size_t crumb_huffman_encode(uint8_t *dst, size_t limit, const uint8_t *codes, size_t groups,
                            const struct block_code *code, const uint32_t count[BLOCKS_MOST]);

struct huffman_decoder {
	/* By the next 11 bits: up to four symbols, a byte each, in the lower 32 bits; the bits that these
	 * take, in bits 32 to 39; the number of symbols, from bit 40 on. */
	uint64_t slot[HUFFMAN_SLOTS];
	uint8_t length[BLOCKS_MOST];
	const uint8_t *end; /* of the block */
	const float *acc;   /* as in struct rans_decoder */
	struct {
		const uint8_t *begin;
		size_t size, bit; /* bytes; bits taken */
	} stream[BLOCKS_STREAMS];
};

/* Opens a block of an alphabet of count symbols; returns false if its head is malformed. */
bool crumb_huffman_open(struct huffman_decoder *d, const uint8_t *src, size_t size, unsigned count);
/* Decodes the next groups: a round, or what is left of the block. */
bool crumb_huffman_next(struct huffman_decoder *d, uint8_t *symbol, size_t groups);
/* Returns true if all streams ended where they should. */
bool crumb_huffman_close(const struct huffman_decoder *d);

#endif
