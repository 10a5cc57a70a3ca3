/* The statistics that learners share, and the levels they agree on, for alq and amq.
 *
 * SPDX-License-Identifier: MIT */
#include "payload/adapt.h"
#include "fit/histogram.h"
#include <math.h>
#include <string.h>

enum { EMPIRICAL, NORMAL };
enum { PARTS = 20 }; /* normal laws of a mixture: the buckets of largest norm, as the authors have it */

/* Returns the floats that a learner shares: its largest norm; the histogram to judge by; then a histogram, or
 * the parts of a mixture (norm, mean, deviation), or the count, sum and sum of squares about their buckets'
 * means of all coordinates. */
static size_t stat_floats(const crumb_codec *codec)
{
	const bool normalized = codec->value[ADAPT_NORMALIZED] != 0;
	return 1 + HISTOGRAM_BINS +
	       (codec->value[ADAPT_MODEL] == EMPIRICAL ? HISTOGRAM_BINS
	        : normalized                           ? 3
	                                               : 3 * PARTS);
}

static bool zero_is_level(const crumb_codec *codec) { return codec->value[ADAPT_ZERO] != 0; }

size_t crumb_adapt_floats(const crumb_codec *codec, size_t n)
{
	(void)n;
	return levels_count(codec, zero_is_level(codec));
}

bool crumb_adapt_packer_ok(const struct crumb_packer *p)
{
	const uint32_t count = levels_count(&p->codec, zero_is_level(&p->codec));
	const float *level = (const float *)(p + 1);
	const bool agreed = p->step || p->agreed;
	bool good = !agreed || (level[0] == -1 && level[count - 1] == 1);
	for (uint32_t k = 0; k < count; k++)
		good = good && (agreed ? k == 0 || level[k - 1] < level[k] : level[k] == 0);
	return good;
}

size_t crumb_adapt_count(const struct crumb_packer *p)
{
	const uint64_t every = (uint64_t)p->codec.value[ADAPT_EVERY];
	return p->step == 100 || p->step % every == 0 ? stat_floats(&p->codec) : 0;
}

/* Norms are shared in this unit: a norm may be above 2^120, which is not usable. */
#define NORM_UNIT 0x1p-16f

/* ---- measure -------------------------------------------------------------------------------- */

/* Count, mean and sum of squares about the mean of coordinates (Welford's recurrence). */
struct moments {
	double count, mean, squares;
};

struct measured {
	const bool normalized, normal, single; /* single: one block alone both fits and judges */
	double judge[HISTOGRAM_BINS], fit[HISTOGRAM_BINS];
	float top;                     /* the largest norm so far; weights are relative to it */
	float norm;                    /* the current bucket's */
	struct moments here;           /* the current bucket's */
	struct fit_normal part[PARTS]; /* by falling norm, which is the weight */
	struct moments all;
};

/* Inserts a part among those of largest weight, after parts of equal weight. */
static void insert_part(struct fit_normal part[PARTS], struct fit_normal one)
{
	size_t at = PARTS;
	while (at > 0 && one.weight > part[at - 1].weight)
		at--;
	if (at == PARTS)
		return;
	memmove(part + at + 1, part + at, (PARTS - 1 - at) * sizeof *part);
	part[at] = one;
}

static void end_bucket(struct measured *s)
{
	const struct moments m = s->here;
	if (m.count > 1) {
		const double deviation = sqrt(m.squares / (m.count - 1));
		insert_part(s->part, (struct fit_normal){s->norm, m.mean, deviation});
	}
	s->all.count += m.count;
	s->all.mean += m.count * m.mean;
	s->all.squares += m.squares;
	s->here = (struct moments){0, 0, 0};
}

static void rescale(double *histogram, double factor)
{
	for (size_t i = 0; i < HISTOGRAM_BINS; i++)
		histogram[i] *= factor;
}

