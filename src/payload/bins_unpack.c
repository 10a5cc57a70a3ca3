/* Decoding frames of bins: check, unpack_add and describe.
 *
 * SPDX-License-Identifier: MIT */
#include "payload/bins.h"
#include "payload/bins_unpack.h"
#include <math.h>

/* Returns true if symbol s may come after the one before it. Offsets ascend within a bin, so only the last
 * one need be compared with n: bins_check does that. */
V16_FN bool follows(struct symbol before, struct symbol s, const size_t width, uint32_t bin)
{
	const bool begins = before.flags & LAST;
	if (s.offset == empty_offset(width))
		return begins && s.flags == LAST;
	return s.offset < bin && (begins || s.offset > before.offset);
}

/* Defines a function that checks symbols i to end - 1 with SIMD. Clears *good if one of them may not come
 * after the one before it, adds the bins that end to *bins, and returns the first symbol that was not
 * checked. */
#define CHECK_LANES(NAME, TYPE)                                                                             \
	V16_FN size_t NAME(const uint8_t *src, size_t i, size_t end, uint32_t bin, bool *good,              \
	                   uint64_t *bins)                                                                  \
	{                                                                                                   \
		enum {                                                                                      \
			BYTES = V16_LANES < 8 ? 16 : 32,                                                    \
			WIDTH = sizeof(TYPE),                                                               \
			LANES = BYTES / WIDTH,                                                              \
			ROUNDS = 16                                                                         \
		};                                                                                          \
		enum { LAST_BIT = 1 << (8 * WIDTH - 2), EMPTY = LAST_BIT - 1 };                             \
		typedef TYPE lanes __attribute__((vector_size(BYTES), aligned(1), may_alias));              \
		const lanes most = (lanes){0} + (TYPE)(bin - 1);                                            \
		for (; end - i >= LANES * ROUNDS; i += LANES * ROUNDS) {                                    \
			lanes bad = {0}, last = {0};                                                        \
			for (size_t k = 0; k < ROUNDS; k++) {                                               \
				const uint8_t *const at = src + WIDTH * (i + LANES * k);                    \
				const lanes s = *(const lanes *)at, before = *(const lanes *)(at - WIDTH),  \
				            offset = s & EMPTY, inside = (lanes)((before & LAST_BIT) == 0), \
				            none = (lanes)(offset == EMPTY);                                \
				bad |= none & (inside | (s ^ (LAST_BIT | EMPTY)));                          \
				bad |= ~none & (lanes)(offset > most);                                      \
				bad |= inside & (lanes)(offset <= (before & EMPTY));                        \
				last += s >> (8 * WIDTH - 2) & 1;                                           \
			}                                                                                   \
			uint32_t wrong = 0;                                                                 \
			for (int k = 0; k < LANES; k++) {                                                   \
				wrong |= bad[k];                                                            \
				*bins += last[k];                                                           \
			}                                                                                   \
			*good = *good && !wrong;                                                            \
		}                                                                                           \
		return i;                                                                                   \
	}
CHECK_LANES(check_bytes, uint8_t)
CHECK_LANES(check_words, uint16_t)

/* Returns true if the symbols that begin in the part, of the count symbols at src, are in order. Adds the
 * bins that they end to the part's. */
V16_FN bool check_symbols(struct part *part, const uint8_t *src, size_t count, const size_t width,
                          uint32_t bin)
{
	const struct units own = part_units(part, src, width, count);
	const struct symbol first = get_symbol(src, width);
	bool good = follows((struct symbol){LAST, 0}, first, width, bin);
	size_t i = own.first;
	if (i == 0 && own.end > 0) {
		part->bins += first.flags & LAST;
		i = 1;
	}
	if (width == 1)
		i = check_bytes(src, i, own.end, bin, &good, &part->bins);
	if (width == 2)
		i = check_words(src, i, own.end, bin, &good, &part->bins);
	for (; i < own.end; i++) {
		const struct symbol s = get_symbol(src + width * i, width);
		good = good && follows(get_symbol(src + width * i - width, width), s, width, bin);
		part->bins += s.flags & LAST;
	}
	return good;
}

