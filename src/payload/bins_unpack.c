/* Frames of bins: checked, added, described.
 *
 * SPDX-License-Identifier: MIT */
#include "payload/bins.h"
#include "payload/bins_unpack.h"
#include <math.h>

/* Whether a symbol may stand behind the one before it; but that offsets are below n shows in the last one
 * alone, since inside a bin they ascend. */
V16_FN bool follows(struct symbol before, struct symbol s, const size_t width, uint32_t bin)
{
	const bool begins = before.top & LAST;
	if (s.offset == nothing(width))
		return begins && s.top == LAST;
	return s.offset < bin && (begins || s.offset > before.offset);
}

/* The same of symbols i to end - 1, many at a time, while there are so many. Returns where these end, and
 * adds the bins that they end. */
#define CHECK_LANES(NAME, TYPE)                                                                            \
	V16_FN size_t NAME(const uint8_t *src, size_t i, size_t end, uint32_t bin, bool *good,             \
	                   uint64_t *bins)                                                                 \
	{                                                                                                  \
		enum {                                                                                     \
			BYTES = V16_LANES < 8 ? 16 : 32,                                                   \
			WIDTH = sizeof(TYPE),                                                              \
			LANES = BYTES / WIDTH,                                                             \
			TIMES = 16                                                                         \
		};                                                                                         \
		enum { ENDS = 1 << (8 * WIDTH - 2), NOTHING = ENDS - 1 };                                  \
		typedef TYPE lanes __attribute__((vector_size(BYTES), aligned(1), may_alias));             \
		const lanes most = (lanes){0} + (TYPE)(bin - 1);                                           \
		for (; end - i >= LANES * TIMES; i += LANES * TIMES) {                                     \
			lanes bad = {0}, last = {0};                                                       \
			for (size_t k = 0; k < TIMES; k++) {                                               \
				const uint8_t *const at = src + WIDTH * (i + LANES * k);                   \
				const lanes s = *(const lanes *)at, before = *(const lanes *)(at - WIDTH), \
				            offset = s & NOTHING, inside = (lanes)((before & ENDS) == 0),  \
				            none = (lanes)(offset == NOTHING);                             \
				bad |= none & (inside | (s ^ (ENDS | NOTHING)));                           \
				bad |= ~none & (lanes)(offset > most);                                     \
				bad |= inside & (lanes)(offset <= (before & NOTHING));                     \
				last += s >> (8 * WIDTH - 2) & 1;                                          \
			}                                                                                  \
			uint32_t wrong = 0;                                                                \
			for (int k = 0; k < LANES; k++) {                                                  \
				wrong |= bad[k];                                                           \
				*bins += last[k];                                                          \
			}                                                                                  \
			*good = *good && !wrong;                                                           \
		}                                                                                          \
		return i;                                                                                  \
	}
CHECK_LANES(check_bytes, uint8_t)
CHECK_LANES(check_pairs, uint16_t)

/* Whether the symbols that begin in the part, of count of so many bytes from src on, are in order; adds the
 * bins that they end. */
V16_FN bool check_symbols(struct part *part, const uint8_t *src, size_t count, const size_t width,
                          uint32_t bin)
{
	const struct units own = part_units(part, src, width, count);
	const struct symbol first = get_symbol(src, width);
	bool good = follows((struct symbol){LAST, 0}, first, width, bin);
	size_t i = own.first;
	if (i == 0 && own.end > 0) {
		part->bins += first.top & LAST;
		i = 1;
	}
	if (width == 1)
		i = check_bytes(src, i, own.end, bin, &good, &part->bins);
	if (width == 2)
		i = check_pairs(src, i, own.end, bin, &good, &part->bins);
	for (; i < own.end; i++) {
		const struct symbol s = get_symbol(src + width * i, width);
		good = good && follows(get_symbol(src + width * i - width, width), s, width, bin);
		part->bins += s.top & LAST;
	}
	return good;
}

/* Every bin appears, its offsets ascend inside it, and only *last* ends it. */
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
	if (!bin || bin > BINS_MOST)
		return false;
	const size_t width = symbol_width(bin), bytes = frame->size - 8, count = bytes / width;
	if (!count || bytes % width)
		return false;
	const uint8_t *const src = frame->payload + 8;
	const uint64_t bins = divide_up(frame->n, bin);
	const struct symbol last = get_symbol(src + bytes - width, width);
	if (!(last.top & LAST) ||
	    (last.offset != nothing(width) && last.offset >= frame->n - (bins - 1) * bin))
		return false;
	part->bins -= part_leads(part, frame) ? bins : 0;
	return width == 1   ? check_symbols(part, src, count, 1, bin)
	       : width == 2 ? check_symbols(part, src, count, 2, bin)
	                    : check_symbols(part, src, count, 4, bin);
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

size_t bins_unpack_add(const struct frame *frame, const float *weight, size_t count, float *acc, size_t first,
                       size_t end)
{
	(void)count;
	const size_t n = frame->n;
	const float v = *weight * get_f32(frame->payload);
	if (frame->flags & BINS_GAPS) {
		crumb_golomb_add(frame->payload + 4, frame->size - 4, n, v, -v, acc, first, end);
		return 1;
	}
	const size_t bin = get_u32(frame->payload + 4), before = first / bin * bin;
	struct bin_reader r = {skip_bins(frame->payload + 8, symbol_width(bin), first / bin), before};
	if (before < first)
		add_cut_bin(&r, bin, v, acc, first, end);
	add_bins(&r, end == n ? n : end / bin * bin, bin, v, acc, n);
	if (r.at < end)
		add_cut_bin(&r, bin, v, acc, first, end);
	return 1;
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
		const bool none = get_symbol(frame->payload + i, width).offset == nothing(width);
		empty += none;
		out->sent += !none;
	}
	frame_fact(out, "empty_bins", (double)empty);
}
