/* The blocks of symbols.h, of whichever coder.
 *
 * SPDX-License-Identifier: MIT */
#include "symbols.h"
#include "huffman.h"
#include "rans.h"

enum { STORED = 0xFFFF }; /* before a block that is not coded: else its bytes */

/* ---- encode --------------------------------------------------------------------------------- */

/* How often each symbol occurs: pairs a + 16 b are counted, eight times, so that equal neighbours need not
 * wait for each other. */
static void count_symbols(uint32_t count[SYMBOLS_MOST], const uint8_t *codes, size_t groups,
                          const struct symbols *s)
{
	uint32_t pairs[8][256] = {{0}};
	uint8_t symbol[SYMBOLS_RUN];
	for (size_t g = 0; g < groups; g += SYMBOLS_RUN / V16) {
		const size_t here = groups - g < SYMBOLS_RUN / V16 ? groups - g : SYMBOLS_RUN / V16;
		s->get(codes + s->width * g, here, symbol);
		for (size_t i = 0; i < V16 * here; i += V16) {
			uint64_t eight[2];
			memcpy(eight, symbol + i, sizeof eight);
			for (int k = 0; k < 8; k++)
				pairs[k][(eight[k / 4] | eight[k / 4] >> 4) >> 16 * (k % 4) & 255]++;
		}
	}
	memset(count, 0, SYMBOLS_MOST * sizeof *count);
	for (int pair = 0; pair < 256; pair++) {
		uint32_t sum = 0;
		for (int k = 0; k < 8; k++)
			sum += pairs[k][pair];
		count[pair % 16] += sum;
		count[pair / 16] += sum;
	}
}

size_t PER_ISA(symbols_encode)(uint8_t *dst, const uint8_t *codes, size_t n, const struct symbols *s,
                               enum symbols_coder coder)
{
	const size_t block = symbols_block(s);
	uint8_t *at = dst;
	for (size_t i = 0; i < n; i += block) {
		const size_t groups = divide_up(n - i < block ? n - i : block, V16),
		             fixed = s->width * groups;
		uint32_t count[SYMBOLS_MOST];
		count_symbols(count, codes, groups, s);
		const size_t size = coder == SYMBOLS_HUFFMAN
		                            ? crumb_huffman_encode(at + 2, fixed, codes, groups, s, count)
		                            : rans_encode(at + 2, fixed, codes, groups, s, count);
		at = put_u16(at, size ? (uint16_t)size : STORED);
		if (!size)
			memmove(at, codes, fixed);
		at += size ? size : fixed;
		codes += fixed;
	}
	return (size_t)(at - dst);
}

/* ---- decode --------------------------------------------------------------------------------- */

/* A block on its way, of one kind or another. */
struct block {
	enum { CODES, RANS, HUFFMAN } kind;
	const uint8_t *codes;
	union {
		struct rans_decoder rans;
		struct huffman_decoder huffman;
	} by;
};

static bool block_open(struct block *b, const uint8_t *src, size_t size, unsigned count)
{
	switch (b->kind) {
	case RANS:
		return rans_open(&b->by.rans, src, size, count);
	case HUFFMAN:
		return crumb_huffman_open(&b->by.huffman, src, size, count);
	default:
		b->codes = src;
		return true;
	}
}

static bool block_next(struct block *b, uint8_t *symbol, size_t groups, const struct symbols *s)
{
	if (b->kind == RANS)
		return rans_next(&b->by.rans, symbol, groups);
	if (b->kind == HUFFMAN)
		return crumb_huffman_next(&b->by.huffman, symbol, groups);
	s->get(b->codes, groups, symbol);
	b->codes += s->width * groups;
	uint8_t most = 0;
	for (size_t i = 0; i < V16 * groups; i++)
		most = symbol[i] > most ? symbol[i] : most;
	return most < s->count;
}

static bool block_close(const struct block *b)
{
	return b->kind == RANS ? rans_close(&b->by.rans)
	                       : b->kind == CODES || crumb_huffman_close(&b->by.huffman);
}

/* The n elements of a block, of which the first is number first. */
static bool decode_block(struct block *b, size_t first, size_t n, const struct symbols *s, symbols_put *put,
                         void *to)
{
	uint8_t symbol[SYMBOLS_ROUND];
	for (size_t i = 0; i < n; i += SYMBOLS_ROUND) {
		const size_t here = n - i < SYMBOLS_ROUND ? n - i : SYMBOLS_ROUND;
		if (!block_next(b, symbol, divide_up(here, V16), s))
			return false;
		for (size_t k = here; k % V16; k++)
			if (symbol[k])
				return false;
		if (put)
			put(to, first + i, symbol, here);
	}
	return block_close(b);
}

bool PER_ISA(symbols_decode)(const uint8_t *src, size_t size, size_t n, const struct symbols *s,
                             enum symbols_coder coder, symbols_put *put, void *to)
{
	const size_t block = symbols_block(s);
	for (size_t i = 0; i < n; i += block) {
		const size_t here = n - i < block ? n - i : block, groups = divide_up(here, V16);
		if (size < 2)
			return false;
		const unsigned mark = get_u16(src);
		const size_t bytes = mark == STORED ? s->width * groups : mark;
		src += 2;
		size -= 2;
		struct block b;
		b.kind = mark == STORED ? CODES : coder == SYMBOLS_HUFFMAN ? HUFFMAN : RANS;
		if ((mark != STORED && bytes >= s->width * groups) || bytes > size ||
		    !block_open(&b, src, bytes, s->count) || !decode_block(&b, i, here, s, put, to))
			return false;
		src += bytes;
		size -= bytes;
	}
	return size == 0;
}
