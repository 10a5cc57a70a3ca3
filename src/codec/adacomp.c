/* adacomp: AdaComp (Chen et al., AAAI 2018, Algorithm 2). With G = r + g and H = r + factor g, and M the
 * largest |G| of a bin, an element of the bin is sent if |H| >= M and G != 0: the latest gradient, counted
 * factor times, would lift it over the bin's largest |G|. A sent element is plus or minus the mean of the
 * bins' M.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "payload/bins_pack.h"
#include "payload/bins_unpack.h"
#include <math.h>

enum { FACTOR = BIN + 1, CODING }; /* the other keys */
enum { SHORT_BIN = 64 };           /* bins of fewer elements have bitmasks of 64 bits and symbols of a byte */

/* A bin has at most one symbol an element; an empty bin has one. */
static size_t bound(const crumb_codec *codec, size_t n)
{
	return bins_bound(n, (size_t)codec->value[BIN], n, codec->value[CODING] != BINS_SYMBOLS);
}

/* ---- symbols -------------------------------------------------------------------------------- */

/* Writes a symbol for each bit of sent; bit i is the element at offset + i in the bin. `together` symbols are
 * written before each branch, and later ones overwrite the surplus: a branch for each symbol would be
 * mispredicted often. Returns the symbols' end. */
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

/* Bitmasks of a short bin: the elements that are sent, and those below zero. */
struct chosen {
	uint64_t sent, negative;
};

/* Writes the symbols of a short bin. If it sends nothing, offset 63, which no short bin has, becomes the
 * symbol of an empty bin. Up to SHORT_BIN bytes may be written. Returns the symbols' end. */
V16_FN uint8_t *put_short_bin(uint8_t *dst, struct chosen chosen)
{
	const uint64_t sent = chosen.sent | (uint64_t)!chosen.sent << 63;
	return v16_compress_numbers(dst, sent, 1ull << (63 - __builtin_clzll(sent)), chosen.negative);
}

/* ---- bins ----------------------------------------------------------------------------------- */

/* Returns the bitmask of a group's elements that are sent, provided that M > 0. lift: factor - 1. */
V16_FN uint32_t sent_in(v16f G, v16f g, v16f lift, v16f M)
{
	const v16f H = v16_add(G, v16_mul(lift, g));
	return v16_bits(v16_both(v16_ge(v16_abs(H), M), v16_ne(G, v16_set(0))));
}

/* Adds the gradient to a bin of 16 to 63 elements; returns M. Four groups cover the bin; some overlap, so all
 * are loaded before one is stored. The bin is read once, and stays in registers. */
V16_FN float sweep_short_bin(float *r, const void *grad, const enum crumb_dtype type, size_t first,
                             size_t size, float lift, struct chosen *chosen)
{
	enum { GROUPS = SHORT_BIN / V16 };
	v16f g[GROUPS], G[GROUPS], max = v16_set(0);
	size_t from[GROUPS];
	uint64_t sent = 0, negative = 0;
	for (size_t k = 0; k < GROUPS; k++) {
		from[k] = V16 * k < size - V16 ? V16 * k : size - V16;
		g[k] = v16_stream(type, grad, first + from[k]);
		G[k] = v16_add(v16_streamf(r + first + from[k]), g[k]);
		max = v16_max_abs(G[k], max);
	}
	for (size_t k = 0; k < GROUPS; k++)
		v16_storef(r + first + from[k], G[k]);
	const float M = v16_max_lane(max);
	for (size_t k = 0; k < GROUPS; k++) {
		sent |= (uint64_t)sent_in(G[k], g[k], v16_set(lift), v16_set(M)) << from[k];
		negative |= (uint64_t)v16_bits(v16_negative(G[k])) << from[k];
	}
	*chosen = (struct chosen){M > 0 ? sent : 0, negative};
	return M;
}

struct packed_bin {
	float M;
	uint8_t *end; /* of the symbols */
};

/* Packs a bin of 16 elements or more in two sweeps: for M, and for the elements that are sent. The bin's last
 * group overlaps the one before it. */
V16_FN struct packed_bin pack_long_bin(float *r, const void *grad, const enum crumb_dtype type, size_t first,
                                       size_t size, float lift, const size_t width, uint8_t *dst)
{
	const size_t last = size - V16;
	uint8_t *const begin = dst;
	float *const residual = r + first;
	v16f max = v16_set(0);
	size_t i = 0;
	for (; i + V16 <= last; i += V16)
		max = add_group(r, grad, type, first + i, max);
	/* The last group is loaded before the group that it overlaps is stored. */
	const v16f last_G = v16_add(v16_loadf(residual + last), v16_load(type, grad, first + last));
	if (i < last)
		max = add_group(r, grad, type, first + i, max);
	v16_storef(residual + last, last_G);
	const float M = v16_max_lane(v16_max_abs(last_G, max));
	for (i = 0; M > 0 && i < size; i += SHORT_BIN) {
		uint64_t sent = 0, negative = 0;
		for (size_t k = 0; k < SHORT_BIN && i + k < size; k += V16) {
			const size_t at = i + k < last ? i + k : last, overlap = i + k - at;
			/* Prefetches the next bin; this one is in L1. */
			prefetch(residual, sizeof *residual * (size + at));
			prefetch(grad, v16_width(type) * (first + size + at));
			const v16f G = v16_loadf(residual + at), g = v16_load(type, grad, first + at);
			sent |= (uint64_t)(sent_in(G, g, v16_set(lift), v16_set(M)) >> overlap) << k;
			negative |= (uint64_t)(v16_bits(v16_negative(G)) >> overlap) << k;
		}
		/* At the tensor's end there may be no room for a surplus symbol. */
		dst = i + SHORT_BIN <= size ? put_symbols(dst, width, sent, negative, (uint32_t)i, 2)
		                            : put_symbols(dst, width, sent, negative, (uint32_t)i, 1);
	}
	return (struct packed_bin){M, end_bin(begin, dst, width)};
}

