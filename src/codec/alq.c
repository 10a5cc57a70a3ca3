/* alq: levels that follow the gradient's distribution, each on its own (Faghri et al., NeurIPS 2020, section
 * 3).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/levels_codec.h"
#include "payload/adapt.h"
#include "fit/fit.h"

enum { SOLVER = ADAPT_KEYS }; /* the key */
enum { DESCENT = 1 };

/* Descends from the levels in use and from both of the paper's starts, and takes the best of the three. */
static void choose(const crumb_codec *codec, const struct fit_law *law, double *level, size_t count,
                   double lo, const double *previous)
{
	double best = crumb_fit_psi(law, level, count);
	for (int start = 0; start < 3; start++) {
		double other[CRUMB_FIT_LEVELS];
		__builtin_memcpy(other, previous, count * sizeof *other);
		if (start == 1)
			crumb_fit_uniform(other, count, lo);
		if (start == 2)
			crumb_fit_powers(other, count, lo, crumb_fit_start(count, lo));
		if (start && !__builtin_memcmp(other, previous, count * sizeof *other))
			continue;
		if (codec->value[SOLVER] == DESCENT)
			crumb_fit_gradient(law, other, count);
		else
			crumb_fit_alq(law, other, count);
		const double psi = crumb_fit_psi(law, other, count);
		if (psi < best) {
			best = psi;
			__builtin_memcpy(level, other, count * sizeof *other);
		}
	}
}

static void agree(struct crumb_packer *p, const float *stat, size_t learners)
{
	crumb_adapt_agree(p, stat, learners, choose);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	struct levels levels = {LEVELS_TABLE, levels_count(&p->codec, p->codec.value[ADAPT_ZERO] != 0), {0}};
	__builtin_memcpy(levels.at, packer_floats(p), levels.count * sizeof *levels.at);
	return levels_pack(p, grad, type, &levels, (enum levels_norm)p->codec.value[ADAPT_NORM], dst, out);
}

CODEC_INFO(alq, .id = 15, .flags = CRUMB_CODEC_RANDOM | CRUMB_CODEC_FIXED | CRUMB_CODEC_AGREES, .name = "alq",
           .brief = "levels that follow the gradient's distribution (Faghri et al. 2020)", .keys = SOLVER + 1,
           .key = {ADAPT_OWN_KEYS,
                   {"solver", "how levels are found", 0, 0, 1, 1, CHOICES("coordinates", "descent")}});

LEVELS_CODEC(alq, LEVELS_TABLE, true, .pack = pack, .floats = crumb_adapt_floats,
             .agreement = &(const struct agreement){crumb_adapt_count, adapt_measure, agree,
                                                    crumb_adapt_packer_ok});
