/* Canonical Huffman codes, their encoder and decoder.
 *
 * SPDX-License-Identifier: MIT */
#include "coding/huffman.h"
#include "v16/prefetch.h"
#include <string.h>

enum { HUFFMAN_AT_ONCE = 4, GROUP = 16 };

/* The codewords by symbol. The first bit of a codeword is its lowest; length 0: the symbol does not occur. */
struct codewords {
	struct {
		uint16_t bits;
		uint8_t length;
	} of[BLOCKS_MOST];
};

/* Assigns canonical codewords by length: shorter ones come first, those of equal length in order of symbols.
 * Returns false if the code is not complete. */
static bool assign(struct codewords *words)
{
	uint32_t next = 0; /* in units of 2^-11 */
	for (uint32_t length = 1; length <= HUFFMAN_BITS; length++)
		for (int j = 0; j < BLOCKS_MOST; j++)
			if (words->of[j].length == length) {
				const uint32_t at = next;
				next += HUFFMAN_SLOTS >> length;
				words->of[j].bits = 0;
				for (uint32_t k = 0; k < length; k++)
					words->of[j].bits |=
					        (uint16_t)((at >> (HUFFMAN_BITS - 1 - k) & 1) << k);
			}
	return next == HUFFMAN_SLOTS;
}

static size_t length_bytes(unsigned count) { return (count + 1) / 2; }

/* ---- encode --------------------------------------------------------------------------------- */

/* Sets the lengths of a Huffman code of the weights, at least two of which are not 0. Returns the greatest.
 * Of equal weights the earlier node is taken; leaves are earlier than inner nodes. */
static unsigned build(struct codewords *words, const uint32_t weight[BLOCKS_MOST])
{
	enum { NODES = 2 * BLOCKS_MOST };
	uint32_t node[NODES] = {0};
	uint8_t parent[NODES] = {0}, depth[NODES] = {0};
	memcpy(node, weight, BLOCKS_MOST * sizeof *weight);
	int top = BLOCKS_MOST;
	for (;; top++) {
		int least[2] = {-1, -1};
		for (int i = 0; i < top; i++)
			if (node[i] && (least[0] < 0 || node[i] < node[least[0]])) {
				least[1] = least[0];
				least[0] = i;
			} else if (node[i] && (least[1] < 0 || node[i] < node[least[1]])) {
				least[1] = i;
			}
		if (least[1] < 0)
			break;
		node[top] = node[least[0]] + node[least[1]];
		for (int k = 0; k < 2; k++) {
			node[least[k]] = 0;
			parent[least[k]] = (uint8_t)top;
		}
	}
	unsigned most = 0;
	for (int i = top - 2; i >= 0; i--) {
		depth[i] = parent[i] ? depth[parent[i]] + 1 : 0;
		most = depth[i] > most ? depth[i] : most;
	}
	for (int j = 0; j < BLOCKS_MOST; j++)
		words->of[j].length = depth[j];
	return most;
}

/* Returns a code for the counts. Weights are halved until no codeword is too long; a code has at least two
 * codewords. */
static struct codewords codewords_of(const uint32_t count[BLOCKS_MOST])
{
	struct codewords words;
	uint32_t weight[BLOCKS_MOST];
	unsigned used = 0;
	for (int j = 0; j < BLOCKS_MOST; j++) {
		weight[j] = count[j];
		used += count[j] != 0;
	}
	if (used == 1)
		weight[weight[0] ? 1 : 0] = 1;
	while (build(&words, weight) > HUFFMAN_BITS)
		for (int j = 0; j < BLOCKS_MOST; j++)
			weight[j] = weight[j] / 2 + weight[j] % 2;
	assign(&words);
	return words;
}

/* The codewords of two symbols a and b, one after the other, and their length: entry a + 16 b. */
struct pairs {
	uint32_t bits[256];
	uint8_t length[256];
};

static void pairs_of(struct pairs *pairs, const struct codewords *words)
{
	for (unsigned i = 0; i < 256; i++) {
		const unsigned a = i % 16, b = i / 16;
		pairs->bits[i] = words->of[a].bits | (uint32_t)words->of[b].bits << words->of[a].length;
		pairs->length[i] = (uint8_t)(words->of[a].length + words->of[b].length);
	}
}

struct writer {
	uint8_t *at;
	uint64_t bits;
	unsigned count;
};

/* Stores the whole bytes of the bits; writes eight bytes in any case. */
static inline void flush(struct writer *w)
{
	memcpy(w->at, &w->bits, sizeof w->bits);
	w->at += w->count / 8;
	w->bits >>= w->count & ~7u;
	w->count %= 8;
}

