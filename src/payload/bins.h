/* Bins: a tensor in bins of equal size, each of which sends a few of its elements as plus or minus one scale.
 *
 * adacomp and local differ in which elements a bin sends; the rest is the same: the symbols of a payload
 * (doc/FORMAT.md, adacomp) and the loop that adds what they say, here; residual, scale and packing, in
 * bins_pack.h; frames, in bins_unpack.c.
 * Entropy-coded, the payload has no bins: elements are counted from the tensor's first one, and gaps.h has
 * their code.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BINS_H
#define BINS_H

#include "base/bytes.h"
#include "coding/golomb.h"
#include "v16/v16.h"

enum { BIN };                        /* the first key */
enum { BINS_SYMBOLS, BINS_ENTROPY }; /* the values of the key coding */
enum { BINS_GAPS = 1 };              /* the flag */
enum { BINS_MOST = 1 << 24 };        /* the largest bin; its f32 is exact */

static const char *const bins_codings[] = {"symbols", "entropy", NULL};

static inline size_t symbol_width(size_t bin) { return bin <= 63 ? 1 : bin <= 16383 ? 2 : 4; }

enum { SHORT_BIN = 64 }; /* below this many elements, symbols are bytes */

enum { LAST = 1, NEGATIVE = 2 };
struct symbol {
	uint32_t top, offset; /* top: LAST and NEGATIVE, or neither */
};

/* All offset bits 1: a bin that sends nothing. */
V16_FN uint32_t nothing(size_t width) { return (1u << (8 * width - 2)) - 1; }

/* negative: its lowest bit. */
V16_FN uint8_t *put_symbol(uint8_t *dst, const size_t width, uint32_t offset, uint32_t negative)
{
	const uint32_t x = negative << (8 * width - 1) | offset;
	if (width == 1)
		*dst = (uint8_t)x;
	else if (width == 2)
		put_u16(dst, (uint16_t)x);
	else
		put_u32(dst, x);
	return dst + width;
}

/* Sets *last* in the symbol that ends at end. */
V16_FN void mark_last(uint8_t *end) { end[-1] |= 0x40; }

V16_FN struct symbol get_symbol(const uint8_t *src, const size_t width)
{
	const uint32_t x = width == 1 ? *src : width == 2 ? get_u16(src) : get_u32(src);
	return (struct symbol){x >> (8 * width - 2), x & nothing(width)};
}

/* Where a reader of symbols stands: before those of the bin that begins at element number at. */
struct bin_reader {
	const uint8_t *src;
	size_t at;
};

/* Adds v, or -v, to the elements that the symbols name, of all bins that begin before element number until.
 * Signs are random, and bins' ends nearly: branches would be mispredicted. Short bins' elements are so close
 * that most cache lines have one: where the n elements of the tensor are too many for a cache, all lines are
 * asked for. */
V16_FN void add_bins_of(const size_t width, struct bin_reader *reader, size_t until, size_t bin, float v,
                        float *acc, size_t n)
{
	enum { TURN = 8 /* symbols */, LINE = 64 / sizeof *acc, LLC_ELEMENTS = 1 << 20 };
	const float by[4] = {v, v, -v, -v};
	const size_t step[4] = {0, bin, 0, bin};
	struct bin_reader r = *reader;
	for (size_t asked = n > LLC_ELEMENTS ? r.at : SIZE_MAX; r.at < until;) {
		for (; width == 1 && asked < r.at + PREFETCH_BYTES / sizeof *acc; asked += LINE)
			prefetch(acc, sizeof *acc * asked);
		for (size_t k = 0; (width > 1 || k < TURN) && r.at < until; k++, r.src += width) {
			const struct symbol s = get_symbol(r.src, width);
			if (s.offset != nothing(width))
				acc[r.at + s.offset] += by[s.top];
			r.at += step[s.top];
		}
	}
	*reader = r;
}

/* One copy of the loops of all widths serves packing, which takes off what was sent, and adding. */
__attribute__((noinline)) static void add_bins(struct bin_reader *reader, size_t until, size_t bin, float v,
                                               float *acc, size_t n)
{
	switch (symbol_width(bin)) {
	case 1:
		add_bins_of(1, reader, until, bin, v, acc, n);
		break;
	case 2:
		add_bins_of(2, reader, until, bin, v, acc, n);
		break;
	default:
		add_bins_of(4, reader, until, bin, v, acc, n);
	}
}

#endif
