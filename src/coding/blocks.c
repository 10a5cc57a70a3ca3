/* The marks of blocks, which blocks are joined, and how they go through the coders.
 *
 * SPDX-License-Identifier: MIT */
#include "coding/blocks.h"
#include "coding/huffman.h"
#include "coding/rans_decode.h"
#include "coding/rans_encode.h"
#include "coding/count.h"

/* A block begins with a mark of two bytes: the size of its coding; STORED, if the fixed-width codes follow;
 * or JOINED + blocks, if so many blocks are coded as one, whose size has two more bytes. */
enum { STORED = 0xFFFF, JOINED = 0x8000, MOST_JOINED = 64 };

/* ---- encode --------------------------------------------------------------------------------- */

/* A block, or consecutive ones that are coded as one. */
struct stretch {
	size_t first, n, blocks;
	uint32_t count[BLOCKS_MOST];
};

/* Returns the block that begins at element first; n is 0 at the end of the tensor. */
static struct stretch block_at(const uint8_t *codes, size_t n, size_t first, const struct block_code *code)
{
	const size_t block = blocks_block(code);
	struct stretch b = {first, n - first < block ? n - first : block, 1, {0}};
	if (b.n)
		count_symbols(b.count, codes + code->width * (first / V16), divide_up(b.n, V16), code);
	return b;
}

/* Joins b, which follows a, to it, if that is shorter: the two then share one table of frequencies and one
 * set of states, but the frequencies fit neither as well. */
static bool join(struct stretch *a, const struct stretch *b, unsigned symbols)
{
	const uint64_t overhead = (uint64_t)8 * (2 * symbols + RANS_STATE_BYTES) << RANS_COST_BITS,
	               most = (uint64_t)8 * JOINED << RANS_COST_BITS;
	uint32_t count[BLOCKS_MOST];
	for (int j = 0; j < BLOCKS_MOST; j++)
		count[j] = a->count[j] + b->count[j];
	const uint64_t cost = crumb_rans_cost(count);
	if (a->blocks == MOST_JOINED || cost > most ||
	    cost > crumb_rans_cost(a->count) + crumb_rans_cost(b->count) + overhead)
		return false;
	memcpy(a->count, count, sizeof count);
	a->n += b->n;
	a->blocks++;
	return true;
}

static const uint8_t *codes_of(const struct stretch *t, const uint8_t *codes, const struct block_code *code)
{
	return codes + code->width * (t->first / V16);
}
static size_t groups_of(const struct stretch *t) { return divide_up(t->n, V16); }

/* Ends a block whose coding of size bytes stands at dst + 2; if size is 0, its codes are stored there. */
static uint8_t *end_block(uint8_t *dst, size_t size, const uint8_t *codes, size_t fixed)
{
	put_u16(dst, size ? (uint16_t)size : STORED);
	if (!size)
		memmove(dst + 2, codes, fixed);
	return dst + 2 + (size ? size : fixed);
}

static uint8_t *encode_huffman(uint8_t *dst, const uint8_t *codes, size_t n, const struct block_code *code)
{
	for (size_t first = 0; first < n; first += blocks_block(code)) {
		const struct stretch b = block_at(codes, n, first, code);
		const uint8_t *const own = codes_of(&b, codes, code);
		const size_t groups = groups_of(&b), fixed = code->width * groups;
		dst = end_block(dst, crumb_huffman_encode(dst + 2, fixed, own, groups, code, b.count), own,
		                fixed);
	}
	return dst;
}

static void begin(struct rans_encoder *e, const struct stretch *t, const uint8_t *codes,
                  const struct block_code *code)
{
	const size_t groups = groups_of(t), fixed = code->width * groups,
	             limit = t->blocks > 1 && fixed > JOINED ? JOINED : fixed;
	rans_begin(e, limit, codes_of(t, codes, code), groups, code, t->count);
}

/* Writes what e has coded. */
static uint8_t *end_stretch(uint8_t *dst, const uint8_t *codes, const struct stretch *t,
                            const struct block_code *code, struct rans_encoder *e)
{
	const bool joined = t->blocks > 1;
	const size_t size = rans_write(dst + (joined ? 4 : 2), e, code), end = t->first + t->n;
	if (!joined)
		return end_block(dst, size, codes_of(t, codes, code), code->width * groups_of(t));
	if (size) {
		put_u16(dst, (uint16_t)(JOINED | t->blocks));
		put_u16(dst + 2, (uint16_t)size);
		return dst + 4 + size;
	}
	/* Joined, they are too long: each is coded on its own after all. */
	for (size_t first = t->first; first < end; first += blocks_block(code)) {
		const struct stretch one = block_at(codes, end, first, code);
		begin(e, &one, codes, code);
		rans_encode(e, 1, code);
		dst = end_stretch(dst, codes, &one, code, e);
	}
	return dst;
}

