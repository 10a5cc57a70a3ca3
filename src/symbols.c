/* The blocks of symbols.h, of whichever coder.
 *
 * SPDX-License-Identifier: MIT */
#include "symbols.h"
#include "huffman.h"
#include "rans.h"

/* What stands before a block: its bytes, or that it is not coded, or that it is coded together with those
 * after it, how many blocks in all. */
enum { STORED = 0xFFFF, JOINED = 0x8000, MOST_JOINED = 64 };

/* ---- encode --------------------------------------------------------------------------------- */

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

/* How often each symbol occurs: run by run in lanes of a byte each, which a run does not fill, and four
 * symbols at a time. A compiler takes vectors wider than a register apart, byte by byte, and 64 bytes are no
 * faster than 32 where a machine compares into masks. */
static void count_symbols(uint32_t count[SYMBOLS_MOST], const uint8_t *codes, size_t groups,
                          const struct symbols *s)
{
	enum { LANES = V16_LANES < 8 ? 16 : 32, RUN = 128 * LANES, AT_ONCE = 4 };
	typedef uint8_t lanes __attribute__((vector_size(LANES), aligned(1), may_alias));
	uint8_t symbol[RUN];
	memset(count, 0, SYMBOLS_MOST * sizeof *count);
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

/* Blocks that are coded as one. */
struct stretch {
	size_t first, n, blocks;
	uint32_t count[SYMBOLS_MOST];
};

/* The block that begins at element number first, if there is one. */
static struct stretch block_at(const uint8_t *codes, size_t n, size_t first, const struct symbols *s)
{
	const size_t block = symbols_block(s);
	struct stretch b = {first, n - first < block ? n - first : block, 1, {0}};
	if (b.n)
		count_symbols(b.count, codes + s->width * (first / V16), divide_up(b.n, V16), s);
	return b;
}

/* Takes b, which follows it, in, if that makes the two shorter: one table and one set of states for both, but
 * frequencies that fit neither as well. */
static bool join(struct stretch *a, const struct stretch *b, unsigned symbols)
{
	const uint64_t around = (uint64_t)8 * (2 * symbols + RANS_STATE_BYTES) << RANS_COST_BITS,
	               most = (uint64_t)8 * JOINED << RANS_COST_BITS;
	uint32_t count[SYMBOLS_MOST];
	for (int j = 0; j < SYMBOLS_MOST; j++)
		count[j] = a->count[j] + b->count[j];
	const uint64_t cost = crumb_rans_cost(count);
	if (a->blocks == MOST_JOINED || cost > most ||
	    cost > crumb_rans_cost(a->count) + crumb_rans_cost(b->count) + around)
		return false;
	memcpy(a->count, count, sizeof count);
	a->n += b->n;
	a->blocks++;
	return true;
}

static uint8_t *encode_stretch(uint8_t *dst, const uint8_t *codes, const struct stretch *t,
                               const struct symbols *s, enum symbols_coder coder)
{
	const bool joined = t->blocks > 1;
	const size_t groups = divide_up(t->n, V16), fixed = s->width * groups, most = joined ? JOINED : fixed;
	const uint8_t *const own = codes + s->width * (t->first / V16);
	uint8_t *const to = dst + (joined ? 4 : 2);
	const size_t size = coder == SYMBOLS_HUFFMAN
	                            ? crumb_huffman_encode(to, most, own, groups, s, t->count)
	                            : rans_encode(to, most, own, groups, s, t->count);
	if (joined && !size) { /* no room for the states */
		const size_t end = t->first + t->n;
		for (struct stretch one = block_at(codes, end, t->first, s); one.n;
		     one = block_at(codes, end, one.first + one.n, s))
			dst = encode_stretch(dst, codes, &one, s, coder);
		return dst;
	}
	if (joined)
		dst = put_u16(dst, (uint16_t)(JOINED | t->blocks));
	dst = put_u16(dst, size ? (uint16_t)size : STORED);
	if (!size)
		memmove(dst, own, fixed);
	return dst + (size ? size : fixed);
}

size_t PER_ISA(symbols_encode)(uint8_t *dst, const uint8_t *codes, size_t n, const struct symbols *s,
                               enum symbols_coder coder)
{
	uint8_t *at = dst;
	for (struct stretch now = block_at(codes, n, 0, s), next; now.n; now = next) {
		do
			next = block_at(codes, n, now.first + now.n, s);
		while (coder == SYMBOLS_ENTROPY && next.n && join(&now, &next, s->count));
		at = encode_stretch(at, codes, &now, s, coder);
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

/* Who is given which elements. */
struct taker {
	symbols_put *put;
	void *to;
	size_t first, end;
};

static void give(const struct taker *taker, size_t i, const uint8_t *symbol, size_t count)
{
	const size_t from = i < taker->first ? taker->first : i,
	             end = i + count < taker->end ? i + count : taker->end;
	if (taker->put && from < end)
		taker->put(taker->to, from, symbol + (from - i), end - from);
}

/* The n elements of a block, of which the first is number first; whatever comes after the last one that is
 * taken stays where it is. */
static bool decode_block(struct block *b, size_t first, size_t n, const struct symbols *s,
                         const struct taker *taker)
{
	uint8_t symbol[SYMBOLS_ROUND];
	for (size_t i = 0; i < n; i += SYMBOLS_ROUND) {
		const size_t here = n - i < SYMBOLS_ROUND ? n - i : SYMBOLS_ROUND;
		if (first + i >= taker->end)
			return true;
		if (!block_next(b, symbol, divide_up(here, V16), s))
			return false;
		for (size_t k = here; k % V16; k++)
			if (symbol[k])
				return false;
		give(taker, first + i, symbol, here);
	}
	return block_close(b);
}

static bool decode(const uint8_t *src, size_t size, size_t n, const struct symbols *s,
                   enum symbols_coder coder, const struct taker *taker)
{
	const size_t block = symbols_block(s);
	for (size_t i = 0, here; i < n; i += here) {
		if (i >= taker->end)
			return true;
		if (size < 2)
			return false;
		const unsigned mark = get_u16(src);
		const bool joined = mark & JOINED && mark != STORED;
		const size_t blocks = joined ? mark - JOINED : 1, head = joined ? 4 : 2;
		here = n - i < blocks * block ? n - i : blocks * block;
		const size_t fixed = s->width * divide_up(here, V16);
		if (size < head || (joined && (coder != SYMBOLS_ENTROPY || blocks < 2 ||
		                               blocks > MOST_JOINED || here <= (blocks - 1) * block)))
			return false;
		const size_t bytes = mark == STORED ? fixed : joined ? get_u16(src + 2) : mark;
		src += head;
		size -= head;
		struct block b;
		b.kind = mark == STORED ? CODES : coder == SYMBOLS_HUFFMAN ? HUFFMAN : RANS;
		if ((mark != STORED && bytes >= (joined ? JOINED : fixed)) || bytes > size)
			return false;
		if (i + here > taker->first &&
		    (!block_open(&b, src, bytes, s->count) || !decode_block(&b, i, here, s, taker)))
			return false;
		src += bytes;
		size -= bytes;
	}
	return size == 0;
}

bool PER_ISA(symbols_decode)(const uint8_t *src, size_t size, size_t n, const struct symbols *s,
                             enum symbols_coder coder, symbols_put *put, void *to)
{
	return decode(src, size, n, s, coder, &(struct taker){put, to, 0, n});
}

void PER_ISA(symbols_decode_range)(const uint8_t *src, size_t size, size_t n, const struct symbols *s,
                                   enum symbols_coder coder, symbols_put *put, void *to, size_t first,
                                   size_t end)
{
	decode(src, size, n, s, coder, &(struct taker){put, to, first, end});
}
