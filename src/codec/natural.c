/* natural: zero and the powers of two, rounded to at random (natural dithering: Horvath et al. 2019, section
 * 4).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/levels_codec.h"

enum { NORM = LEVELS_OWN }; /* the key of its own */

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	struct levels levels;
	levels_powers(&levels, levels_count(&p->codec, true), 0.5f);
	return levels_pack(p, grad, type, &levels, (enum levels_norm)p->codec.value[NORM], dst, out);
}

CODEC_INFO(natural, .id = 14, .flags = CRUMB_CODEC_RANDOM | CRUMB_CODEC_FIXED, .name = "natural",
           .brief = "0 or a power of two of the bucket's norm, at random (Horvath et al. 2019)", .keys = 4,
           .key = {LEVELS_KEYS(4, 4, 512), LEVELS_NORM_KEY(LEVELS_MAX)});

LEVELS_CODEC(natural, LEVELS_POWERS, false, .pack = pack);
