/* adacomp: of every bin, the elements that the latest gradient would lift over the bin's greatest residual
 * (Chen et al., AAAI 2018, Algorithm 2); each sends its sign and is worth the mean of the bins' greatest.
 *
 * SPDX-License-Identifier: MIT */
#define BINS_CHOICE LIFTED
#include "codec/codec.h"
#include "payload/bins_pack.h"
#include "payload/bins_unpack.h"

enum { FACTOR = BIN + 1, CODING }; /* the other keys */

/* A bin has at most as many symbols as elements: one, if it sends nothing. */
static size_t bound(const crumb_codec *codec, size_t n)
{
	return bins_bound(n, (size_t)codec->value[BIN], n, codec->value[CODING] != BINS_SYMBOLS);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	return bins_pack(p, grad, type, p->codec.value[FACTOR], p->codec.value[CODING] != BINS_SYMBOLS, dst,
	                 &out->flags);
}

static void describe(const struct frame *frame, crumb_frame_info *out) { bins_describe(frame, out, CODING); }

CODEC_INFO(
        adacomp, .id = 5, .flags = CRUMB_CODEC_RESIDUAL, .name = "adacomp",
        .brief = "of every bin, what the latest gradient lifts over its greatest residual (Chen et al. 2018)",
        .keys = 3,
        .key = {{"bin", "elements of a bin", 500, 1, BINS_MAX_SIZE, 1, NULL},
                {"factor", "how much the latest gradient is lifted: H = r + factor g", 2, 1, 16, 0, NULL},
                {"coding", "symbols: of 8, 16 or 32 bits; entropy: gaps between elements", BINS_SYMBOLS, 0, 1,
                 1, bins_codings}});

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
