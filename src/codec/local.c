/* local: the largest element of each bin alone. This is AdaComp's local selection without the soft threshold,
 * a yardstick of the paper (Chen et al., AAAI 2018).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "payload/bins_pack.h"
#include "payload/bins_unpack.h"
#include <math.h>

enum { CODING = BIN + 1 }; /* the other key */

static size_t bound(const crumb_codec *codec, size_t n)
{
	const size_t bin = (size_t)codec->value[BIN];
	return bins_bound(n, bin, divide_up(n, bin), codec->value[CODING] != BINS_SYMBOLS);
}

/* Adds the gradient to a bin; returns M. */
static float add_gradient(float *r, const void *grad, enum crumb_dtype type, size_t first, size_t size)
{
	v16f max = v16_set(0);
	size_t i = 0;
	for (; i + V16 <= size; i += V16)
		max = add_group(r, grad, type, first + i, max);
	if (i < size) {
		float *const rest = r + first + i;
		const v16f g = v16_load_partial(type, grad, first + i, size - i);
		const v16f G = v16_add(v16_loadf_partial(rest, size - i), g);
		v16_storef_partial(rest, G, size - i);
		max = v16_max_abs(G, max);
	}
	return v16_max_lane(max);
}

/* The number of the bin's first element whose magnitude is M. */
static size_t first_of(const float *bin, size_t size, float M)
{
	size_t i = 0;
	while (i + V16 <= size && !v16_bits(v16_ge(v16_abs(v16_loadf(bin + i)), v16_set(M))))
		i += V16;
	while (i + 1 < size && fabsf(bin[i]) < M)
		i++;
	return i;
}

static uint8_t *pack_bins(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                          float *scale)
{
	const size_t n = p->n, bin = (size_t)p->codec.value[BIN], width = symbol_width(bin);
	float *const r = packer_floats(p);
	struct mean mean = {0, 0, 0};
	for (size_t first = 0; first < n; first += bin) {
		const size_t size = n - first < bin ? n - first : bin;
		uint8_t *const begin = dst;
		const float M = add_gradient(r, grad, type, first, size);
		if (M > 0) {
			const size_t i = first_of(r + first, size, M);
			dst = put_symbol(dst, width, (uint32_t)i, r[first + i] < 0);
		}
		dst = end_bin(begin, dst, width);
		mean_add(&mean, M);
	}
	*scale = mean_of(&mean);
	return dst;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	return bins_pack(p, grad, type, pack_bins, p->codec.value[CODING] != BINS_SYMBOLS, dst, &out->flags);
}

static void describe(const struct frame *frame, crumb_frame_info *out) { bins_describe(frame, out, CODING); }

CODEC_INFO(local, .id = 7, .flags = CRUMB_CODEC_RESIDUAL | CRUMB_CODEC_FIXED, .name = "local",
           .brief = "of every bin, the greatest element (Chen et al. 2018, local selection)", .keys = 3,
           .key = {{"bin", "elements of a bin", 500, 1, BINS_MAX_SIZE, 1, NULL},
                   {"coding", "symbols: of 8, 16 or 32 bits; entropy: gaps between elements", BINS_SYMBOLS, 0,
                    1, 1, CHOICES("symbols", "entropy")},
                   DECAY_KEY});

const struct codec PER_ISA(local) = {
        .info = &crumb_info_local,
        .variable_width = ALL_FRAMES,
        .floats = residual_floats,
        .bound = bound,
        .pack = pack,
        .check = bins_check,
        .unpack_add = bins_unpack_add,
        .describe = describe,
};
