/* local: of every bin, the greatest element alone; AdaComp's local selection without the soft threshold (Chen
 * et al., AAAI 2018), which the paper measures itself against.
 *
 * SPDX-License-Identifier: MIT */
#define BINS_CHOICE FIRST
#include "codec/codec.h"
#include "payload/bins_pack.h"
#include "payload/bins_unpack.h"

enum { CODING = BIN + 1 }; /* the other key */

static size_t bound(const crumb_codec *codec, size_t n)
{
	const size_t bin = (size_t)codec->value[BIN];
	return bins_bound(n, bin, divide_up(n, bin), codec->value[CODING] != BINS_SYMBOLS);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	return bins_pack(p, grad, type, 1, p->codec.value[CODING] != BINS_SYMBOLS, dst, &out->flags);
}

static void describe(const struct frame *frame, crumb_frame_info *out) { bins_describe(frame, out, CODING); }

CODEC_INFO(local, .id = 7, .flags = CRUMB_CODEC_RESIDUAL | CRUMB_CODEC_FIXED, .name = "local",
           .brief = "of every bin, the greatest element (Chen et al. 2018, local selection)", .keys = 2,
           .key = {{"bin", "elements of a bin", 500, 1, BINS_MAX_SIZE, 1, NULL},
                   {"coding", "symbols: of 8, 16 or 32 bits; entropy: gaps between elements", BINS_SYMBOLS, 0,
                    1, 1, bins_codings}});

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
