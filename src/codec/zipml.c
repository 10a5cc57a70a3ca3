/* zipml: the best levels that there are for this very gradient, a yardstick for the adaptive codecs (Zhang et
 * al., ICML 2017).
 *
 * SPDX-License-Identifier: MIT */
#include "histogram.h"
#include "levels.h"

static size_t bound(const crumb_codec *codec, size_t n)
{
	return PER_ISA(levels_bound)(codec, n, LEVELS_TABLE);
}

/* The histogram of all coordinates, weighed by their norms squared relative to the greatest norm so far. */
struct survey {
	double mass[HISTOGRAM_BINS];
	float top;
};

static void see(void *arg, size_t block, bool first_of_bucket, float norm, const float *y, size_t count)
{
	struct survey *s = arg;
	(void)block;
	(void)first_of_bucket;
	if (norm == 0)
		return;
	if (norm > s->top) {
		const double factor = (double)s->top / (double)norm;
		for (size_t i = 0; i < HISTOGRAM_BINS; i++)
			s->mass[i] *= factor * factor;
		s->top = norm;
	}
	const double relative = (double)norm / (double)s->top;
	for (size_t i = 0; i < count; i++)
		s->mass[histogram_bin(y[i])] += relative * relative;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   uint16_t *flags)
{
	struct levels levels;
	const uint32_t count = levels_count(&p->codec, false);
	PER_ISA(levels_powers)(&levels, count, 0.5f); /* should all be zeros */
	levels.form = LEVELS_TABLE;
	struct survey s = {{0}, 0};
	PER_ISA(levels_survey)(grad, type, p->n, (size_t)p->codec.value[LEVELS_BUCKET], LEVELS_L2, see, &s);
	struct histogram_law law;
	double level[CRUMB_FIT_LEVELS];
	histogram_law(&law, s.mass);
	const double psi = s.top > 0 ? crumb_fit_optimum(&law.of, level, count) : 0;
	for (uint32_t k = 0; k < count && s.top > 0 && psi <= 1e300; k++)
		levels.at[k] = (float)level[k];
	return PER_ISA(levels_pack)(p, grad, type, &levels, LEVELS_L2, dst, flags);
}

static void describe(const struct frame *frame, crumb_frame *out) { PER_ISA(levels_describe)(frame, out); }

const struct codec PER_ISA(zipml) = {
        .info = {.id = 17,
                 .flags = CRUMB_RANDOM | CRUMB_FIXED,
                 .name = "zipml",
                 .brief = "the best levels for each gradient: a yardstick, not fast (Zhang et al. 2017)",
                 .keys = LEVELS_OWN,
                 .key = {LEVELS_KEYS(3, 4, 8192)}},
        .floats = levels_no_floats,
        .bound = bound,
        .pack = pack,
        .gates = always_gates,
        .check = PER_ISA(levels_check),
        .clean = PER_ISA(levels_clean),
        .unpack_add = PER_ISA(levels_unpack_add),
        .divides = PER_ISA(levels_divides),
        .describe = describe,
};
