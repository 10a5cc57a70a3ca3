/* Probes against their definitions, written out, on frames that plain crumb calls made.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/report/layer_probe.h"
#include "exchange/plan.h"
#include "exchange/policy.h"

enum { SLICES = 5, LEARNERS = 2, STEPS = 2, MOST_PARTS = 8, MOST = 71680 };

/* The fourth one is cut by the plan shard, between buckets; the last one is zeros. */
static const struct crumb_slice slices[SLICES] = {{.at = 0, .n = 1001, .kind = CRUMB_CONV},
                                                  {.at = 1001, .n = 10, .kind = CRUMB_BIAS},
                                                  {.at = 1011, .n = 4099, .kind = CRUMB_FC},
                                                  {.at = 5110, .n = MOST, .kind = CRUMB_LSTM},
                                                  {.at = 5110 + MOST, .n = 500, .kind = CRUMB_KIND_LAST}};
enum { TOTAL = 5110 + MOST + 500 };

/* Makes a gradient with tails heavier than normal. */
static void make_gradient(float *grad, uint64_t x)
{
	for (size_t i = 0; i < TOTAL; i++) {
		float sum = -2;
		x = x * 6364136223846793005u + 1442695040888963407u;
		for (int k = 0; k < 64; k += 16)
			sum += (float)(x >> k & 0xFFFF) * 0x1p-16f;
		grad[i] = i < slices[4].at ? sum * sum * sum : 0;
	}
}

/* The first learner's frames of a layer by plain calls: the decoded last frame, and the residual before
 * it. */
struct plain {
	float *arrived, *owed;
	double sent, bins;
};

static void pack_plainly(struct plain *plain, const struct crumb_slice *slice, size_t s, const char *spec,
                         float *const grad[LEARNERS][STEPS])
{
	crumb_codec codec;
	crumb_packer *packer[LEARNERS];
	float stat[LEARNERS * 4096];
	assert_int_equal(crumb_parse(&codec, spec, NULL), 0);
	const size_t cap = crumb_bound(&codec, slice->n);
	uint8_t *frame = malloc(cap);
	for (size_t l = 0; l < LEARNERS; l++) {
		packer[l] = malloc(crumb_packer_size(&codec, slice->n));
		crumb_packer_init(packer[l], &codec, slice->n, 0, crumb_exchange_seed(1, l, s));
	}
	for (size_t step = 0; step < STEPS; step++) {
		const size_t due = crumb_agree_count(packer[0]);
		for (size_t l = 0; l < LEARNERS && due; l++)
			crumb_measure(packer[l], grad[l][step] + slice->at, slice->n, CRUMB_F32,
			              stat + l * due);
		const float *residual = crumb_packer_residual(packer[0]);
		for (size_t i = 0; i < slice->n; i++)
			plain->owed[slice->at + i] = residual ? residual[i] : 0;
		for (size_t l = 0; l < LEARNERS; l++) {
			if (due)
				crumb_agree(packer[l], stat, LEARNERS);
			const int64_t size = crumb_pack(packer[l], grad[l][step] + slice->at, slice->n,
			                                CRUMB_F32, 0, frame, cap);
			if (l > 0 || step + 1 < STEPS)
				continue;
			crumb_frame_info about;
			assert_int_equal(crumb_peek(&about, frame, (size_t)size), size);
			crumb_unpack_add(frame, (size_t)size, 1, plain->arrived + slice->at, slice->n);
			plain->sent += (double)about.sent;
		}
	}
	if (strstr(spec, "bin="))
		plain->bins += ceil((double)slice->n / (double)codec.value[0]);
	for (size_t l = 0; l < LEARNERS; l++)
		free(packer[l]);
	free(frame);
}

/* ---- comparisons ---- */

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-5 * fabs(b)))
		fail_msg("%.17g is not %.17g", a, b);
}

static void check_spread(const struct spread *spread, const float *x, size_t n)
{
	const double most = spread->percentile[SPREAD_PERCENTILES - 1];
	size_t zeros = 0;
	for (size_t i = 0; i < n; i++)
		zeros += x[i] == 0;
	near(spread->zeros * (double)n, (double)zeros);
	for (size_t k = 0; k < SPREAD_PERCENTILES; k++) {
		const double p = spread->percentile[k];
		size_t below = 0, up_to = 0;
		for (size_t i = 0; i < n; i++) {
			below += fabs((double)x[i]) < p;
			up_to += fabs((double)x[i]) <= p;
		}
		assert_true(1000 * up_to >= n * spread_permille[k] && 1000 * below < n * spread_permille[k]);
	}
	for (size_t b = 0; b < SPREAD_BINS; b++) {
		const double from = most * (2.0 * (double)b / SPREAD_BINS - 1),
		             to = most * (2.0 * (double)(b + 1) / SPREAD_BINS - 1);
		size_t count = 0;
		for (size_t i = 0; i < n; i++)
			count += (double)x[i] >= from &&
			         ((double)x[i] < to || (b + 1 == SPREAD_BINS && (double)x[i] <= most));
		if (most == 0)
			count = b == SPREAD_BINS / 2 ? n : 0;
		assert_int_equal(spread->bin[b], count);
	}
}

