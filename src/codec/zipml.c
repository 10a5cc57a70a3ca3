/* zipml: the optimal levels for each gradient, or for a sample of a long one: a yardstick for the adaptive
 * codecs (Zhang et al., ICML 2017).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/levels_codec.h"
#include "fit/histogram.h"
#include "fit/optimum.h"

/* From SAMPLED elements on one block in ONE_IN is counted, but every block of a bucket whose norm squared is
 * FAR times the mean of those before or more, since few such buckets may have most of the error. */
enum { SAMPLED = 1 << 20, ONE_IN = 8, FAR = 8 };

struct sample {
	struct histogram_count histogram;
	bool sampled;
	double buckets, squares; /* the number of buckets so far, and the sum of their norms squared */
};

static void visit(void *arg, size_t block, bool first_of_bucket, float norm, const float *y, size_t count)
{
	struct sample *sample = arg;
	struct histogram_count *s = &sample->histogram;
	if (first_of_bucket) {
		const double square = (double)norm * norm;
		const bool far = square * sample->buckets >= FAR * sample->squares;
		crumb_histogram_add_bucket(s);
		s->norm = norm;
		s->weight = sample->sampled && !far ? ONE_IN : 1;
		sample->buckets++;
		sample->squares += square;
	}
	/* Multiples of the golden ratio, which coincide with no rows of a tensor. */
	if (norm == 0 || (s->weight > 1 && (uint32_t)block * 0x9E3779B9u > UINT32_MAX / ONE_IN))
		return;
	for (size_t i = 0; i < count; i++)
		s->count[histogram_bin(y[i])]++;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	struct levels levels;
	const uint32_t count = levels_count(&p->codec, false);
	levels_powers(&levels, count, 0.5f); /* for a gradient of zeros */
	levels.form = LEVELS_TABLE;
	struct sample s = {.sampled = p->n >= SAMPLED};
	levels_walk(grad, type, p->n, (size_t)p->codec.value[LEVELS_BUCKET], LEVELS_L2, visit, &s);
	crumb_histogram_add_bucket(&s.histogram);
	struct histogram_law law;
	double level[OPTIMUM_LEVELS];
	crumb_histogram_law(&law, s.histogram.mass);
	const bool any = s.histogram.top > 0;
	if (any)
		crumb_fit_optimum(&law.of, level, count);
	for (uint32_t k = 0; any && k < count; k++)
		levels.at[k] = (float)level[k];
	return levels_pack(p, grad, type, &levels, LEVELS_L2, dst, out);
}

CODEC_INFO(zipml, .id = 17, .flags = CRUMB_CODEC_RANDOM | CRUMB_CODEC_FIXED, .name = "zipml",
           .brief = "the best levels for each gradient: a yardstick, not fast (Zhang et al. 2017)",
           .keys = LEVELS_OWN, .key = {LEVELS_KEYS(3, 4, 8192)});

LEVELS_CODEC(zipml, LEVELS_TABLE, false, .pack = pack);
