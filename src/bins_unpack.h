/* Frames of bins: checked, added, described.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BINS_UNPACK_H
#define BINS_UNPACK_H

#include "bins.h"
#include <math.h>

/* Of symbols of a byte, checks those at src that have many behind them, many at a time, each beside the one
 * before. Returns where these end, or NULL if one is wrong, and adds the bins that they end. That offsets are
 * below n shows in the last bin alone, whose symbols, if all is well, are not among them. */
V16_FN const uint8_t *check_bytes(const uint8_t *src, const uint8_t *end, size_t bin, uint64_t *bins)
{
	enum { LANES = V16_LANES < 8 ? 16 : 32, TIMES = 16 };
	typedef uint8_t lanes __attribute__((vector_size(LANES), aligned(1), may_alias));
	const lanes most = (lanes){0} + (uint8_t)(bin - 1);
	while (end - src > SHORT_BIN + LANES * TIMES) {
		lanes bad = {0}, last = {0};
		for (size_t k = 0; k < TIMES; k++) {
			const lanes symbol = *(const lanes *)(src + LANES * k),
			            before = *(const lanes *)(src + LANES * k - 1), offset = symbol & 63,
			            inside = (lanes)((before & 64) == 0), none = (lanes)(offset == 63);
			bad |= none & (inside | (symbol ^ 0x7F));
			bad |= ~none & (lanes)(offset > most);
			bad |= inside & (lanes)(offset <= (before & 63));
			last += symbol >> 6 & 1;
		}
		uint64_t wrong = 0;
		for (int k = 0; k < LANES; k++) {
			wrong |= bad[k];
			*bins += last[k];
		}
		if (wrong)
			return NULL;
		src += LANES * TIMES;
	}
	return src;
}

/* Every bin appears, its offsets ascend inside it, and only *last* ends it. */
V16_FN bool check_symbols(const uint8_t *src, const uint8_t *end, const size_t width, size_t bin, uint64_t n)
{
	uint64_t first = 0; /* of the current bin */
	uint32_t least = 0; /* that the next offset may be */
	const uint8_t *const begin = src;
	for (; src < end; src += width) {
		if (width == 1 && src == begin + 1) {
			uint64_t bins = 0;
			if (!(src = check_bytes(src, end, bin, &bins)))
				return false;
			const struct symbol before = get_symbol(src - 1, 1);
			least = before.top & LAST ? 0 : before.offset + 1;
			first += bins * bin;
		}
		const struct symbol s = get_symbol(src, width);
		if (first >= n)
			return false;
		if (s.offset == nothing(width)) {
			if (least || s.top != LAST)
				return false;
		} else if (s.offset < least || s.offset >= bin || s.offset >= n - first) {
			return false;
		}
		least = s.top & LAST ? 0 : s.offset + 1;
		first += s.top & LAST ? bin : 0;
	}
	return first >= n && !least;
}

static inline bool bins_check(const struct frame *frame)
{
	if (frame->flags & ~BINS_GAPS || frame->size < 8)
		return false;
	const float scale = get_f32(frame->payload);
	if (!isfinite(scale) || signbit(scale))
		return false;
	if (frame->flags & BINS_GAPS)
		return crumb_gaps_check(frame->payload + 4, frame->size - 4, frame->n);
	const size_t bin = get_u32(frame->payload + 4);
	if (!bin || bin > BINS_MOST)
		return false;
	const size_t width = symbol_width(bin);
	const uint8_t *src = frame->payload + 8, *end = frame->payload + frame->size;
	if ((frame->size - 8) % width)
		return false;
	return width == 1   ? check_symbols(src, end, 1, bin, frame->n)
	       : width == 2 ? check_symbols(src, end, 2, bin, frame->n)
	                    : check_symbols(src, end, 4, bin, frame->n);
}

/* What follows the symbols of so many bins. Eight bytes are passed over at a time while they cannot end more
 * bins than are left. */
V16_FN const uint8_t *skip_bins(const uint8_t *src, const size_t width, size_t bins)
{
	const uint64_t lasts = width == 1   ? 0x4040404040404040
	                       : width == 2 ? 0x4000400040004000
	                                    : 0x4000000040000000;
	for (uint64_t word; bins >= sizeof word / width; src += sizeof word) {
		memcpy(&word, src, sizeof word);
		bins -= (size_t)__builtin_popcountll(word & lasts);
	}
	for (; bins; src += width)
		bins -= get_symbol(src, width).top & LAST;
	return src;
}

/* As add_bins, of a bin that may reach out of the range from first to end - 1: to what lies in it. There are
 * two at most, so one loop serves all widths. */
__attribute__((noinline)) static void add_cut_bin(struct bin_reader *r, size_t bin, float v, float *acc,
                                                  size_t first, size_t end)
{
	const size_t width = symbol_width(bin), begin = r->at;
	for (; r->at == begin; r->src += width) {
		const struct symbol s = get_symbol(r->src, width);
		const size_t i = begin + s.offset;
		if (s.offset != nothing(width) && i >= first && i < end)
			acc[i] += s.top & NEGATIVE ? -v : v;
		r->at += s.top & LAST ? bin : 0;
	}
}

static inline void bins_unpack_add(const struct frame *frame, float weight, float *acc, size_t first,
                                   size_t end)
{
	const size_t n = frame->n;
	const float v = weight * get_f32(frame->payload);
	if (frame->flags & BINS_GAPS) {
		crumb_gaps_add(frame->payload + 4, frame->size - 4, n, v, -v, acc, first, end);
		return;
	}
	const size_t bin = get_u32(frame->payload + 4), before = first / bin * bin;
	struct bin_reader r = {skip_bins(frame->payload + 8, symbol_width(bin), first / bin), before};
	if (before < first)
		add_cut_bin(&r, bin, v, acc, first, end);
	add_bins(&r, end == n ? n : end / bin * bin, bin, v, acc, n);
	if (r.at < end)
		add_cut_bin(&r, bin, v, acc, first, end);
}

/* coding: the number of this key. */
static inline void bins_describe(const struct frame *frame, crumb_frame *out, size_t coding)
{
	frame_fact(out, "scale", get_f32(frame->payload));
	if (frame->flags & BINS_GAPS) {
		out->codec.value[coding] = BINS_ENTROPY;
		out->sent = gaps_sent(frame->payload + 4);
		return;
	}
	const size_t bin = get_u32(frame->payload + 4), width = symbol_width(bin);
	out->codec.value[BIN] = (float)bin;
	frame_fact(out, "bin", (double)bin);
	size_t empty = 0;
	for (size_t i = 8; i < frame->size; i += width) {
		const bool none = get_symbol(frame->payload + i, width).offset == nothing(width);
		empty += none;
		out->sent += !none;
	}
	frame_fact(out, "empty_bins", (double)empty);
}

#endif