/* Packs a bin of fewer than SHORT_BIN elements one by one: the tensor's last bins, and those below 16. */
V16_FN struct packed_bin pack_small_bin(float *r, const void *grad, const enum crumb_dtype type, size_t first,
                                        size_t size, float lift, const size_t width, uint8_t *dst)
{
	uint8_t *const begin = dst;
	float g[SHORT_BIN], M = 0;
	v16_widen(g, V16 * divide_up(size, V16), type, grad, first, size);
	for (size_t i = 0; i < size; i++) {
		r[first + i] += g[i];
		M = fabsf(r[first + i]) > M ? fabsf(r[first + i]) : M;
	}
	for (size_t i = 0; i < size; i++) {
		const float G = r[first + i], H = G + lift * g[i];
		if (M > 0 && fabsf(H) >= M && G != 0)
			dst = put_symbol(dst, width, (uint32_t)i, G < 0);
	}
	return (struct packed_bin){M, end_bin(begin, dst, width)};
}

/* ---- tensors -------------------------------------------------------------------------------- */

/* Bins that are swept before their symbols are written. Without AVX-512 writing has a branch, which
 * is mispredicted at every other bin and would delay the sweep of the next bin. */
enum { TOGETHER = V16_LANES < 16 ? 32 : 1 };

V16_FN uint8_t *pack_width(struct crumb_packer *p, const void *grad, const enum crumb_dtype type,
                           const size_t width, uint8_t *dst, float *scale)
{
	const size_t n = p->n, bin = (size_t)p->codec.value[BIN];
	const float lift = p->codec.value[FACTOR] - 1;
	float *const r = packer_floats(p);
	struct mean mean = {0, 0, 0};
	size_t i = 0;
	/* At most i symbols precede element i, so put_short_bin's SHORT_BIN bytes fit while
	 * i + SHORT_BIN <= n. */
	while (width == 1 && bin >= V16 && i + SHORT_BIN <= n) {
		struct chosen chosen[TOGETHER];
		size_t swept = 0;
		for (; swept < TOGETHER && i + SHORT_BIN <= n; i += bin)
			mean_add(&mean, sweep_short_bin(r, grad, type, i, bin, lift, &chosen[swept++]));
		for (size_t k = 0; k < swept; k++)
			dst = put_short_bin(dst, chosen[k]);
	}
	for (; i < n; i += bin) {
		const size_t size = n - i < bin ? n - i : bin;
		const struct packed_bin done =
		        width == 1 || size < V16 ? pack_small_bin(r, grad, type, i, size, lift, width, dst)
		                                 : pack_long_bin(r, grad, type, i, size, lift, width, dst);
		dst = done.end;
		mean_add(&mean, done.M);
	}
	*scale = mean_of(&mean);
	return dst;
}

/* A loop that is not specialised serves the other types and the largest bins: these are rarer. */
static uint8_t *pack_bins(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                          float *scale)
{
	const size_t width = symbol_width((size_t)p->codec.value[BIN]);
	if (type == CRUMB_F32 && width == 1)
		return pack_width(p, grad, CRUMB_F32, 1, dst, scale);
	if (type == CRUMB_F32 && width == 2)
		return pack_width(p, grad, CRUMB_F32, 2, dst, scale);
	return pack_width(p, grad, type, width, dst, scale);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	return bins_pack(p, grad, type, pack_bins, p->codec.value[CODING] != BINS_SYMBOLS, dst, &out->flags);
}

static void describe(const struct frame *frame, crumb_frame_info *out) { bins_describe(frame, out, CODING); }

CODEC_INFO(
        adacomp, .id = 5, .flags = CRUMB_CODEC_RESIDUAL, .name = "adacomp",
        .brief = "of every bin, what the latest gradient lifts over its greatest residual (Chen et al. 2018)",
        .keys = 4,
        .key = {{"bin", "elements of a bin", 500, 1, BINS_MAX_SIZE, 1, NULL},
                {"factor", "how much the latest gradient is lifted: H = r + factor g", 2, 1, 16, 0, NULL},
                {"coding", "symbols: of 8, 16 or 32 bits; entropy: gaps between elements", BINS_SYMBOLS, 0, 1,
                 1, CHOICES("symbols", "entropy")},
                DECAY_KEY});

const struct codec PER_ISA(adacomp) = {
        .info = &crumb_info_adacomp,
        .variable_width = ALL_FRAMES,
        .floats = residual_floats,
        .bound = bound,
        .pack = pack,
        .check = bins_check,
        .unpack_add = bins_unpack_add,
        .describe = describe,
};
