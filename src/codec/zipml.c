/* zipml: the best levels that there are for this very gradient, or of a long one for a sample of it, a
 * yardstick for the adaptive codecs (Zhang et al., ICML 2017).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/levels_codec.h"
#include "fit/histogram.h"
#include "fit/optimum.h"

/* Of a gradient of so many elements or more one block in eight is counted, but all of a bucket whose
 * norm squared is far above the mean of those before, since few such buckets may have most of the error. */
enum { SAMPLED = 1 << 20, ONE_IN = 8, FAR = 8 };

struct survey {
	struct histogram_count of;
	bool sampled;
	double buckets, squares; /* of their norms */
};

static void see(void *arg, size_t block, bool first_of_bucket, float norm, const float *y, size_t count)
{
	struct survey *survey = arg;
	struct histogram_count *s = &survey->of;
	if (first_of_bucket) {
		const double square = (double)norm * norm;
		const bool far = square * survey->buckets >= FAR * survey->squares;
		crumb_histogram_add_bucket(s);
		s->norm = norm;
		s->worth = survey->sampled && !far ? ONE_IN : 1;
		survey->buckets++;
		survey->squares += square;
	}
	/* In golden steps, which no rows of a tensor fall in with. */
	if (norm == 0 || (s->worth > 1 && (uint32_t)block * 0x9E3779B9u > UINT32_MAX / ONE_IN))
		return;
	for (size_t i = 0; i < count; i++)
		s->count[histogram_bin(y[i])]++;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	struct levels levels;
	const uint32_t count = levels_count(&p->codec, false);
	levels_powers(&levels, count, 0.5f); /* should all be zeros */
	levels.form = LEVELS_TABLE;
	struct survey s = {.sampled = p->n >= SAMPLED};
	levels_walk(grad, type, p->n, (size_t)p->codec.value[LEVELS_BUCKET], LEVELS_L2, see, &s);
	crumb_histogram_add_bucket(&s.of);
	struct histogram_law law;
	double level[CRUMB_FIT_LEVELS];
	crumb_histogram_law(&law, s.of.mass);
	const double psi = s.of.top > 0 ? crumb_fit_optimum(&law.of, level, count) : 0;
	for (uint32_t k = 0; k < count && s.of.top > 0 && psi <= 1e300; k++)
		levels.at[k] = (float)level[k];
	return levels_pack(p, grad, type, &levels, LEVELS_L2, dst, out);
}

CODEC_INFO(zipml, .id = 17, .flags = CRUMB_CODEC_RANDOM | CRUMB_CODEC_FIXED, .name = "zipml",
           .brief = "the best levels for each gradient: a yardstick, not fast (Zhang et al. 2017)",
           .keys = LEVELS_OWN, .key = {LEVELS_KEYS(3, 4, 8192)});

LEVELS_CODEC(zipml, LEVELS_TABLE, false, .pack = pack);