static void visit(void *arg, size_t block, bool first_of_bucket, float norm, const float *y, size_t count)
{
	struct measured *s = arg;
	if (first_of_bucket)
		end_bucket(s);
	if (norm == 0)
		return; /* all zeros, which every set of levels sends exactly */
	s->norm = norm;
	if (norm > s->top) {
		const double factor = s->normalized ? 1 : (double)s->top / (double)norm;
		rescale(s->judge, factor * factor);
		rescale(s->fit, factor * factor);
		s->top = norm;
	}
	const double relative = s->normalized ? 1 : (double)norm / (double)s->top;
	const bool fits = s->single || block % 2 == 0, judges = s->single || block % 2 == 1;
	for (size_t i = 0; i < count; i++) {
		const size_t bin = histogram_bin(y[i]);
		s->fit[bin] += fits ? relative * relative : 0;
		s->judge[bin] += judges ? relative * relative : 0;
		if (fits && s->normal) {
			const double from = y[i] - s->here.mean;
			s->here.count++;
			s->here.mean += from / s->here.count;
			s->here.squares += from * (y[i] - s->here.mean);
		}
	}
}

void crumb_adapt_measure(struct crumb_packer *p, const void *grad, enum crumb_dtype type, float *stat,
                         levels_walk_function *walk)
{
	const crumb_codec *codec = &p->codec;
	const bool normalized = codec->value[ADAPT_NORMALIZED] != 0,
	           normal = codec->value[ADAPT_MODEL] == NORMAL;
	struct measured s = {.normalized = normalized, .normal = normal, .single = p->n <= LEVELS_BLOCK};
	walk(grad, type, p->n, (size_t)codec->value[LEVELS_BUCKET],
	     (enum levels_norm)codec->value[ADAPT_NORM], visit, &s);
	end_bucket(&s);
	*stat++ = s.top * NORM_UNIT;
	for (size_t i = 0; i < HISTOGRAM_BINS; i++)
		*stat++ = (float)s.judge[i];
	if (!normal) {
		for (size_t i = 0; i < HISTOGRAM_BINS; i++)
			*stat++ = (float)s.fit[i];
	} else if (normalized) {
		*stat++ = (float)s.all.count;
		*stat++ = (float)s.all.mean;
		*stat++ = (float)s.all.squares;
	} else {
		for (size_t i = 0; i < PARTS; i++) {
			*stat++ = (float)s.part[i].weight * NORM_UNIT;
			*stat++ = (float)s.part[i].mean;
			*stat++ = (float)s.part[i].sigma;
		}
	}
}

/* ---- agree ---------------------------------------------------------------------------------- */

/* Adds up, in learner order, the histogram at index at of all learners' stats, each weighed by the learner's
 * norm; bins that are not positive add nothing. */
static void add_histograms(double mass[HISTOGRAM_BINS], const float *stat, size_t learners, size_t stride,
                           size_t at, bool normalized, double top)
{
	memset(mass, 0, HISTOGRAM_BINS * sizeof *mass);
	for (size_t l = 0; l < learners; l++) {
		const float *shared = stat + l * stride;
		const double relative = normalized || top == 0 ? 1 : (double)shared[0] / top;
		for (size_t i = 0; i < HISTOGRAM_BINS; i++)
			mass[i] += shared[at + i] > 0 ? relative * relative * (double)shared[at + i] : 0;
	}
}

static double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/* Makes the paper's law of all learners' stats: one normal law of all coordinates, or one a bucket, weighed
 * by its norm squared (eq. 10). Returns the number of parts. */
