/* nuqsgd: levels that halve towards zero, rounded to at random (Ramezani-Kebrya et al., JMLR 2021).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/levels_codec.h"

enum { ZERO = LEVELS_OWN, NORM }; /* the keys */

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	struct levels levels;
	levels_powers(&levels, levels_count(&p->codec, p->codec.value[ZERO] != 0), 0.5f);
	return levels_pack(p, grad, type, &levels, (enum levels_norm)p->codec.value[NORM], dst, out);
}

CODEC_INFO(nuqsgd, .id = 13, .flags = CRUMB_CODEC_RANDOM | CRUMB_CODEC_FIXED, .name = "nuqsgd",
           .brief = "one of the bucket's norm times 1, 1/2, 1/4..., at random (Ramezani-Kebrya et al. 2021)",
           .keys = 5, .key = {LEVELS_KEYS(4, 4, 512), LEVELS_ZERO_KEY(1), LEVELS_NORM_KEY(LEVELS_L2)});

LEVELS_CODEC(nuqsgd, LEVELS_POWERS, true, .pack = pack);
