/* Codecs that round at random: their mean is the gradient, their spread is what the formula says.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One chi-square over 2^20 draws: the mean of STEPS decoded gradients, in standard errors from the gradient,
 * squared and added over the elements. The standard error is the two-point law's, so a wrong variance shows
 * as well as a bias. */
static void means_are_the_gradient(void **state)
{
	(void)state;
	enum { N = 4096, STEPS = 256 };
	static const char *const spec[] = {"terngrad:clip=0", "terngrad:clip=0,coding=bits",
	                                   "terngrad:clip=0,bucket=512", "terngrad:clip=0,shared=1"};
	static float g[N], out[N];
	static double sum[N];
	for (size_t c = 0; c < sizeof spec / sizeof *spec; c++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			crumb_codec codec = case_parse(spec[c]);
			crumb_packer *p = case_packer(&codec, N, seed);
			case_fill(g, N, CASE_GAUSS, seed);
			memset(sum, 0, sizeof sum);
			for (int s = 0; s < STEPS; s++) {
				size_t len;
				uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
				memset(out, 0, sizeof out);
				assert_int_equal(crumb_unpack_add(frame, len, 1, out, N), len);
				for (int i = 0; i < N; i++)
					sum[i] += out[i];
				free(frame);
			}
			const size_t bucket = codec.value[1] > 0 ? (size_t)codec.value[1] : N;
			double chi = 0;
			for (size_t i = 0; i < N; i++) {
				float s = 0;
				for (size_t k = i / bucket * bucket; k < i / bucket * bucket + bucket; k++)
					s = fmaxf(s, fabsf(g[k]));
				const double size = fabs((double)g[i]), variance = size * s - size * size;
				const double error = sum[i] / STEPS - (double)g[i];
				if (variance == 0)
					assert_true(error == 0);
				else
					chi += error * error / (variance / STEPS);
			}
			const double z = (chi - N) / sqrt(2.0 * N);
			if (fabs(z) > 5)
				fail_msg("%s, seed %d: chi-square is %.1f standard deviations off", spec[c],
				         (int)seed, z);
			free(p);
		}
}

/* An integer of block is one of the two next to the element, and in the mean the element. */
static void integers_have_the_mean(void **state)
{
	(void)state;
	enum { N = 4096, BLOCK = 64, STEPS = 500 };
	static const char *const spec[] = {"block:block=64", "block:block=64,bits=4"};
	static float g[N], out[N];
	static double sum[N];
	for (size_t c = 0; c < sizeof spec / sizeof *spec; c++) {
		const double most = c ? 7 : 127;
		crumb_codec codec = case_parse(spec[c]);
		crumb_packer *p = case_packer(&codec, N, 3);
		double chi = 0, scale[N], of_variance = 0;
		case_fill(g, N, CASE_GAUSS, 2);
		memset(sum, 0, sizeof sum);
		for (size_t i = 0; i < N; i++) {
			scale[i] = 0;
			for (size_t k = i / BLOCK * BLOCK; k < (i / BLOCK + 1) * BLOCK; k++)
				scale[i] = fmax(scale[i], fabs((double)g[k]) / most);
		}
		for (int s = 0; s < STEPS; s++) {
			size_t len;
			uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
			memset(out, 0, sizeof out);
			assert_int_equal(crumb_unpack_add(frame, len, 1, out, N), len);
			for (int i = 0; i < N; i++) {
				assert_true(fabs((double)out[i] - (double)g[i]) < scale[i] * 1.00001);
				sum[i] += (double)out[i];
			}
			free(frame);
		}
		for (int i = 0; i < N; i++) {
			const double place = fabs((double)g[i]) / scale[i], part = place - floor(place),
			             variance = part * (1 - part), error = sum[i] / STEPS - (double)g[i];
			if (variance > 0.01) {
				chi += error * error / (scale[i] * scale[i] * variance / STEPS);
				of_variance++;
			}
		}
		const double z = (chi - of_variance) / sqrt(2 * of_variance);
		if (fabs(z) > 5)
			fail_msg("%s: chi-square is %.1f standard deviations off", spec[c], z);
		free(p);
	}
}