/* Clips the gradient, bucket by bucket of a slice, at factor standard deviations. */
static void clip_plainly(float *clipped, const float *grad, size_t n, size_t bucket, double factor)
{
	for (size_t first = 0; first < n; first += bucket) {
		const size_t m = n - first < bucket ? n - first : bucket;
		double mean = 0, variance = 0;
		for (size_t i = first; i < first + m; i++)
			mean += (double)grad[i] / (double)m;
		for (size_t i = first; i < first + m; i++)
			variance += ((double)grad[i] - mean) * ((double)grad[i] - mean) / (double)m;
		const double bound = factor * sqrt(variance);
		for (size_t i = first; i < first + m; i++)
			clipped[i] = (float)fmax(-bound, fmin(bound, (double)grad[i]));
	}
}

static double product(const float *a, const float *b, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)a[i] * (double)b[i];
	return sum;
}

static double variance_of_coordinates(const float *grad, size_t n, size_t bucket)
{
	double mean = 0, variance = 0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t first = 0; first < n; first += bucket) {
			const size_t m = n - first < bucket ? n - first : bucket;
			const double length = sqrt(product(grad + first, grad + first, m));
			for (size_t i = first; i < first + m; i++) {
				const double r = length > 0 ? fabs((double)grad[i]) / length : 0;
				mean += pass == 0 ? r / (double)n : 0;
				variance += pass == 1 ? (r - mean) * (r - mean) / (double)n : 0;
			}
		}
	return variance;
}

static void check_layer(const struct layer_probe *probe, const struct plain *plain, const float *grad,
                        size_t n, size_t bucket, double factor)
{
	float *rest = malloc(n * sizeof *rest), *clipped = malloc(n * sizeof *clipped);
	double lost = 0, all = 0;
	for (size_t i = 0; i < n; i++) {
		const double wanted = (double)plain->owed[i] + (double)grad[i];
		rest[i] = (plain->owed[i] + grad[i]) - plain->arrived[i];
		lost += (wanted - (double)plain->arrived[i]) * (wanted - (double)plain->arrived[i]);
		all += wanted * wanted;
	}
	check_spread(&probe->gradient, grad, n);
	check_spread(&probe->arrived, plain->arrived, n);
	near(probe->sent, plain->sent / (double)n);
	near(probe->error, lost / all);
	near(probe->variance, variance_of_coordinates(grad, n, bucket));
	assert_int_equal(isnan(probe->bin_sent), plain->bins == 0);
	if (plain->bins > 0)
		near(probe->bin_sent, plain->sent / plain->bins);
	assert_int_equal(probe->owes, plain->bins > 0);
	if (probe->owes)
		check_spread(&probe->residual, rest, n);
	assert_int_equal(probe->clips, factor > 0);
	if (probe->clips) {
		clip_plainly(clipped, grad, n, bucket, factor);
		near(probe->clip_length, sqrt(product(clipped, clipped, n) / product(grad, grad, n)));
		near(probe->clip_cosine,
		     product(clipped, grad, n) / sqrt(product(clipped, clipped, n) * product(grad, grad, n)));
		double most = 0;
		for (size_t i = 0; i < n; i++)
			most = fmax(most, fabs((double)clipped[i]));
		near(probe->clipped.percentile[SPREAD_PERCENTILES - 1], most);
	}
	free(rest);
	free(clipped);
}

/* ---- a run ---- */

struct part {
	const char *spec;
	size_t bucket; /* 0: the whole slice */
	double factor; /* of clipping, if the codec clips */
};

