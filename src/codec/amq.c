/* amq: levels plus and minus 1, p, p^2... whose multiplier p follows the gradient's distribution (Faghri et
 * al., NeurIPS 2020, section 3).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/levels_codec.h"
#include "payload/adapt.h"
#include "fit/fit.h"

static void choose(const crumb_codec *codec, const struct fit_law *law, double *level, size_t count,
                   double lo, const double *previous)
{
	(void)codec;
	crumb_fit_multiplier(law, level, count, lo, previous[count - 2]);
}

static void agree(struct crumb_packer *p, const float *stat, size_t learners)
{
	crumb_adapt_agree(p, stat, learners, choose);
}

/* Frames have the powers of the multiplier alone, which are rounded otherwise than the levels are. */
static bool packer_ok(const struct crumb_packer *p)
{
	const uint32_t count = levels_count(&p->codec, p->codec.value[ADAPT_ZERO] != 0);
	const float *level = (const float *)(p + 1);
	struct levels levels;
	bool good = crumb_adapt_packer_ok(p);
	if (!good || level[0] == 0)
		return good;
	levels_powers(&levels, count, level[count - 2]);
	for (uint32_t k = 1; k < count; k++)
		good = good && levels.at[k - 1] < levels.at[k];
	return good;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	const uint32_t count = levels_count(&p->codec, p->codec.value[ADAPT_ZERO] != 0);
	struct levels levels;
	levels_powers(&levels, count, packer_floats(p)[count - 2]);
	return levels_pack(p, grad, type, &levels, (enum levels_norm)p->codec.value[ADAPT_NORM], dst, out);
}

CODEC_INFO(amq, .id = 16, .flags = CRUMB_CODEC_RANDOM | CRUMB_CODEC_FIXED | CRUMB_CODEC_AGREES, .name = "amq",
           .brief = "levels of powers whose multiplier follows the distribution (Faghri et al. 2020)",
           .keys = ADAPT_KEYS, .key = {ADAPT_OWN_KEYS});

LEVELS_CODEC(amq, LEVELS_POWERS, true, .pack = pack, .floats = crumb_adapt_floats,
             .agreement = &(const struct agreement){crumb_adapt_count, adapt_measure, agree, packer_ok});