/* Writes the codewords of pairs of symbols; size is a multiple of four. */
static inline struct writer write_run(struct writer w, const uint8_t *pair, size_t size,
                                      const struct pairs *pairs)
{
	for (const uint8_t *const end = pair + size; pair < end; pair += 4) {
		const unsigned first = pairs->length[pair[0]], second = pairs->length[pair[2]];
		const uint64_t low = pairs->bits[pair[0]] | (uint64_t)pairs->bits[pair[1]] << first;
		const uint64_t high = pairs->bits[pair[2]] | (uint64_t)pairs->bits[pair[3]] << second;
		const unsigned length = second + pairs->length[pair[3]];
		w.bits |= low << w.count;
		w.count += first + pairs->length[pair[1]];
		if (w.count + length >= 64) /* eight long codewords */
			flush(&w);
		w.bits |= high << w.count;
		w.count += length;
		flush(&w);
	}
	return w;
}

size_t crumb_huffman_encode(uint8_t *dst, size_t limit, const uint8_t *codes, size_t groups,
                            const struct block_code *code, const uint32_t count[BLOCKS_MOST])
{
	enum { RUN_GROUPS = BLOCKS_RUN / GROUP };
	uint8_t coded[BLOCKS_BLOCK_BYTES + 16], symbol[BLOCKS_RUN], pair[BLOCKS_RUN / 2];
	const struct codewords words = codewords_of(count);
	const size_t overhead = length_bytes(code->count) + 2 * (BLOCKS_STREAMS - 1);
	uint64_t bits = 0;
	for (int j = 0; j < BLOCKS_MOST; j++)
		bits += (uint64_t)count[j] * words.of[j].length;
	if (overhead + bits / 8 >= limit)
		return 0;
	struct pairs pairs;
	pairs_of(&pairs, &words);
	uint16_t size[BLOCKS_STREAMS];
	struct writer w = {coded, 0, 0};
	for (size_t t = 0; t < BLOCKS_STREAMS; t++) {
		const uint8_t *const begin = w.at;
		for (size_t g = t * RUN_GROUPS; g < groups; g += BLOCKS_STREAMS * RUN_GROUPS) {
			const size_t here = groups - g < RUN_GROUPS ? groups - g : RUN_GROUPS;
			code->get(codes + code->width * g, here, symbol);
			for (size_t i = 0; i < GROUP / 2 * here; i++)
				pair[i] = (uint8_t)(symbol[2 * i] | symbol[2 * i + 1] << 4);
			w = write_run(w, pair, GROUP / 2 * here, &pairs);
		}
		w.at += w.count != 0;
		w.bits = w.count = 0;
		size[t] = (uint16_t)(w.at - begin);
	}
	const size_t total = (size_t)(w.at - coded);
	if (overhead + total >= limit)
		return 0;
	for (unsigned j = 0; j < code->count; j += 2)
		*dst++ = (uint8_t)(words.of[j].length |
		                   (j + 1 < code->count ? words.of[j + 1].length << 4 : 0));
	for (int t = 0; t < BLOCKS_STREAMS - 1; t++)
		dst = put_u16(dst, size[t]);
	memcpy(dst, coded, total);
	return overhead + total;
}

/* ---- decode --------------------------------------------------------------------------------- */

/* Enters the continuations by one more symbol of the symbols so far (in a slot's format), whose codewords are
 * in bits, and then theirs. */
static void enter(uint64_t *slot, const struct codewords *words, uint32_t bits, uint64_t so_far)
{
	const uint32_t length = so_far >> 32 & 255, count = (uint32_t)(so_far >> 40);
	for (uint32_t j = 0; j < BLOCKS_MOST; j++) {
		const uint32_t now = length + words->of[j].length;
		if (!words->of[j].length || now > HUFFMAN_BITS)
			continue;
		const uint32_t here = bits | (uint32_t)words->of[j].bits << length;
		const uint64_t with = (so_far & 0xFFFFFFFF) | (uint64_t)j << 8 * count | (uint64_t)now << 32 |
		                      (uint64_t)(count + 1) << 40;
		for (uint32_t i = here; i < HUFFMAN_SLOTS; i += 1u << now)
			slot[i] = with;
		if (count + 1 < HUFFMAN_AT_ONCE)
			enter(slot, words, here, with);
	}
}

