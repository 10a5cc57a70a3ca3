/* Bins: a tensor divided into bins of equal size, each of which sends a few of its elements as plus or minus
 * one scale.
 *
 * adacomp and local differ in the choice of elements. They share the symbols of a payload (doc/FORMAT.md,
 * adacomp) and the loop that adds them, here; residual, scale and coding, in bins_pack.h; and the rest of
 * decoding, in bins_unpack.c. With entropy coding the payload has no bins: golomb.h codes the gaps between
 * the tensor's elements.
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
enum { BINS_MAX_SIZE = 1 << 24 };    /* of a bin; its f32 is exact */

/* ---- symbols -------------------------------------------------------------------------------- */

/* Bytes of a symbol. */
static inline size_t symbol_width(size_t bin) { return bin <= 63 ? 1 : bin <= 16383 ? 2 : 4; }

enum { LAST = 1, NEGATIVE = 2 };
struct symbol {
	uint32_t flags, offset; /* flags: LAST and NEGATIVE */
};

/* The offset of a bin that sends nothing: all bits 1. */
V16_FN uint32_t empty_offset(size_t width) { return (1u << (8 * width - 2)) - 1; }

/* negative: its lowest bit counts alone. */
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

V16_FN struct symbol get_symbol(const uint8_t *src, const size_t width)
{
	const uint32_t x = width == 1 ? *src : width == 2 ? get_u16(src) : get_u32(src);
	return (struct symbol){x >> (8 * width - 2), x & empty_offset(width)};
}

/* Ends a bin, whose symbols are those from begin to end; returns the place of the next bin's symbols. */
V16_FN uint8_t *end_bin(const uint8_t *begin, uint8_t *end, const size_t width)
{
	if (end == begin)
		end = put_symbol(end, width, empty_offset(width), 0);
	end[-1] |= 0x40; /* LAST */
	return end;
}

/* ---- adding --------------------------------------------------------------------------------- */

/* A reader's position: src, the symbols of the bin that begins at element number at. */
struct bin_reader {
	const uint8_t *src;
	size_t at;
};

/* Adds plus or minus v to the elements that the symbols name, for all bins that begin before element number
 * end. There is no branch on signs, which are random, nor on bins' ends: it would be mispredicted. Short bins
 * touch most cache lines, so if the n elements of the tensor are more than an L3 holds, all lines are
 * prefetched. */
V16_FN void add_bins_of(const size_t width, struct bin_reader *reader, size_t end, size_t bin, float v,
                        float *acc, size_t n)
{
	enum { SYMBOLS = 8 /* between prefetches */, LINE = 64 / sizeof *acc, L3_ELEMENTS = 1 << 20 };
	const float value[4] = {v, v, -v, -v};
	const size_t step[4] = {0, bin, 0, bin};
	struct bin_reader r = *reader;
	for (size_t prefetched = n > L3_ELEMENTS ? r.at : SIZE_MAX; r.at < end;) {
		for (; width == 1 && prefetched < r.at + PREFETCH_BYTES / sizeof *acc; prefetched += LINE)
			prefetch(acc, sizeof *acc * prefetched);
		for (size_t k = 0; (width > 1 || k < SYMBOLS) && r.at < end; k++, r.src += width) {
			const struct symbol s = get_symbol(r.src, width);
			if (s.offset != empty_offset(width))
				acc[r.at + s.offset] += value[s.flags];
			r.at += step[s.flags];
		}
	}
	*reader = r;
}

/* Not inlined: one copy serves packing, which subtracts from the residual, and adding. */
__attribute__((noinline)) static void add_bins(struct bin_reader *reader, size_t end, size_t bin, float v,
                                               float *acc, size_t n)
{
	switch (symbol_width(bin)) {
	case 1:
		add_bins_of(1, reader, end, bin, v, acc, n);
		break;
	case 2:
		add_bins_of(2, reader, end, bin, v, acc, n);
		break;
	default:
		add_bins_of(4, reader, end, bin, v, acc, n);
	}
}

#endif