static void probe_with(const char *plan, const char *text, const struct part of_kind[CRUMB_KINDS])
{
	static const float share[LEARNERS] = {0.5f, 0.5f};
	struct policy policy;
	struct crumb_slice cut[MOST_PARTS];
	struct crumb_exchange *exchange;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	float *grad[LEARNERS][STEPS], *mean = malloc(TOTAL * sizeof *mean);
	const struct plan *which = crumb_plan_find(plan);
	assert_int_equal(crumb_policy_parse(&policy, text, NULL), 0);
	const size_t cuts = crumb_slices_cut(slices, SLICES, which->longest_slice, cut);
	const struct crumb_exchange_config config = {.slices = cut,
	                                             .slice_count = cuts,
	                                             .policy = &policy,
	                                             .plan = which,
	                                             .learners = LEARNERS,
	                                             .seed = 1};
	assert_int_equal(crumb_exchange_start(&exchange, &config, why, sizeof why), 0);
	assert_int_equal(crumb_exchange_frame(exchange, 0, 0).len, 0);
	for (size_t step = 0; step < STEPS; step++) {
		const float *now[LEARNERS];
		for (size_t l = 0; l < LEARNERS; l++) {
			now[l] = grad[l][step] = malloc(TOTAL * sizeof **grad[l]);
			make_gradient(grad[l][step], 1 + l + LEARNERS * step);
		}
		assert_int_equal(crumb_exchange_step(exchange, now, share, mean), 0);
	}
	for (size_t s = 0; s < SLICES; s++) {
		const struct part *part = &of_kind[slices[s].kind];
		struct layer_probe probe;
		assert_int_equal(layer_probe_wants(&slices[s]), slices[s].kind != CRUMB_BIAS);
		if (!layer_probe_wants(&slices[s]))
			continue;
		const size_t at = slices[s].at, n = slices[s].n;
		float *arrived = calloc(TOTAL, sizeof *arrived), *owed = calloc(TOTAL, sizeof *owed);
		struct plain plain = {arrived, owed, 0, 0};
		for (size_t c = 0; c < cuts; c++)
			if (cut[c].at >= at && cut[c].at < at + n)
				pack_plainly(&plain, &cut[c], c, part->spec, grad);
		assert_int_equal(layer_probe(&probe, exchange, cut, cuts, s, &slices[s], grad[0][STEPS - 1]),
		                 0);
		assert_int_equal(probe.slice, s);
		assert_int_equal(probe.kind, slices[s].kind);
		plain.arrived += at;
		plain.owed += at;
		if (s + 1 < SLICES)
			check_layer(&probe, &plain, grad[0][STEPS - 1] + at, n,
			            part->bucket ? part->bucket : n, part->factor);
		else
			assert_true(probe.gradient.zeros == 1 && probe.gradient.bin[SPREAD_BINS / 2] == n &&
			            isnan(probe.error) && probe.variance == 0);
		free(arrived);
		free(owed);
	}
	/* A step that is skipped has no frames. */
	grad[1][0][7] = NAN;
	assert_int_equal(
	        crumb_exchange_step(exchange, (const float *const[]){grad[0][0], grad[1][0]}, share, mean),
	        CRUMB_ENONFINITE);
	assert_int_equal(crumb_exchange_frame(exchange, 0, 0).len, 0);
	for (size_t l = 0; l < LEARNERS; l++)
		for (size_t step = 0; step < STEPS; step++)
			free(grad[l][step]);
	crumb_exchange_close(exchange);
	free(mean);
}

static void probes_are_what_they_say(void **state)
{
	(void)state;
	const struct part bins[CRUMB_KINDS] = {[CRUMB_CONV] = {"terngrad:shared=1", 0, 2.5},
	                                       [CRUMB_FC] = {"adacomp:bin=50", 0, 0},
	                                       [CRUMB_LSTM] = {"terngrad:bucket=64,clip=1.5", 64, 1.5},
	                                       [CRUMB_KIND_LAST] = {"raw", 0, 0}},
	                  levels[CRUMB_KINDS] = {[CRUMB_CONV] = {"local:bin=60,coding=entropy", 0, 0},
	                                         [CRUMB_FC] = {"qsgd:bits=3,bucket=256", 256, 0},
	                                         [CRUMB_LSTM] = {"qsgd:bits=3,bucket=512", 512, 0},
	                                         [CRUMB_KIND_LAST] = {"raw", 0, 0}};
	for (size_t i = 0; i < 2; i++) {
		const char *plan = i ? "shard" : "gather";
		probe_with(
		        plan,
		        "conv=terngrad:shared=1;fc=adacomp:bin=50;lstm=terngrad:bucket=64,clip=1.5;bias,last=raw",
		        bins);
		probe_with(plan,
		           "conv=local:bin=60,coding=entropy;fc=qsgd:bits=3,bucket=256;"
		           "lstm=qsgd:bits=3,bucket=512;bias,last=raw",
		           levels);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(probes_are_what_they_say)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
