/* Blocks: a dense tensor of small numbers, entropy-coded block by block (doc/FORMAT.md, 5).
 *
 * A symbol is one code of an element; a block is what is coded together. A codec writes its symbols in codes
 * of fixed width. blocks_encode replaces them, block by block, by their rANS or Huffman coding where that is
 * shorter, so that the result exceeds fixed width by at most two bytes a block. Neither side needs more than
 * 96 KiB of stack.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BLOCKS_H
#define BLOCKS_H

#include "base/bytes.h"
#include "base/frame_view.h"
#include "base/per_isa.h"

#define blocks_encode       PER_ISA(blocks_encode)
#define blocks_decode       PER_ISA(blocks_decode)
#define blocks_decode_range PER_ISA(blocks_decode_range)
#define blocks_check        PER_ISA(blocks_check)

enum {
	BLOCKS_MOST = 16,   /* most symbols of an alphabet */
	BLOCKS_RUN = 4096,  /* elements of a run, which is decoded at once */
	BLOCKS_STREAMS = 4, /* bit streams of a Huffman-coded block */
	BLOCKS_NIBBLES = 8, /* symbols of a 32-bit word of nibbles (nibbles.h) */
	BLOCKS_ROUND = BLOCKS_STREAMS * BLOCKS_RUN,
	BLOCKS_BLOCK_BYTES = 1 << 15, /* most bytes of a block's fixed-width codes */
};

/* BLOCKS_ENTROPY: rANS, for the highest compression; BLOCKS_HUFFMAN: at least one bit an element. */
enum blocks_coder { BLOCKS_ENTROPY, BLOCKS_HUFFMAN };

/* An alphabet, symbols 0 to count - 1, and its codes of fixed width. */
struct block_code {
	unsigned count;
	size_t width; /* bytes of the codes of a group of sixteen elements; 2 to 8 */
	/* Reads the symbols of groups, a byte each. */
	void (*get)(const uint8_t *codes, size_t groups, uint8_t *symbol);
	/* Reads the symbols of 8 * blocks groups as words of nibbles (nibbles.h). NULL: they are made of what
	 * get reads. */
	void (*nibbles)(const uint8_t *codes, size_t blocks, uint32_t *word);
};

/* Returns the elements of a block: as many rounds as have at most BLOCKS_BLOCK_BYTES of fixed-width codes. */
static inline size_t blocks_block(const struct block_code *code)
{
	return BLOCKS_BLOCK_BYTES / (code->width * (BLOCKS_ROUND / 16)) * BLOCKS_ROUND;
}

/* Return the bytes of the fixed-width codes of n elements, of the marks of their blocks, and of both. */
static inline size_t blocks_fixed(const struct block_code *code, size_t n)
{
	return code->width * divide_up(n, 16);
}
static inline size_t blocks_marks(const struct block_code *code, size_t n)
{
	return 2 * divide_up(n, blocks_block(code));
}
static inline size_t blocks_bound(const struct block_code *code, size_t n)
{
	return blocks_marks(code, n) + blocks_fixed(code, n);
}

/* Encodes the fixed-width codes of n elements to dst, which has room for blocks_bound bytes. Returns the
 * size. codes may overlap dst if they begin at dst + blocks_marks or later; they are overwritten then. Unused
 * codes of the last group are 0. */
size_t blocks_encode(uint8_t *dst, const uint8_t *codes, size_t n, const struct block_code *code,
                     enum blocks_coder coder);

/* Receives count <= BLOCKS_ROUND elements from number first on, a multiple of BLOCKS_RUN. symbol holds whole
 * groups of sixteen. */
typedef void blocks_put(void *to, size_t first, const uint8_t *symbol, size_t count);

/* Decodes exactly size bytes, and calls put (unless it is NULL) with all elements, in any order. Returns
 * false if the bytes are not well-formed; put may have been called by then. */
bool blocks_decode(const uint8_t *src, size_t size, size_t n, const struct block_code *code,
                   enum blocks_coder coder, blocks_put *put, void *to);

/* blocks_decode of those blocks alone that begin in the part. */
bool blocks_check(const struct part *part, const uint8_t *src, size_t size, size_t n,
                  const struct block_code *code, enum blocks_coder coder, blocks_put *put, void *to);

/* blocks_decode of elements [first, end) alone, from bytes that are well-formed. The first call of put begins
 * at first. acc: the n floats that put adds to, which are prefetched while symbols are decoded. */
void blocks_decode_range(const uint8_t *src, size_t size, size_t n, const struct block_code *code,
                         enum blocks_coder coder, blocks_put *put, void *to, const float *acc, size_t first,
                         size_t end);

#endif