static size_t normal_parts(struct fit_normal part[PARTS], const float *stat, size_t learners, size_t stride,
                           bool normalized)
{
	const size_t at = 1 + HISTOGRAM_BINS;
	memset(part, 0, PARTS * sizeof *part);
	if (normalized) {
		double count = 0, sum = 0, squares = 0;
		for (size_t l = 0; l < learners; l++) {
			count += (double)stat[l * stride + at];
			sum += (double)stat[l * stride + at + 1];
			squares += (double)stat[l * stride + at + 2];
		}
		if (count > 0)
			part[0] = (struct fit_normal){1, clamp(sum / count, -1, 1),
			                              clamp(sqrt(clamp(squares / count, 0, 1)), 0, 1)};
		return count > 0;
	}
	for (size_t l = 0; l < learners; l++)
		for (size_t i = 0; i < PARTS; i++) {
			const float *one = stat + l * stride + at + 3 * i;
			if (one[0] > 0)
				insert_part(part,
				            (struct fit_normal){(double)one[0], clamp((double)one[1], -1, 1),
				                                clamp((double)one[2], 0, 1)});
		}
	size_t count = 0;
	const double top = part[0].weight;
	for (; count < PARTS && part[count].weight > 0; count++)
		part[count].weight *= part[count].weight / top / top;
	return count;
}

/* Sets all levels from those in [lo, 1], rounded to f32, as which they are used. */
static void mirror(double *all, uint32_t count, const double *level, double lo)
{
	const uint32_t half = lo < 0 ? 0 : count / 2;
	for (uint32_t k = half; k < count; k++) {
		all[k] = (float)level[k - half];
		all[count - 1 - k] = lo < 0 ? all[count - 1 - k] : -all[k];
	}
}

void crumb_adapt_agree(struct crumb_packer *p, const float *stat, size_t learners, adapt_choose *choose)
{
	const crumb_codec *codec = &p->codec;
	const bool normalized = codec->value[ADAPT_NORMALIZED] != 0, zero = zero_is_level(codec);
	const uint32_t count = levels_count(codec, zero);
	const size_t stride = stat_floats(codec), own = zero ? count / 2 + 1 : count;
	const double lo = zero ? 0 : -1;
	float *level = packer_floats(p);

	double top = 0, mass[HISTOGRAM_BINS], previous[CRUMB_FIT_LEVELS], next[CRUMB_FIT_LEVELS],
	       all[CRUMB_FIT_LEVELS];
	for (size_t l = 0; l < learners; l++)
		top = (double)stat[l * stride] > top ? (double)stat[l * stride] : top;
	crumb_fit_powers(previous, own, lo, crumb_fit_start(own, lo));
	for (size_t k = 0; k < own && level[0] != 0; k++)
		previous[k] = (double)level[count - own + k];

	struct histogram_law empirical;
	struct fit_mixture mixture;
	struct fit_magnitude magnitude;
	struct fit_normal part[PARTS];
	const struct fit_law *law = NULL;
	if (codec->value[ADAPT_MODEL] == EMPIRICAL) {
		add_histograms(mass, stat, learners, stride, 1 + HISTOGRAM_BINS, normalized, top);
		crumb_histogram_law(&empirical, mass);
		law = &empirical.of.law;
	} else {
		const size_t parts = normal_parts(part, stat, learners, stride, normalized);
		crumb_fit_mixture(&mixture, part, parts, -1, 1);
		law = parts ? &mixture.law : NULL;
		if (law && own > 16) { /* many intervals, each of which would go through all parts */
			crumb_histogram_of(&empirical, mass, law);
			law = &empirical.of.law;
		}
	}
	memcpy(next, previous, sizeof next);
	if (law && zero) {
		crumb_fit_magnitude(&magnitude, law);
		law = &magnitude.law;
	}
	if (law)
		choose(codec, law, next, own, lo, previous);

	add_histograms(mass, stat, learners, stride, 1, normalized, top);
	crumb_histogram_law(&empirical, mass);
	mirror(all, count, previous, lo);
	const double before = crumb_fit_psi(&empirical.of.law, all, count);
	for (uint32_t k = 0; k < count; k++)
		level[k] = (float)all[k];
	mirror(all, count, next, lo);
	if (crumb_fit_psi(&empirical.of.law, all, count) < before)
		for (uint32_t k = 0; k < count; k++)
			level[k] = (float)all[k];
}
