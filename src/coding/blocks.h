/* Symbols: a dense tensor of small numbers, entropy-coded block by block (doc/FORMAT.md, 5).
 *
 * A codec writes its fixed-width codes, and blocks_encode turns them into what is shorter, a block at a
 * time: coded, or as they were. So no coding is longer than fixed width by more than two bytes a block. Each
 * block stands for itself, and neither side needs more than 96 KiB of stack.
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
	BLOCKS_MOST = 16,   /* different symbols */
	BLOCKS_RUN = 4096,  /* elements that are looked at together */
	BLOCKS_STREAMS = 4, /* of a Huffman-coded block */
	BLOCKS_NIBBLES = 8, /* of a word: groups that one has symbols of (nibbles.h) */
	BLOCKS_ROUND = BLOCKS_STREAMS * BLOCKS_RUN,
	BLOCKS_BLOCK_BYTES = 1 << 15, /* most bytes of a block's fixed-width codes */
};

/* entropy: rANS, for the highest compression; huffman: at least one bit an element. */
enum blocks_coder { BLOCKS_ENTROPY, BLOCKS_HUFFMAN };

/* What is coded: symbols 0 to count - 1, at most 16, which stand in codes of fixed width. */
struct block_code {
	unsigned count;
	size_t width; /* bytes of the codes of a group of sixteen; 2 to 8 */
	/* Reads the symbols of so many groups, one a byte. */
	void (*get)(const uint8_t *codes, size_t groups, uint8_t *symbol);
	/* The same of so many times eight groups as words of nibbles, where these are used (nibbles.h); NULL:
	 * from what get reads. */
	void (*nibbles)(const uint8_t *codes, size_t blocks, uint32_t *word);
};

/* Elements of a block: as many rounds as have at most BLOCKS_BLOCK_BYTES of fixed-width codes. */
static inline size_t blocks_block(const struct block_code *s)
{
	return BLOCKS_BLOCK_BYTES / (s->width * (BLOCKS_ROUND / 16)) * BLOCKS_ROUND;
}

/* Bytes of the fixed-width codes, and of the two bytes a block before them. */
static inline size_t blocks_fixed(const struct block_code *s, size_t n)
{
	return s->width * divide_up(n, 16);
}
static inline size_t blocks_marks(const struct block_code *s, size_t n)
{
	return 2 * divide_up(n, blocks_block(s));
}
static inline size_t blocks_bound(const struct block_code *s, size_t n)
{
	return blocks_marks(s, n) + blocks_fixed(s, n);
}

/* Codes the blocks_fixed bytes of codes and returns the size. They stand at dst + blocks_marks, or further
 * on, and then up to blocks_bound bytes at dst are written and codes no longer what they were; or apart from
 * these bytes. Unused codes of the last group are 0. */
size_t blocks_encode(uint8_t *dst, const uint8_t *codes, size_t n, const struct block_code *s,
                     enum blocks_coder coder);

/* Decodes exactly size bytes; false if they are not well-formed, which shows at the latest at the end. Calls
 * put, unless it is NULL, with every stretch of count <= BLOCKS_ROUND elements, in any order: its first
 * element is number first, a multiple of BLOCKS_RUN, and of each group all sixteen symbols may be read. */
typedef void blocks_put(void *to, size_t first, const uint8_t *symbol, size_t count);
bool blocks_decode(const uint8_t *src, size_t size, size_t n, const struct block_code *s,
                   enum blocks_coder coder, blocks_put *put, void *to);

/* The same of the blocks that begin in the part alone; those before it are passed over. */
bool blocks_check(const struct part *part, const uint8_t *src, size_t size, size_t n,
                  const struct block_code *s, enum blocks_coder coder, blocks_put *put, void *to);

/* The same of a payload that is well-formed, for elements first to end - 1 alone: blocks before these are
 * passed over. A stretch begins at first or at a multiple of BLOCKS_RUN. acc: the elements that put adds to,
 * which memory brings while symbols are decoded. */
void blocks_decode_range(const uint8_t *src, size_t size, size_t n, const struct block_code *s,
                         enum blocks_coder coder, blocks_put *put, void *to, const float *acc, size_t first,
                         size_t end);

#endif
