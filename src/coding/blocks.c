/* The blocks of symbols.h, of whichever coder.
 *
 * SPDX-License-Identifier: MIT */
#include "coding/blocks.h"
#include "coding/huffman.h"
#include "coding/rans_decode.h"
#include "coding/rans_encode.h"
#include "coding/count.h"

/* What stands before a block: its bytes, or that it is not coded, or that it is coded together with those
 * after it, how many blocks in all. */
enum { STORED = 0xFFFF, JOINED = 0x8000, MOST_JOINED = 64 };

/* ---- encode --------------------------------------------------------------------------------- */

/* Blocks that are coded as one. */
struct stretch {
	size_t first, n, blocks;
	uint32_t count[BLOCKS_MOST];
};

/* The block that begins at element number first, if there is one. */
static struct stretch block_at(const uint8_t *codes, size_t n, size_t first, const struct block_code *s)
{
	const size_t block = blocks_block(s);
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
	uint32_t count[BLOCKS_MOST];
	for (int j = 0; j < BLOCKS_MOST; j++)
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

static const uint8_t *codes_of(const struct stretch *t, const uint8_t *codes, const struct block_code *s)
{
	return codes + s->width * (t->first / V16);
}
static size_t groups_of(const struct stretch *t) { return divide_up(t->n, V16); }

/* A block of its own: size bytes stand at dst + 2; or, if these are 0, the codes are to. */
static uint8_t *end_block(uint8_t *dst, size_t size, const uint8_t *codes, size_t fixed)
{
	put_u16(dst, size ? (uint16_t)size : STORED);
	if (!size)
		memmove(dst + 2, codes, fixed);
	return dst + 2 + (size ? size : fixed);
}

static uint8_t *encode_huffman(uint8_t *dst, const uint8_t *codes, size_t n, const struct block_code *s)
{
	for (size_t first = 0; first < n; first += blocks_block(s)) {
		const struct stretch b = block_at(codes, n, first, s);
		const uint8_t *const own = codes_of(&b, codes, s);
		const size_t groups = groups_of(&b), fixed = s->width * groups;
		dst = end_block(dst, crumb_huffman_encode(dst + 2, fixed, own, groups, s, b.count), own,
		                fixed);
	}
	return dst;
}

static void begin(struct rans_encoder *e, const struct stretch *t, const uint8_t *codes,
                  const struct block_code *s)
{
	const size_t groups = groups_of(t), fixed = s->width * groups,
	             most = t->blocks > 1 && fixed > JOINED ? JOINED : fixed;
	rans_begin(e, most, codes_of(t, codes, s), groups, s, t->count);
}

/* Writes what e has coded. */
static uint8_t *end_stretch(uint8_t *dst, const uint8_t *codes, const struct stretch *t,
                            const struct block_code *s, struct rans_encoder *e)
{
	const bool joined = t->blocks > 1;
	const size_t size = rans_write(dst + (joined ? 4 : 2), e, s), end = t->first + t->n;
	if (!joined)
		return end_block(dst, size, codes_of(t, codes, s), s->width * groups_of(t));
	if (size) {
		put_u16(dst, (uint16_t)(JOINED | t->blocks));
		put_u16(dst + 2, (uint16_t)size);
		return dst + 4 + size;
	}
	/* There was no room for states and frequencies. */
	for (size_t first = t->first; first < end; first += blocks_block(s)) {
		const struct stretch one = block_at(codes, end, first, s);
		begin(e, &one, codes, s);
		rans_encode(e, 1, s);
		dst = end_stretch(dst, codes, &one, s, e);
	}
	return dst;
}

/* Not inline: Huffman's buffers and these would be on the stack together. */
__attribute__((noinline)) static uint8_t *encode_entropy(uint8_t *dst, const uint8_t *codes, size_t n,
                                                         const struct block_code *s)
{
	struct rans_encoder e[RANS_ENCODE_SIDE];
	struct stretch next = block_at(codes, n, 0, s);
	while (next.n) {
		struct stretch now[RANS_ENCODE_SIDE];
		size_t count = 0;
		for (; count < RANS_ENCODE_SIDE && next.n; count++) {
			struct stretch *const t = &now[count];
			*t = next;
			do
				next = block_at(codes, n, t->first + t->n, s);
			while (next.n && join(t, &next, s->count));
			begin(&e[count], t, codes, s);
		}
		rans_encode(e, count, s);
		for (size_t k = 0; k < count; k++)
			dst = end_stretch(dst, codes, &now[k], s, &e[k]);
	}
	return dst;
}

size_t blocks_encode(uint8_t *dst, const uint8_t *codes, size_t n, const struct block_code *s,
                     enum blocks_coder coder)
{
	const uint8_t *const end =
	        coder == BLOCKS_HUFFMAN ? encode_huffman(dst, codes, n, s) : encode_entropy(dst, codes, n, s);
	return (size_t)(end - dst);
}

/* ---- decode --------------------------------------------------------------------------------- */

/* A block, or several that are coded as one, on its way. */
struct block {
	enum { CODES, RANS, HUFFMAN } kind;
	size_t first, n, done; /* its elements; so many are decoded */
	const uint8_t *src;
	size_t size;
	struct rans_decoder rans;
	struct huffman_decoder *huffman; /* there is one, with a large table, for all blocks */
};

/* What is left of the coded bytes, and of the elements. */
struct rest {
	const uint8_t *src;
	size_t size, first, n;
};

/* Takes the next block off the rest, which has elements. */
static bool block_take(struct block *b, struct rest *rest, const struct block_code *s,
                       enum blocks_coder coder)
{
	const size_t block = blocks_block(s), n = rest->n - rest->first;
	if (rest->size < 2)
		return false;
	const unsigned mark = get_u16(rest->src);
	const bool joined = mark & JOINED && mark != STORED;
	const size_t blocks = joined ? mark - JOINED : 1, head = joined ? 4 : 2;
	b->first = rest->first;
	b->n = n < blocks * block ? n : blocks * block;
	b->done = 0;
	const size_t fixed = s->width * divide_up(b->n, V16);
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

static bool block_next(struct block *b, uint8_t *symbol, size_t groups, const struct block_code *s)
{
	if (b->kind == RANS)
		return rans_next(&(struct rans_decoder *){&b->rans}, 1, &symbol, groups);
	if (b->kind == HUFFMAN)
		return crumb_huffman_next(b->huffman, symbol, groups);
	s->get(b->src, groups, symbol);
	b->src += s->width * groups;
	uint8_t most = 0;
	for (size_t i = 0; i < V16 * groups; i++)
		most = symbol[i] > most ? symbol[i] : most;
	return most < s->count;
}

static bool block_close(const struct block *b)
{
	return b->kind == RANS ? rans_close(&b->rans) : b->kind == CODES || crumb_huffman_close(b->huffman);
}

/* Who is given which elements, of blocks that begin where. */
struct taker {
	blocks_put *put;
	void *to;
	size_t first, end;
	const uint8_t *from, *until;
	const float *acc; /* put adds to these; or NULL */
};

/* The count elements of a block that come next. */
static void give(const struct taker *taker, struct block *b, const uint8_t *symbol, size_t count)
{
	const size_t i = b->first + b->done, from = i < taker->first ? taker->first : i,
	             end = i + count < taker->end ? i + count : taker->end;
	if (taker->put && from < end)
		taker->put(taker->to, from, symbol + (from - i), end - from);
	b->done += count;
}

/* Where the next so many elements are added; NULL if they are not. */
static const float *ask(const struct taker *taker, const struct block *b, size_t count)
{
	const size_t next = b->first + b->done;
	return taker->acc && next + count > taker->first ? taker->acc + next : NULL;
}

/* What is left of a block; whatever comes after the last element that is taken stays where it is. */
static bool decode_block(struct block *b, const struct block_code *s, const struct taker *taker)
{
	uint8_t symbol[BLOCKS_ROUND];
	while (b->done < b->n) {
		const size_t left = b->n - b->done, here = left < BLOCKS_ROUND ? left : BLOCKS_ROUND;
		if (b->first + b->done >= taker->end)
			return true;
		b->rans.ask = b->huffman->ask = ask(taker, b, here);
		if (!block_next(b, symbol, divide_up(here, V16), s))
			return false;
		for (size_t k = here; k % V16; k++)
			if (symbol[k])
				return false;
		give(taker, b, symbol, here);
	}
	return block_close(b);
}

/* Whether less than a run is left of a block, or of what is taken of it. */
static bool near_end(const struct block *b, const struct taker *taker)
{
	return b->n - b->done < BLOCKS_RUN || b->first + b->done >= taker->end;
}

/* Runs of all blocks, or of two or three of the first two, until one is near its end. */
static bool decode_beside(struct block *b, size_t count, const struct taker *taker)
{
	const size_t side = count == RANS_DECODE_SIDE ? count : 2;
	uint8_t symbol[RANS_DECODE_SIDE][BLOCKS_RUN], *to[RANS_DECODE_SIDE];
	struct rans_decoder *rans[RANS_DECODE_SIDE];
	bool ends = false;
	for (size_t k = 0; k < side; k++) {
		to[k] = symbol[k];
		rans[k] = &b[k].rans;
		ends = ends || near_end(&b[k], taker);
	}
	while (!ends) {
		for (size_t k = 0; k < side; k++)
			rans[k]->ask = ask(taker, &b[k], BLOCKS_RUN);
		if (!rans_next(rans, side, to, BLOCKS_RUN / V16))
			return false;
		for (size_t k = 0; k < side; k++) {
			give(taker, &b[k], symbol[k], BLOCKS_RUN);
			ends = ends || near_end(&b[k], taker);
		}
	}
	return true;
}

/* Decodes at least one of the waiting blocks to its end; those that are not are the first then. */
static bool decode_waiting(struct block *b, size_t *waiting, const struct block_code *s,
                           const struct taker *taker)
{
	const bool beside = RANS_DECODE_SIDE > 1 && *waiting > 1;
	size_t left = 0;
	if (beside && !decode_beside(b, *waiting, taker))
		return false;
	for (size_t k = 0; k < *waiting; k++)
		if (beside && !near_end(&b[k], taker))
			b[left++] = b[k];
		else if (!decode_block(&b[k], s, taker))
			return false;
	*waiting = left;
	return true;
}

/* Blocks of rANS wait for others to go side by side with. */
static bool decode(const uint8_t *src, size_t size, size_t n, const struct block_code *s,
                   enum blocks_coder coder, const struct taker *taker)
{
	struct rest rest = {src, size, 0, n};
	struct huffman_decoder huffman;
	struct block b[RANS_DECODE_SIDE];
	size_t waiting = 0;
	while (rest.first < n && rest.first < taker->end && rest.src < taker->until) {
		struct block *const now = &b[waiting];
		const bool early = rest.src < taker->from;
		now->huffman = &huffman;
		if (!block_take(now, &rest, s, coder))
			return false;
		if (early || rest.first <= taker->first)
			continue;
		if (!block_open(now, s->count))
			return false;
		if (now->kind != RANS) {
			if (!decode_block(now, s, taker))
				return false;
		} else if (++waiting == RANS_DECODE_SIDE && !decode_waiting(b, &waiting, s, taker))
			return false;
	}
	while (waiting)
		if (!decode_waiting(b, &waiting, s, taker))
			return false;
	return (rest.first < n) == (rest.size > 0);
}

bool blocks_decode(const uint8_t *src, size_t size, size_t n, const struct block_code *s,
                   enum blocks_coder coder, blocks_put *put, void *to)
{
	return decode(src, size, n, s, coder, &(struct taker){put, to, 0, n, src, src + size, NULL});
}

bool blocks_check(const struct part *part, const uint8_t *src, size_t size, size_t n,
                  const struct block_code *s, enum blocks_coder coder, blocks_put *put, void *to)
{
	return decode(src, size, n, s, coder, &(struct taker){put, to, 0, n, part->from, part->to, NULL});
}

void blocks_decode_range(const uint8_t *src, size_t size, size_t n, const struct block_code *s,
                         enum blocks_coder coder, blocks_put *put, void *to, const float *acc, size_t first,
                         size_t end)
{
	decode(src, size, n, s, coder, &(struct taker){put, to, first, end, src, src + size, acc});
}
