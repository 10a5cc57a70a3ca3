/* Symbols: a dense tensor of small numbers, entropy-coded block by block (doc/FORMAT.md, 5).
 *
 * A codec writes its fixed-width codes, and symbols_encode turns them into what is shorter, a block at a
 * time: coded, or as they were. So no coding is longer than fixed width by more than two bytes a block. Each
 * block stands for itself, and neither side needs more than 96 KiB of stack.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "codec.h"

enum {
	SYMBOLS_MOST = 16,   /* different symbols */
	SYMBOLS_RUN = 4096,  /* elements that are looked at together */
	SYMBOLS_STREAMS = 4, /* of a Huffman-coded block */
	SYMBOLS_NIBBLES = 8, /* of a word: groups that one has symbols of (nibbles.h) */
	SYMBOLS_ROUND = SYMBOLS_STREAMS * SYMBOLS_RUN,
	SYMBOLS_BLOCK_BYTES = 1 << 15, /* most bytes of a block's fixed-width codes */
};

/* entropy: rANS, for the highest compression; huffman: at least one bit an element. */
enum symbols_coder { SYMBOLS_ENTROPY, SYMBOLS_HUFFMAN };

/* What is coded: symbols 0 to count - 1, at most 16, which stand in codes of fixed width. */
struct symbols {
	unsigned count;
	size_t width; /* bytes of the codes of a group of sixteen; 2 to 8 */
	/* Reads the symbols of so many groups, one a byte. */
	void (*get)(const uint8_t *codes, size_t groups, uint8_t *symbol);
	/* The same of so many times eight groups as words of nibbles, where these are used (nibbles.h); NULL:
	 * from what get reads. */
	void (*nibbles)(const uint8_t *codes, size_t blocks, uint32_t *word);
};

/* Elements of a block: as many rounds as have at most SYMBOLS_BLOCK_BYTES of fixed-width codes. */
static inline size_t symbols_block(const struct symbols *s)
{
	return SYMBOLS_BLOCK_BYTES / (s->width * (SYMBOLS_ROUND / 16)) * SYMBOLS_ROUND;
}

/* Bytes of the fixed-width codes, and of the two bytes a block before them. */
static inline size_t symbols_fixed(const struct symbols *s, size_t n) { return s->width * divide_up(n, 16); }
static inline size_t symbols_marks(const struct symbols *s, size_t n)
{
	return 2 * divide_up(n, symbols_block(s));
}
static inline size_t symbols_bound(const struct symbols *s, size_t n)
{
	return symbols_marks(s, n) + symbols_fixed(s, n);
}

/* Codes the symbols_fixed bytes of codes and returns the size. They stand at dst + symbols_marks, or further
 * on, and then up to symbols_bound bytes at dst are written and codes no longer what they were; or apart from
 * these bytes. Unused codes of the last group are 0. */
size_t PER_ISA(symbols_encode)(uint8_t *dst, const uint8_t *codes, size_t n, const struct symbols *s,
                               enum symbols_coder coder);

/* Decodes exactly size bytes; false if they are not well-formed, which shows at the latest at the end. Calls
 * put, unless it is NULL, with every stretch of count <= SYMBOLS_ROUND elements, in any order: its first
 * element is number first, a multiple of SYMBOLS_RUN, and of each group all sixteen symbols may be read. */
typedef void symbols_put(void *to, size_t first, const uint8_t *symbol, size_t count);
bool PER_ISA(symbols_decode)(const uint8_t *src, size_t size, size_t n, const struct symbols *s,
                             enum symbols_coder coder, symbols_put *put, void *to);

/* The same of the blocks that begin in the part alone; those before it are passed over. */
bool PER_ISA(symbols_check)(const struct part *part, const uint8_t *src, size_t size, size_t n,
                            const struct symbols *s, enum symbols_coder coder, symbols_put *put, void *to);

/* The same of a payload that is well-formed, for elements first to end - 1 alone: blocks before these are
 * passed over. A stretch begins at first or at a multiple of SYMBOLS_RUN. acc: the elements that put adds to,
 * which memory brings while symbols are decoded. */
void PER_ISA(symbols_decode_range)(const uint8_t *src, size_t size, size_t n, const struct symbols *s,
                                   enum symbols_coder coder, symbols_put *put, void *to, const float *acc,
                                   size_t first, size_t end);

#endif
