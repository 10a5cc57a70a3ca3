/* local: of every bin, the greatest element alone; AdaComp's local selection without the soft threshold (Chen
 * et al., AAAI 2018), which the paper measures itself against.
 *
 * SPDX-License-Identifier: MIT */
#include "bins.h"

static size_t bound(const crumb_codec *codec, size_t n)
{
	const size_t bin = (size_t)codec->value[BIN];
	return 8 + divide_up(n, bin) * symbol_width(bin);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   uint16_t *flags)
{
	(void)flags;
#define PACK(TYPE) bins_pack(p, grad, TYPE, FIRST, 1, dst)
	V16_BY_TYPE(type, PACK);
}

const struct codec PER_ISA(local) = {
        .info = {.id = 7,
                 .flags = CRUMB_RESIDUAL | CRUMB_FIXED,
                 .name = "local",
                 .brief = "of every bin, the greatest element (Chen et al. 2018, local selection)",
                 .keys = 1,
                 .key = {{"bin", "elements of a bin", 500, 1, BINS_MOST, 1, NULL}}},
        .floats = bins_floats,
        .bound = bound,
        .pack = pack,
        .check = bins_check,
        .unpack_add = bins_unpack_add,
        .describe = bins_describe,
};
