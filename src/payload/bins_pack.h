/* Packing bins: groups of sixteen cover a bin from its start, or from a cache line on; what is left at either
 * end is covered by a group that begins or ends with the bin and overlaps the next. A bin is swept once if it
 * fits into registers or sends but its maximum, else twice: G = r + g and its maximum, then the choice.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BINS_PACK_H
#define BINS_PACK_H

#include "payload/bins.h"
#include <math.h>

enum { BINS_RUN = 1024 }; /* bins whose M are added up by themselves */
/* BINS_CHOICE, which a codec's file defines before it includes this: |G + factor g| >= M, or the first
 * element with |G| = M. */
enum { LIFTED, FIRST };

/* ---- symbols -------------------------------------------------------------------------------- */

/* The symbols of the lanes in sent, whose first has that offset. They are put several at a time, and the last
 * few may be none, which the next ones overwrite: a branch on whether there is one more would be mispredicted
 * at most bins. */
V16_FN uint8_t *put_symbols(uint8_t *dst, const size_t width, uint64_t sent, uint64_t negative,
                            uint32_t offset, const int together)
{
	uint8_t *const end = dst + width * (size_t)__builtin_popcountll(sent);
	do {
		for (int k = 0; k < together; k++, sent &= sent - 1) {
			const uint32_t lane = v16_first_bit(sent);
			dst = put_symbol(dst, width, offset + lane, (uint32_t)(negative >> lane % 64));
		}
	} while (sent);
	return end;
}

enum { SHORT_BIN = 64 };

/* What a short bin sends, a bit an element, and which elements are below zero. */
struct chosen {
	uint64_t sent, negative;
};

/* Short bins are swept so many at a time before their symbols are put. Where that branches, as it does for
 * LIFTED but with AVX-512, it is mispredicted at every other bin, and would hold up the sweep of the next. */
enum { TOGETHER = BINS_CHOICE == LIFTED && V16_LANES < 16 ? 32 : 1 };

/* The symbols of a short bin, ended; number 63, sent where nothing is, is the symbol that says so. Of what is
 * LIFTED, SHORT_BIN bytes may be written; of FIRST, the first is put alone. */