/* Random numbers come in blocks of 4,096 elements: equal blocks do not become equal ones. */
static void blocks_draw_their_own(void **state)
{
	(void)state;
	enum { BLOCK = 4096, BLOCKS = 4, N = BLOCK * BLOCKS };
	static float g[N];
	for (int b = 0; b < BLOCKS; b++)
		case_fill(g + b * BLOCK, BLOCK, CASE_GAUSS, 1);
	for (size_t c = 0; crumb_list(c); c++) {
		if (!(crumb_list(c)->flags & CRUMB_CODEC_RANDOM))
			continue;
		static float out[N];
		crumb_codec codec;
		size_t len;
		codec = case_parse(crumb_list(c)->name);
		crumb_packer *p = case_packer(&codec, N, 1);
		uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
		memset(out, 0, sizeof out);
		assert_int_equal(crumb_unpack_add(frame, len, 1, out, N), len);
		for (int a = 0; a < BLOCKS; a++)
			for (int b = 0; b < a; b++)
				if (!memcmp(out + a * BLOCK, out + b * BLOCK, BLOCK * sizeof *out))
					fail_msg("%s: blocks %d and %d are the same", crumb_list(c)->name, b,
					         a);
		free(frame);
		free(p);
	}
}

/* Frames of learners with seeds of their own: the variance of their mean falls as 1/N. */
static void errors_of_learners_cancel(void **state)
{
	(void)state;
	enum { N = 65536, LEARNERS = 64 };
	static float g[N], mean[N];
	crumb_codec codec = case_parse("terngrad:clip=0");
	case_fill(g, N, CASE_GAUSS, 1);
	double first = 0;
	for (int learners = 1; learners <= LEARNERS; learners *= 4) {
		memset(mean, 0, sizeof mean);
		for (int l = 0; l < learners; l++) {
			crumb_packer *p = case_packer(&codec, N, 1000 + (uint64_t)l);
			size_t len;
			uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
			assert_int_equal(crumb_unpack_add(frame, len, 1.0f / (float)learners, mean, N), len);
			free(frame);
			free(p);
		}
		double variance = 0;
		for (int i = 0; i < N; i++)
			variance += ((double)mean[i] - (double)g[i]) * ((double)mean[i] - (double)g[i]) / N;
		first = learners == 1 ? variance : first;
		/* 65,536 draws: the ratio is good to a few percent. */
		assert_true(fabs(variance * learners / first - 1) < 0.1);
	}
}

/* The scaler of Gaussian gradients clipped at 2.5 sigma, and the zeros it leaves (section 9.5: 68.3 %). */
static void clipped_gaussians_are_two_thirds_zero(void **state)
{
	(void)state;
	enum { N = 1 << 20 };
	float *g = malloc(N * sizeof *g);
	case_fill(g, N, CASE_GAUSS, 1);
	crumb_codec codec = case_parse("terngrad");
	crumb_packer *p = case_packer(&codec, N, 1);
	size_t len;
	uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
	crumb_frame_info f;
	assert_int_equal(crumb_peek(&f, frame, len), len);
	assert_true(fabs(f.fact[0].value - 2.5) < 0.01);
	assert_true(fabs(1 - (double)f.sent / N - 0.683) < 0.003);
	free(frame);
	free(p);
	free(g);
}

/* Independent Gaussian gradients send about five elements of a bin of 50, and about six of 500 after 60
 * steps.
 */
static void adacomp_sends_about_five_a_bin(void **state)
{
	(void)state;
	enum { N = 100000, STEPS = 60 };
	float *g = malloc(N * sizeof *g);
	static const struct {
		const char *spec;
		double bins, least, most;
	} want[] = {{"adacomp:bin=50", N / 50, 4.8, 5.1}, {"adacomp:bin=500", N / 500, 6.2, 6.4}};
	for (int c = 0; c < 2; c++) {
		crumb_codec codec = case_parse(want[c].spec);
		crumb_packer *p = case_packer(&codec, N, 1);
		double sent = 0;
		for (uint64_t s = 0; s < STEPS; s++) {
			case_fill(g, N, CASE_GAUSS, s);
			size_t len;
			uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
			crumb_frame_info f;
			assert_int_equal(crumb_peek(&f, frame, len), len);
			sent += s >= STEPS - 10 ? (double)f.sent / 10 : 0;
			free(frame);
		}
		const double a_bin = sent / want[c].bins;
		if (a_bin < want[c].least || a_bin > want[c].most)
			fail_msg("%s: %.2f elements a bin", want[c].spec, a_bin);
		free(p);
	}
	free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(means_are_the_gradient),
	        cmocka_unit_test(integers_have_the_mean),
	        cmocka_unit_test(blocks_draw_their_own),
	        cmocka_unit_test(errors_of_learners_cancel),
	        cmocka_unit_test(clipped_gaussians_are_two_thirds_zero),
	        cmocka_unit_test(adacomp_sends_about_five_a_bin),
	};
	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
