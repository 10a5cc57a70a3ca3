/* qsgd: evenly spaced levels, rounded to at random (Alistarh et al., NeurIPS 2017); with norm=max it is the
 * practical variant QSGDinf, and with two bits, TernGrad's rule in buckets (TRN).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/levels_codec.h"

enum { ZERO = LEVELS_OWN, NORM }; /* the keys */

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	struct levels levels;
	levels_even(&levels, levels_count(&p->codec, p->codec.value[ZERO] != 0));
	return levels_pack(p, grad, type, &levels, (enum levels_norm)p->codec.value[NORM], dst, out);
}

CODEC_INFO(qsgd, .id = 12, .flags = CRUMB_CODEC_RANDOM | CRUMB_CODEC_FIXED, .name = "qsgd",
           .brief = "one of evenly spaced levels of the bucket's norm, at random (Alistarh et al. 2017)",
           .keys = 5, .key = {LEVELS_KEYS(4, 8, 512), LEVELS_ZERO_KEY(1), LEVELS_NORM_KEY(LEVELS_L2)});

LEVELS_CODEC(qsgd, LEVELS_EVEN, true, .pack = pack);