bool crumb_huffman_open(struct huffman_decoder *d, const uint8_t *src, size_t size, unsigned count)
{
	struct codewords words = {0};
	const size_t lengths = length_bytes(count), overhead = lengths + 2 * (BLOCKS_STREAMS - 1);
	if (size < overhead)
		return false;
	for (unsigned j = 0; j < 2 * lengths; j++) {
		const uint8_t length = src[j / 2] >> 4 * (j % 2) & 15;
		if (length > HUFFMAN_BITS || (length && j >= count))
			return false;
		words.of[j].length = d->length[j] = length;
	}
	if (!assign(&words))
		return false;
	d->end = src + size;
	d->acc = NULL;
	const uint8_t *at = src + overhead;
	for (int t = 0; t < BLOCKS_STREAMS; t++) {
		const size_t left = (size_t)(d->end - at);
		const size_t bytes = t < BLOCKS_STREAMS - 1 ? get_u16(src + lengths + 2 * (size_t)t) : left;
		if (bytes > left)
			return false;
		d->stream[t].begin = at;
		d->stream[t].size = bytes;
		d->stream[t].bit = 0;
		at += bytes;
	}
	enter(d->slot, &words, 0, 0);
	return true;
}

/* Returns at least 57 bits of a stream from the given one on; zeros follow the end of the block. */
static uint64_t bits_from(const struct huffman_decoder *d, int t, size_t bit)
{
	const size_t size = (size_t)(d->end - d->stream[t].begin), byte = bit / 8;
	uint64_t x = 0;
	if (byte < size)
		memcpy(&x, d->stream[t].begin + byte, size - byte < sizeof x ? size - byte : sizeof x);
	return x >> bit % 8;
}

/* Decodes the last symbols of a stream's run, where fewer than a whole look-up's may be left. */
static void tail(struct huffman_decoder *d, int t, uint8_t *symbol, uint8_t *end)
{
	size_t bit = d->stream[t].bit;
	while (symbol < end) {
		const uint64_t found = d->slot[bits_from(d, t, bit) % HUFFMAN_SLOTS];
		if (end - symbol >= HUFFMAN_AT_ONCE) {
			put_u32(symbol, (uint32_t)found);
			symbol += found >> 40;
			bit += found >> 32 & 255;
		} else {
			*symbol++ = (uint8_t)found;
			bit += d->length[found & 255];
		}
	}
	d->stream[t].bit = bit;
}

bool crumb_huffman_next(struct huffman_decoder *d, uint8_t *symbol, size_t groups)
{
	enum { LOOKUPS = 5, MOST = LOOKUPS * HUFFMAN_AT_ONCE }; /* a word has at least 5 * 11 bits */
	uint8_t *at[BLOCKS_STREAMS], *end[BLOCKS_STREAMS];
	const uint8_t *src[BLOCKS_STREAMS], *const last = d->end - sizeof(uint64_t);
	size_t bit[BLOCKS_STREAMS];
	const float *const acc = d->acc;
	for (size_t t = 0; t < BLOCKS_STREAMS; t++) {
		const size_t first = t * BLOCKS_RUN, all = GROUP * groups;
		at[t] = symbol + (first < all ? first : all);
		end[t] = symbol + (first + BLOCKS_RUN < all ? first + BLOCKS_RUN : all);
		src[t] = d->stream[t].begin;
		bit[t] = d->stream[t].bit;
	}
	for (;;) {
		bool more = true;
		for (int t = 0; t < BLOCKS_STREAMS; t++)
			more = more && end[t] - at[t] >= MOST && last - src[t] >= (ptrdiff_t)(bit[t] / 8);
		if (!more)
			break;
		for (int t = 0; t < BLOCKS_STREAMS; t++) {
			uint64_t x;
			memcpy(&x, src[t] + bit[t] / 8, sizeof x);
			x >>= bit[t] % 8;
			if (acc)
				prefetch(acc, sizeof *acc * (size_t)(at[t] - symbol));
			for (int k = 0; k < LOOKUPS; k++) {
				const uint64_t found = d->slot[x % HUFFMAN_SLOTS];
				put_u32(at[t], (uint32_t)found);
				at[t] += found >> 40;
				bit[t] += found >> 32 & 255;
				x >>= found >> 32 & 63;
			}
		}
	}
	for (int t = 0; t < BLOCKS_STREAMS; t++) {
		d->stream[t].bit = bit[t];
		tail(d, t, at[t], end[t]);
	}
	return true;
}

bool crumb_huffman_close(const struct huffman_decoder *d)
{
	bool good = true;
	for (int t = 0; t < BLOCKS_STREAMS; t++) {
		const size_t bit = d->stream[t].bit;
		good = good && divide_up(bit, 8) == d->stream[t].size &&
		       (bit % 8 == 0 || d->stream[t].begin[bit / 8] >> bit % 8 == 0);
	}
	return good;
}