/* Not inline, since its buffers and Huffman's would be on the stack together. */
__attribute__((noinline)) static uint8_t *encode_rans(uint8_t *dst, const uint8_t *codes, size_t n,
                                                      const struct block_code *code)
{
	struct rans_encoder e[RANS_ENCODE_BLOCKS];
	struct stretch next = block_at(codes, n, 0, code);
	while (next.n) {
		struct stretch now[RANS_ENCODE_BLOCKS];
		size_t count = 0;
		for (; count < RANS_ENCODE_BLOCKS && next.n; count++) {
			struct stretch *const t = &now[count];
			*t = next;
			do
				next = block_at(codes, n, t->first + t->n, code);
			while (next.n && join(t, &next, code->count));
			begin(&e[count], t, codes, code);
		}
		rans_encode(e, count, code);
		for (size_t k = 0; k < count; k++)
			dst = end_stretch(dst, codes, &now[k], code, &e[k]);
	}
	return dst;
}

size_t blocks_encode(uint8_t *dst, const uint8_t *codes, size_t n, const struct block_code *code,
                     enum blocks_coder coder)
{
	const uint8_t *const end = coder == BLOCKS_HUFFMAN ? encode_huffman(dst, codes, n, code)
	                                                   : encode_rans(dst, codes, n, code);
	return (size_t)(end - dst);
}

/* ---- decode --------------------------------------------------------------------------------- */

/* A block, or joined blocks, of which done elements are decoded. */
struct block {
	enum { CODES, RANS, HUFFMAN } kind;
	size_t first, n, done;
	const uint8_t *src;
	size_t size;
	struct rans_decoder rans;
	struct huffman_decoder *huffman; /* one for all blocks, since its table is large */
};

/* The bytes and elements that are left to decode. */
struct rest {
	const uint8_t *src;
	size_t size, first, n;
};

/* Reads the mark of the next block, and takes the block off the rest, which has elements. */
static bool block_take(struct block *b, struct rest *rest, const struct block_code *code,
                       enum blocks_coder coder)
{
	const size_t block = blocks_block(code), n = rest->n - rest->first;
	if (rest->size < 2)
		return false;
	const unsigned mark = get_u16(rest->src);
	const bool joined = mark & JOINED && mark != STORED;
	const size_t blocks = joined ? mark - JOINED : 1, head = joined ? 4 : 2;
	b->first = rest->first;
	b->n = n < blocks * block ? n : blocks * block;
	b->done = 0;
	const size_t fixed = code->width * divide_up(b->n, V16);
	if (rest->size < head || (joined && (coder != BLOCKS_ENTROPY || blocks < 2 || blocks > MOST_JOINED ||
	                                     b->n <= (blocks - 1) * block)))
		return false;
	b->kind = mark == STORED ? CODES : coder == BLOCKS_HUFFMAN ? HUFFMAN : RANS;
	b->src = rest->src + head;
	b->size = mark == STORED ? fixed : joined ? get_u16(rest->src + 2) : mark;
	if ((mark != STORED && b->size >= (joined ? JOINED : fixed)) || b->size > rest->size - head)
		return false;
	rest->src = b->src + b->size;
	rest->size -= head + b->size;
	rest->first += b->n;
	return true;
}

static bool block_open(struct block *b, unsigned count)
{
	return b->kind == RANS      ? rans_open(&b->rans, b->src, b->size, count)
	       : b->kind == HUFFMAN ? crumb_huffman_open(b->huffman, b->src, b->size, count)
	                            : true;
}

static bool block_next(struct block *b, uint8_t *symbol, size_t groups, const struct block_code *code)
{
	if (b->kind == RANS)
		return rans_next(&(struct rans_decoder *){&b->rans}, 1, &symbol, groups);
	if (b->kind == HUFFMAN)
		return crumb_huffman_next(b->huffman, symbol, groups);
	code->get(b->src, groups, symbol);
	b->src += code->width * groups;
	uint8_t most = 0;
	for (size_t i = 0; i < V16 * groups; i++)
		most = symbol[i] > most ? symbol[i] : most;
	return most < code->count;
}

static bool block_close(const struct block *b)
{
	return b->kind == RANS ? rans_close(&b->rans) : b->kind == CODES || crumb_huffman_close(b->huffman);
}

/* The elements and blocks that are wanted, and who receives them. */
struct wanted {
	blocks_put *put;
	void *to;
	size_t first, end;          /* elements */
	const uint8_t *from, *upto; /* blocks begin in these bytes */
	const float *acc;           /* put adds to these; or NULL */
};

/* Hands the next count elements of a block over, as far as they are wanted. */
static void deliver(const struct wanted *wanted, struct block *b, const uint8_t *symbol, size_t count)
{
	const size_t i = b->first + b->done, from = i < wanted->first ? wanted->first : i,
	             end = i + count < wanted->end ? i + count : wanted->end;
	if (wanted->put && from < end)
		wanted->put(wanted->to, from, symbol + (from - i), end - from);
	b->done += count;
}

/* Returns the floats that a block's next count elements will be added to, for the coder to prefetch; NULL if
 * there are none. */
static const float *next_acc(const struct wanted *wanted, const struct block *b, size_t count)
{
	const size_t next = b->first + b->done;
	return wanted->acc && next + count > wanted->first ? wanted->acc + next : NULL;
}