/* Every bin appears, its offsets ascend, and its final symbol alone has *last*. */
bool bins_check(const struct frame *frame, struct part *part)
{
	if (frame->flags & ~BINS_GAPS || frame->size < 8)
		return false;
	const float scale = get_f32(frame->payload);
	if (!isfinite(scale) || signbit(scale))
		return false;
	if (frame->flags & BINS_GAPS)
		return !part_leads(part, frame) ||
		       crumb_golomb_check(frame->payload + 4, frame->size - 4, frame->n);
	const uint32_t bin = get_u32(frame->payload + 4);
	if (!bin || bin > BINS_MAX_SIZE)
		return false;
	const size_t width = symbol_width(bin), bytes = frame->size - 8, count = bytes / width;
	if (!count || bytes % width)
		return false;
	const uint8_t *const src = frame->payload + 8;
	const uint64_t bins = divide_up(frame->n, bin);
	const struct symbol last = get_symbol(src + bytes - width, width);
	if (!(last.flags & LAST) ||
	    (last.offset != empty_offset(width) && last.offset >= frame->n - (bins - 1) * bin))
		return false;
	part->bins -= part_leads(part, frame) ? bins : 0;
	return width == 1   ? check_symbols(part, src, count, 1, bin)
	       : width == 2 ? check_symbols(part, src, count, 2, bin)
	                    : check_symbols(part, src, count, 4, bin);
}

/* Returns the end of the first bins' symbols. Skips eight bytes at a time while they cannot end more bins
 * than are left. */
V16_FN const uint8_t *skip_bins(const uint8_t *src, const size_t width, size_t bins)
{
	const uint64_t last = width == 1   ? 0x4040404040404040
	                      : width == 2 ? 0x4000400040004000
	                                   : 0x4000000040000000;
	for (uint64_t word; bins >= sizeof word / width; src += sizeof word) {
		memcpy(&word, src, sizeof word);
		bins -= (size_t)__builtin_popcountll(word & last);
	}
	for (; bins; src += width)
		bins -= get_symbol(src, width).flags & LAST;
	return src;
}

/* add_bins for one bin that is partly outside of the range [first, end): adds to the elements inside. A range
 * has two such bins at most, so one loop serves all widths. */
__attribute__((noinline)) static void add_cut_bin(struct bin_reader *r, size_t bin, float v, float *acc,
                                                  size_t first, size_t end)
{
	const size_t width = symbol_width(bin), begin = r->at;
	for (; r->at == begin; r->src += width) {
		const struct symbol s = get_symbol(r->src, width);
		const size_t i = begin + s.offset;
		if (s.offset != empty_offset(width) && i >= first && i < end)
			acc[i] += s.flags & NEGATIVE ? -v : v;
		r->at += s.flags & LAST ? bin : 0;
	}
}

void bins_unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	const size_t n = frame->n;
	const float v = weight * get_f32(frame->payload);
	if (frame->flags & BINS_GAPS) {
		crumb_golomb_add(frame->payload + 4, frame->size - 4, n, v, -v, acc, first, end);
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

void bins_describe(const struct frame *frame, crumb_frame_info *out, size_t coding)
{
	frame_fact(out, "scale", get_f32(frame->payload));
	if (frame->flags & BINS_GAPS) {
		out->codec.value[coding] = BINS_ENTROPY;
		out->sent = golomb_sent(frame->payload + 4);
		return;
	}
	const size_t bin = get_u32(frame->payload + 4), width = symbol_width(bin);
	out->codec.value[BIN] = (float)bin;
	frame_fact(out, "bin", (double)bin);
	size_t empty = 0;
	for (size_t i = 8; i < frame->size; i += width) {
		const bool none = get_symbol(frame->payload + i, width).offset == empty_offset(width);
		empty += none;
		out->sent += !none;
	}
	frame_fact(out, "empty_bins", (double)empty);
}