V16_FN uint8_t *put_short(uint8_t *dst, struct chosen chosen)
{
	const uint64_t sent = chosen.sent | (uint64_t)!chosen.sent << 63, negative = chosen.negative;
	if (BINS_CHOICE == FIRST) {
		const uint32_t lane = v16_first_bit(sent);
		uint8_t *const end = put_symbol(dst, 1, lane, (uint32_t)(negative >> lane));
		end[-1] |= 0x40;
		return end;
	}
#ifdef V16_AVX512
	static const uint8_t offset[SHORT_BIN] = {
	        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
	        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
	        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
	/* *last* is in place before all are stored: a load of what was just stored would wait for it. */
	const __m512i sign = _mm512_maskz_set1_epi8(negative, (char)0x80),
	              last = _mm512_maskz_set1_epi8(1ull << (63 - __builtin_clzll(sent)), 0x40),
	              symbol = _mm512_or_si512(_mm512_or_si512(_mm512_loadu_si512(offset), sign), last);
	_mm512_storeu_si512(dst, _mm512_maskz_compress_epi8(sent, symbol));
	return dst + __builtin_popcountll(sent);
#else
	uint8_t *const end = put_symbols(dst, 1, sent, negative, 0, 3);
	end[-1] |= 0x40;
	return end;
#endif
}

/* ---- bins ----------------------------------------------------------------------------------- */

/* The lanes of a group that are sent; M > 0. */
V16_FN uint32_t sent_in(v16f G, v16f g, v16f factor, v16f M)
{
	if (BINS_CHOICE == FIRST)
		return v16_bits(v16_ge(v16_abs(G), M));
	const v16f H = v16_add(G, v16_mul(factor, g));
	return v16_bits(v16_both(v16_ge(v16_abs(H), M), v16_ne(G, v16_set(0))));
}

struct bin {
	float M;
	uint8_t *end; /* of its symbols */
};

struct bins {
	const float factor; /* less 1 */
	const size_t width; /* of a symbol */
};

/* A bin of 16 to 63 elements; returns M. Four groups cover it, which overlap, and none is stored before all
 * are loaded: so the bin is swept once, and stays in registers. */
V16_FN float sweep_short_bin(float *r, const void *grad, const enum crumb_dtype type, size_t first,
                             size_t size, const struct bins *bins, struct chosen *chosen)
{
	enum { GROUPS = SHORT_BIN / V16 };
	v16f g[GROUPS], G[GROUPS], top = v16_set(0);
	size_t from[GROUPS];
	uint64_t sent = 0, negative = 0;
	for (size_t k = 0; k < GROUPS; k++) {
		from[k] = V16 * k < size - V16 ? V16 * k : size - V16;
		g[k] = v16_stream(type, grad, first + from[k]);
		G[k] = v16_add(v16_streamf(r + first + from[k]), g[k]);
		top = v16_max_abs(G[k], top);
	}
	for (size_t k = 0; k < GROUPS; k++)
		v16_storef(r + first + from[k], G[k]);
	const float M = v16_max_lane(top);
	const v16f most = v16_set(M), f = v16_set(bins->factor);
	for (size_t k = 0; k < GROUPS; k++) {
		sent |= (uint64_t)sent_in(G[k], g[k], f, most) << from[k];
		negative |= (uint64_t)v16_bits(v16_negative(G[k])) << from[k];
	}
	*chosen = (struct chosen){M > 0 ? sent : 0, negative};
	return M;
}

/* The elements before the first from which on no register of r's lies across two cache lines. */
V16_FN size_t before_aligned(const float *r) { return -((uintptr_t)r / sizeof *r) % V16_LANES; }

/* Adds a group of the gradient to r's. Lane by lane, the greater of top and the sum's magnitude. */
V16_FN v16f add_group(float *r, const void *grad, const enum crumb_dtype type, size_t at, v16f top)
{
	const v16f G = v16_add(v16_loadf(r + at), v16_load(type, grad, at));
	v16_storef(r + at, G);
	return v16_max_abs(G, top);
}

/* A bin of 16 elements or more that sends what is lifted. */
V16_FN struct bin pack_lifted(float *r, const void *grad, const enum crumb_dtype type, size_t first,
                              size_t size, const struct bins *bins, uint8_t *dst)
{
	const size_t width = bins->width, tail = size - V16;
	uint8_t *const begin = dst;
	float *const own = r + first;
	/* Of shorter registers fewer cross lines, and the head would cost more than it gains. */
	const size_t from = V16_LANES == 16 ? before_aligned(own) : 0;
	/* Other groups overlap the head and the tail: so both are loaded before anything is stored, and are
	 * stored last, since a load of what has just been stored in parts would wait for it. */
	const v16f tail_g = v16_load(type, grad, first + tail);
	const v16f tail_G = v16_add(v16_loadf(own + tail), tail_g);
	v16f head_g = v16_set(0), head_G = v16_set(0), top = v16_abs(tail_G);
	if (from) {
		head_g = v16_load(type, grad, first);
		head_G = v16_add(v16_loadf(own), head_g);
		top = v16_max_abs(head_G, top);
	}
	size_t to = from;
	for (; to + V16 <= size; to += V16)
		top = add_group(r, grad, type, first + to, top);
	const float M = v16_max_lane(top);
	if (M > 0) {
		const v16f most = v16_set(M), f = v16_set(bins->factor);
		if (from) {
			const uint32_t sent = sent_in(head_G, head_g, f, most) & v16_first(from);
			dst = put_symbols(dst, width, sent, v16_bits(v16_negative(head_G)), 0, 1);
		}
		for (size_t i = from; i < to; i += SHORT_BIN) {
			uint64_t sent = 0, negative = 0;
			for (size_t k = 0; k < SHORT_BIN && i + k < to; k += V16) {
				/* The next bin comes from memory while this one, in the cache, is gone over
				 * again. */
				__builtin_prefetch(own + size + i + k);
				__builtin_prefetch((const uint8_t *)grad +
				                   v16_width(type) * (first + size + i + k));
				const v16f G = v16_loadf(own + i + k),
				           g = v16_load(type, grad, first + i + k);
				sent |= (uint64_t)sent_in(G, g, f, most) << k;
				negative |= (uint64_t)v16_bits(v16_negative(G)) << k;
			}
			dst = put_symbols(dst, width, sent, negative, (uint32_t)i, 2);
		}
		if (to < size) {
			const uint32_t sent = sent_in(tail_G, tail_g, f, most) & ~v16_first(to - tail);
			dst = put_symbols(dst, width, sent, v16_bits(v16_negative(tail_G)), (uint32_t)tail,
			                  1);
		}
	}
	if (from)
		v16_storef(own, head_G);
	v16_storef(own + tail, tail_G);
	return (struct bin){M, end_bin(begin, dst, width)};
}

enum { BLOCK = SHORT_BIN, GREATEST_TOGETHER = 8 /* bins, whose ends wait for nothing of one another */ };

/* The elements of a stored block whose magnitude is M, a bit each. */
V16_FN uint64_t equal_in_block(const float *block, v16f M)
{
	uint64_t equal = 0;
	for (size_t k = 0; k < BLOCK / V16; k++)
		equal |= (uint64_t)v16_bits(v16_ge(v16_abs(v16_loadf(block + V16 * k)), M)) << V16 * k;
	return equal;
}

/* Of a bin, lane by lane: the greatest magnitude, and the elements from a place to BINS_MAX_SIZE. It is the
 * first within BLOCK elements from there. */
struct greatest {
	v16f top, behind;
};

V16_FN void keep_greater(struct greatest *lanes, v16f size, size_t from)
{
	const v16f behind = v16_set((float)(BINS_MAX_SIZE - from));
	lanes->behind = v16_pick(v16_gt(size, lanes->top), behind, lanes->behind);
	lanes->top = v16_max(size, lanes->top);
}

/* Adds the gradient to a bin of SHORT_BIN elements or more. Each lane keeps where its greatest is, in a block
 * of four groups, to choose less often: a search through the bin afterwards would end in a branch that no
 * processor foresees, and that waits for memory. */
V16_FN struct greatest sweep_greatest(float *r, const void *grad, const enum crumb_dtype type, size_t first,
                                      size_t size, const bool cached)
{
	const size_t end = size - V16, tail = size - BLOCK;
	const v16f zero = v16_set(0);
	float *const own = r + first;
	/* Head and end are loaded before what overlaps them is stored; the end no sooner, since lines asked
	 * for out of turn disturb the CPU's own prefetcher. */
	const v16f head = v16_add(v16_loadf(own), v16_load(type, grad, first));
	struct greatest lanes = {v16_max_abs(head, zero),
	                         v16_set(BINS_MAX_SIZE)}; /* not abs: no NaN counts */
	size_t i = before_aligned(own);
	for (; i + BLOCK <= end; i += BLOCK) {
		v16f here = zero, G[BLOCK / V16];
		for (size_t k = 0; k < BLOCK / V16; k++) {
			const size_t at = i + V16 * k;
			G[k] = cached ? v16_add(v16_loadf(own + at), v16_load(type, grad, first + at))
			              : v16_add(v16_streamf(own + at), v16_stream(type, grad, first + at));
			v16_storef(own + at, G[k]);
		}
		for (size_t k = 0; k < BLOCK / V16; k++)
			here = v16_max_abs(G[k], here);
		keep_greater(&lanes, here, i);
	}
	const v16f last = v16_add(v16_loadf(own + end), v16_load(type, grad, first + end));
	for (; i < end; i += V16)
		keep_greater(&lanes, add_group(r, grad, type, first + i, zero), i < tail ? i : tail);
	v16_storef(own + end, last);
	keep_greater(&lanes, v16_max_abs(last, zero), tail);
	v16_storef(own, head);
	return lanes;
}

/* The first greatest of a bin that was swept, unless all are 0. */
V16_FN struct bin put_greatest(const float *own, const struct greatest *lanes, const struct bins *bins,
                               uint8_t *dst)
{
	uint8_t *const begin = dst;
	const float M = v16_max_lane(lanes->top);
	if (M > 0) {
		const v16f behind = v16_and_mask(v16_ge(lanes->top, v16_set(M)), lanes->behind);
		const uint32_t from = BINS_MAX_SIZE - (uint32_t)v16_max_lane(behind);
		const uint64_t equal = equal_in_block(own + from, v16_set(M));
		const uint32_t offset = from + (uint32_t)__builtin_ctzll(equal);
		dst = put_symbol(dst, bins->width, offset, own[offset] < 0);
	}
	return (struct bin){M, end_bin(begin, dst, bins->width)};
}

/* A bin of SHORT_BIN elements or more that sends its first greatest. */
V16_FN struct bin pack_greatest(float *r, const void *grad, const enum crumb_dtype type, size_t first,
                                size_t size, const struct bins *bins, uint8_t *dst)
{
	const struct greatest lanes = sweep_greatest(r, grad, type, first, size, false);
	return put_greatest(r + first, &lanes, bins, dst);
}

/* A bin of fewer than SHORT_BIN elements, one after another. */
V16_FN struct bin pack_small_bin(float *r, const void *grad, const enum crumb_dtype type, size_t first,
                                 size_t size, const struct bins *bins, uint8_t *dst)
{
	uint8_t *const begin = dst;
	float g[SHORT_BIN], M = 0;
	for (size_t i = 0; i < size; i += V16)
		v16_storef(g + i, size - i < V16 ? v16_load_partial(type, grad, first + i, size - i)
		                                 : v16_load(type, grad, first + i));
	for (size_t i = 0; i < size; i++) {
		r[first + i] += g[i];
		M = fabsf(r[first + i]) > M ? fabsf(r[first + i]) : M;
	}
	for (size_t i = 0; i < size; i++) {
		const float G = r[first + i], H = G + bins->factor * g[i];
		const bool sent =
		        BINS_CHOICE == FIRST ? fabsf(G) >= M && dst == begin : fabsf(H) >= M && G != 0;
		if (sent && M > 0)
			dst = put_symbol(dst, bins->width, (uint32_t)i, G < 0);
	}
	return (struct bin){M, end_bin(begin, dst, bins->width)};
}

/* The mean of the bins' M. How they are added up shows in its last bit, so the format says it: in runs. */
struct mean {
	double sum, run;
	size_t bins;
};

V16_FN void mean_add(struct mean *mean, float M)
{
	mean->run += M;
	if (++mean->bins % BINS_RUN == 0) {
		mean->sum += mean->run;
		mean->run = 0;
	}
}

V16_FN float mean_of(const struct mean *mean)
{
	return (float)((mean->sum + mean->run) / (double)mean->bins);
}

V16_FN size_t bins_pack_width(struct crumb_packer *p, const void *grad, const enum crumb_dtype type,
                              const struct bins *bins, uint8_t *dst)
{
	const size_t n = p->n, bin = (size_t)p->codec.value[BIN];
	float *r = packer_floats(p);
	uint8_t *const first = dst + 8;
	uint8_t *at = first;
	struct mean mean = {0, 0, 0};
	const size_t least = BINS_CHOICE == FIRST ? SHORT_BIN : V16;
	size_t i = 0;
	/* Elements before i have at most i symbols; where put_short writes SHORT_BIN, there is room for n. */
	while (bins->width == 1 && bin >= V16 && i + SHORT_BIN <= n) {
		struct chosen chosen[TOGETHER];
		size_t swept = 0;
		for (; swept < TOGETHER && i + SHORT_BIN <= n; i += bin)
			mean_add(&mean, sweep_short_bin(r, grad, type, i, bin, bins, &chosen[swept++]));
		for (size_t k = 0; k < swept; k++)
			at = put_short(at, chosen[k]);
	}
	while (V16_LANES >= 8 && BINS_CHOICE == FIRST && type == CRUMB_F32 && bins->width == 2 &&
	       n <= L2_ELEMENTS && i + least <= n) {
		struct greatest lanes[GREATEST_TOGETHER];
		const size_t begin = i;
		size_t swept = 0;
		for (; swept < GREATEST_TOGETHER && i + least <= n; i += bin)
			lanes[swept++] = sweep_greatest(r, grad, type, i, n - i < bin ? n - i : bin, true);
		for (size_t k = 0; k < swept; k++) {
			const struct bin done = put_greatest(r + begin + k * bin, &lanes[k], bins, at);
			at = done.end;
			mean_add(&mean, done.M);
		}
	}
	for (; i < n; i += bin) {
		const size_t size = n - i < bin ? n - i : bin;
		const struct bin done =
		        bins->width == 1 || size < least ? pack_small_bin(r, grad, type, i, size, bins, at)
		        : BINS_CHOICE == FIRST           ? pack_greatest(r, grad, type, i, size, bins, at)
		                                         : pack_lifted(r, grad, type, i, size, bins, at);
		at = done.end;
		mean_add(&mean, done.M);
	}
	const float scale = mean_of(&mean);
	put_u32(put_f32(dst, scale), (uint32_t)bin);
	add_bins(&(struct bin_reader){first, 0}, n, bin, -scale, r, n); /* takes it off */
	return (size_t)(at - dst);
}

/* One loop for all types but f32 and for the largest bins: these are rarer. */
V16_FN size_t bins_pack_symbols(struct crumb_packer *p, const void *grad, enum crumb_dtype type, float factor,
                                uint8_t *dst)
{
	const size_t width = symbol_width((size_t)p->codec.value[BIN]);
	if (type == CRUMB_F32 && width == 1)
		return bins_pack_width(p, grad, CRUMB_F32, &(struct bins){factor - 1, 1}, dst);
	if (type == CRUMB_F32 && width == 2)
		return bins_pack_width(p, grad, CRUMB_F32, &(struct bins){factor - 1, 2}, dst);
	return bins_pack_width(p, grad, type, &(struct bins){factor - 1, width}, dst);
}

/* Entropy-coded, symbols are written behind where the gaps may go. */
static inline size_t bins_before_symbols(size_t n, bool entropy) { return entropy ? 4 + golomb_room(n) : 0; }

static inline size_t bins_bound(size_t n, size_t bin, size_t symbols, bool entropy)
{
	return bins_before_symbols(n, entropy) + 8 + symbols * symbol_width(bin) + (entropy ? 3 : 0);
}

/* What a codec's pack does. factor: 1 or more; FIRST has none. */
V16_FN size_t bins_pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, float factor,
                        bool entropy, uint8_t *dst, uint16_t *flags)
{
	const size_t n = p->n, bin = (size_t)p->codec.value[BIN];
	uint8_t *const plain = dst + bins_before_symbols(n, entropy);
	const size_t size = bins_pack_symbols(p, grad, type, factor, plain);
	if (entropy) {
		const size_t gaps =
		        crumb_golomb_of_bins(dst + 4, plain + 8, size - 8, symbol_width(bin), bin, n);
		if (gaps && 4 + gaps < size) {
			*flags = BINS_GAPS;
			memcpy(dst, plain, 4);
			return 4 + gaps;
		}
		memmove(dst, plain, size);
	}
	return size;
}

#endif