/* Decodes a block from where it is to its end, or to the last element that is wanted. */
static bool decode_block(struct block *b, const struct block_code *code, const struct wanted *wanted)
{
	uint8_t symbol[BLOCKS_ROUND];
	while (b->done < b->n) {
		const size_t left = b->n - b->done, here = left < BLOCKS_ROUND ? left : BLOCKS_ROUND;
		if (b->first + b->done >= wanted->end)
			return true;
		b->rans.acc = b->huffman->acc = next_acc(wanted, b, here);
		if (!block_next(b, symbol, divide_up(here, V16), code))
			return false;
		for (size_t k = here; k % V16; k++)
			if (symbol[k])
				return false;
		deliver(wanted, b, symbol, here);
	}
	return block_close(b);
}

/* Returns true if less than a run is left of a block, or nothing that is wanted. */
static bool near_end(const struct block *b, const struct wanted *wanted)
{
	return b->n - b->done < BLOCKS_RUN || b->first + b->done >= wanted->end;
}

/* Decodes runs of all blocks in parallel until one is near its end. */
static bool decode_parallel(struct block b[RANS_DECODE_BLOCKS], const struct wanted *wanted)
{
	uint8_t symbol[RANS_DECODE_BLOCKS][BLOCKS_RUN], *to[RANS_DECODE_BLOCKS];
	struct rans_decoder *rans[RANS_DECODE_BLOCKS];
	bool ends = false;
	for (size_t k = 0; k < RANS_DECODE_BLOCKS; k++) {
		to[k] = symbol[k];
		rans[k] = &b[k].rans;
		ends = ends || near_end(&b[k], wanted);
	}
	while (!ends) {
		for (size_t k = 0; k < RANS_DECODE_BLOCKS; k++)
			rans[k]->acc = next_acc(wanted, &b[k], BLOCKS_RUN);
		if (!rans_next(rans, RANS_DECODE_BLOCKS, to, BLOCKS_RUN / V16))
			return false;
		for (size_t k = 0; k < RANS_DECODE_BLOCKS; k++) {
			deliver(wanted, &b[k], symbol[k], BLOCKS_RUN);
			ends = ends || near_end(&b[k], wanted);
		}
	}
	return true;
}

/* Decodes at least one of the blocks to its end, and moves the others to the front. Returns false if one is
 * not well-formed; else left is the number of those others. */
static bool decode_some(struct block b[RANS_DECODE_BLOCKS], size_t *left, const struct block_code *code,
                        const struct wanted *wanted)
{
	const bool parallel = RANS_DECODE_BLOCKS > 1;
	*left = 0;
	if (parallel && !decode_parallel(b, wanted))
		return false;
	for (size_t k = 0; k < RANS_DECODE_BLOCKS; k++)
		if (parallel && !near_end(&b[k], wanted))
			b[(*left)++] = b[k];
		else if (!decode_block(&b[k], code, wanted))
			return false;
	return true;
}

/* Decodes what is wanted. Blocks of rANS wait until there are enough to go in parallel; the last ones go
 * alone. */
static bool decode(const uint8_t *src, size_t size, size_t n, const struct block_code *code,
                   enum blocks_coder coder, const struct wanted *wanted)
{
	struct rest rest = {src, size, 0, n};
	struct huffman_decoder huffman;
	struct block b[RANS_DECODE_BLOCKS];
	size_t waiting = 0;
	while (rest.first < n && rest.first < wanted->end && rest.src < wanted->upto) {
		struct block *const now = &b[waiting];
		const bool early = rest.src < wanted->from;
		now->huffman = &huffman;
		if (!block_take(now, &rest, code, coder))
			return false;
		if (early || rest.first <= wanted->first)
			continue;
		if (!block_open(now, code->count))
			return false;
		if (now->kind != RANS) {
			if (!decode_block(now, code, wanted))
				return false;
		} else if (++waiting == RANS_DECODE_BLOCKS && !decode_some(b, &waiting, code, wanted))
			return false;
	}
	for (size_t k = 0; k < waiting; k++)
		if (!decode_block(&b[k], code, wanted))
			return false;
	return (rest.first < n) == (rest.size > 0);
}

bool blocks_decode(const uint8_t *src, size_t size, size_t n, const struct block_code *code,
                   enum blocks_coder coder, blocks_put *put, void *to)
{
	return decode(src, size, n, code, coder, &(struct wanted){put, to, 0, n, src, src + size, NULL});
}

bool blocks_check(const struct part *part, const uint8_t *src, size_t size, size_t n,
                  const struct block_code *code, enum blocks_coder coder, blocks_put *put, void *to)
{
	return decode(src, size, n, code, coder, &(struct wanted){put, to, 0, n, part->from, part->to, NULL});
}

void blocks_decode_range(const uint8_t *src, size_t size, size_t n, const struct block_code *code,
                         enum blocks_coder coder, blocks_put *put, void *to, const float *acc, size_t first,
                         size_t end)
{
	decode(src, size, n, code, coder, &(struct wanted){put, to, first, end, src, src + size, acc});
}
