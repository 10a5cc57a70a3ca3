/* Sums of frames under one agreed scaler: integers, exact, in ceil(log2(2N + 1)) bits an element.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include <stdlib.h>
#include <string.h>

static uint8_t **frames_of(const crumb_codec *codec, size_t learners, size_t n, crumb_span *span)
{
	uint8_t **frame = malloc(learners * sizeof *frame);
	crumb_packer **p = malloc(learners * sizeof *p);
	float *g = malloc(learners * (n + 1) * sizeof *g);
	crumb_packer *any = case_packer(codec, n, 0);
	const size_t due = crumb_agree_count(any), bound = crumb_bound(codec, n);
	float *stat = malloc((learners * due + 1) * sizeof *stat);
	for (size_t l = 0; l < learners; l++) {
		p[l] = case_packer(codec, n, l + 1);
		case_fill(g + l * n, n, CASE_GAUSS, l);
		if (due)
			assert_int_equal(crumb_measure(p[l], g + l * n, n, CRUMB_F32, stat + l * due), 0);
	}
	for (size_t l = 0; l < learners; l++) {
		if (due)
			assert_int_equal(crumb_agree(p[l], stat, learners), 0);
		frame[l] = malloc(bound);
		const int64_t len = crumb_pack(p[l], g + l * n, n, CRUMB_F32, 0, frame[l], bound);
		assert_true(len > 0);
		span[l] = (crumb_span){frame[l], (size_t)len};
		free(p[l]);
	}
	free(stat);
	free(any);
	free(g);
	free(p);
	return frame;
}

static size_t levels_bits(size_t learners)
{
	size_t bits = 0;
	while ((size_t)1 << bits < 2 * learners + 1)
		bits++;
	return bits;
}

/* The sum decodes to (weight * s) * q, q counted from the frames one by one. */
static void sums_are_exact(void **state)
{
	(void)state;
	static const char *const spec[] = {"terngrad:shared=1", "terngrad:shared=1,coding=bits",
	                                   "terngrad:shared=1,bucket=48", "terngrad:shared=1,coding=entropy",
	                                   "terngrad:shared=1,bucket=48,coding=entropy"};
	static const size_t count[] = {1, 2, 3, 4, 7, 8, 16, 33, 64},
	                    length[] = {0, 1, 15, 16, 17, 80, 96, 500, 4099, 140001};
	const char *isa[CASE_ISAS];
	const size_t isas = case_isas(isa);
	crumb_span span[64];
	for (size_t c = 0; c < sizeof spec / sizeof *spec; c++)
		for (size_t i = 0; i < isas; i++)
			for (size_t k = 0; k < sizeof count / sizeof *count; k++)
				for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
					const size_t n = length[l], learners = count[k];
					if (n > 5000 && learners != 3)
						continue;
					const float weight = 1.0f / (float)learners;
					crumb_codec codec;
					assert_int_equal(crumb_set_isa(isa[i]), 0);
					codec = case_parse(spec[c]);
					uint8_t **frame = frames_of(&codec, learners, n, span);
					const size_t bound = crumb_sum_bound(learners, n);
					uint8_t *sum = malloc(bound);
					const int64_t len = crumb_sum(span, learners, sum, bound);
					assert_true(len > 0);
					const size_t bucket = codec.value[1] > 0 ? (size_t)codec.value[1] : n;
					const size_t scalers = n ? (n + bucket - 1) / bucket : 0;
					if (n)
						assert_int_equal(len, CRUMB_HEADER_BYTES + 8 + 4 * scalers +
						                              2 * levels_bits(learners) *
						                                      ((n + 15) / 16));
					float *got = calloc(n + 1, sizeof *got),
					      *one = malloc((n + 1) * sizeof *one);
					int *q = calloc(n + 1, sizeof *q);
					for (size_t f = 0; f < learners; f++) {
						memset(one, 0, n * sizeof *one);
						assert_int_equal(
						        crumb_unpack_add(frame[f], span[f].len, 1, one, n),
						        span[f].len);
						for (size_t e = 0; e < n; e++)
							q[e] += (one[e] > 0) - (one[e] < 0);
						free(frame[f]);
					}
					assert_int_equal(crumb_unpack_add(sum, (size_t)len, weight, got, n),
					                 len);
					for (size_t e = 0; e < n; e++) {
						float s;
						memcpy(&s, sum + CRUMB_HEADER_BYTES + 8 + 4 * (e / bucket),
						       4);
						const float step = weight * s, want = step * (float)q[e];
						if (got[e] != want)
							fail_msg("%s, %zu learners, n = %zu, element %zu: "
							         "%a, expected %a",
							         spec[c], learners, n, e, (double)got[e],
							         (double)want);
					}
					crumb_frame_info f;
					assert_int_equal(crumb_peek(&f, sum, (size_t)len), len);
					free(q);
					free(one);
					free(got);
					free(sum);
					free(frame);
				}
	crumb_set_isa(NULL);
}

/* Frames that share nothing cannot be added, and say so. */
static void what_does_not_fit_is_refused(void **state)
{
	(void)state;
	crumb_codec shared, own, bucketed, raw;
	shared = case_parse("terngrad:shared=1");
	own = case_parse("terngrad");
	bucketed = case_parse("terngrad:shared=1,bucket=16");
	raw = case_parse("raw");
	crumb_span a[1], b[2], c[1], d[1], e[1];
	uint8_t out[4096], **frame[5] = {frames_of(&shared, 1, 100, a), frames_of(&shared, 2, 100, b),
	                                 frames_of(&own, 1, 100, c), frames_of(&bucketed, 1, 100, d),
	                                 frames_of(&raw, 1, 100, e)};
	const crumb_span other_scaler[] = {a[0], b[0]}, not_shared[] = {a[0], c[0]},
	                 other_bucket[] = {a[0], d[0]}, other_codec[] = {a[0], e[0]};
	assert_int_equal(crumb_sum(other_scaler, 2, out, sizeof out), CRUMB_EAGREE);
	assert_int_equal(crumb_sum(not_shared, 2, out, sizeof out), CRUMB_EAGREE);
	assert_int_equal(crumb_sum(other_bucket, 2, out, sizeof out), CRUMB_EAGREE);
	assert_int_equal(crumb_sum(other_codec, 2, out, sizeof out), CRUMB_EAGREE);
	assert_int_equal(crumb_sum(e, 1, out, sizeof out), CRUMB_EAGREE);
	assert_int_equal(crumb_sum(b, 0, out, sizeof out), CRUMB_EINVAL);
	assert_int_equal(crumb_sum(b, 2, out, 50), CRUMB_ESPACE);
	const int64_t len = crumb_sum(b, 2, out, sizeof out);
	assert_true(len > 0);
	const crumb_span sums[] = {{out, (size_t)len}, b[0]};
	uint8_t again[4096];
	assert_int_equal(crumb_sum(sums, 2, again, sizeof again),
	                 CRUMB_EAGREE); /* a sum is not added again */
	for (int f = 0; f < 5; f++) {
		free(frame[f][0]);
		if (f == 1)
			free(frame[f][1]);
		free(frame[f]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(sums_are_exact),
	        cmocka_unit_test(what_does_not_fit_is_refused),
	};
	return cmocka_run_group_tests_name("sum", tests, NULL, NULL);
}
