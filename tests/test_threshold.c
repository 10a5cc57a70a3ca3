/* threshold=auto: a wanted share of the elements is sent, whatever the gradient's scale.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *spec;
	double share;
} automatic[] = {{"twobit:threshold=auto", 0.1},
                 {"twobit:threshold=auto,share=0.4", 0.4},
                 {"strom:threshold=auto", 0.01},
                 {"strom:threshold=auto,share=0.001", 0.001}};
enum { AUTOMATIC = sizeof automatic / sizeof *automatic };

static crumb_packer *packer_of(const char *spec, size_t n)
{
	crumb_codec codec = case_parse(spec);
	return case_packer(&codec, n, 1);
}

/* Packs, adds what was sent to sum, and returns the share of the elements that was. */
static double step(crumb_packer *p, const float *g, size_t n, float *sum)
{
	size_t length;
	crumb_frame_info frame;
	uint8_t *packed = case_pack(p, g, CRUMB_F32, &length);
	assert_int_equal(crumb_peek(&frame, packed, length), length);
	assert_int_equal(crumb_unpack_add(packed, length, 1, sum, n), length);
	free(packed);
	return (double)frame.sent / (double)n;
}

/* Gaussian with a heavy tail, in rows of which each has its own scale. */
static void gradient(float *g, size_t n, double scale, uint64_t *chance)
{
	for (size_t i = 0; i < n; i++)
		g[i] = (float)(scale * (double)(1 + i / 512 % 7) * case_gauss(chance) *
		               exp(case_gauss(chance)));
}

/* Within a factor of 1.5 at each single step, though the scale jumps by 100, up and down, and nothing is
 * lost. */
static void the_share_is_sent(void **state)
{
	(void)state;
	enum { N = 300007, STEPS = 24 };
	static float g[N], sum[N];
	static double all[N];
	for (size_t c = 0; c < AUTOMATIC; c++) {
		crumb_packer *p = packer_of(automatic[c].spec, N);
		uint64_t chance = 1;
		memset(sum, 0, sizeof sum);
		memset(all, 0, sizeof all);
		for (int s = 0; s < STEPS; s++) {
			gradient(g, N, s / 8 == 1 ? 1e-2 : 1e-4, &chance);
			for (size_t i = 0; i < N; i++)
				all[i] += (double)g[i];
			const double sent = step(p, g, N, sum), off = sent / automatic[c].share;
			if (!(off < 1.5 && off > 1 / 1.5))
				fail_msg("%s: %g sent in step %d", automatic[c].spec, sent, s);
		}
		const float *residual = crumb_packer_residual(p);
		for (size_t i = 0; i < N; i++)
			if (!(fabs((double)sum[i] + (double)residual[i] - all[i]) <= 1e-4))
				fail_msg("%s: element %zu: %g of %g", automatic[c].spec, i,
				         (double)sum[i] + (double)residual[i], all[i]);
		free(p);
	}
}

/* When no gradient comes any more, the whole residual is sent, but for what is below the last, least
 * threshold.
 */
static void residuals_are_sent(void **state)
{
	(void)state;
	enum { N = 20000, STEPS = 3000 };
	static float g[N], sum[N];
	for (size_t c = 0; c < AUTOMATIC; c++) {
		crumb_packer *p = packer_of(automatic[c].spec, N);
		const float *residual = crumb_packer_residual(p);
		uint64_t chance = 2;
		double before = 0, after = 0;
		gradient(g, N, 1, &chance);
		for (int s = 0; s < STEPS; s++) {
			step(p, g, N, sum);
			for (size_t i = 0; i < N && s == 0; i++) {
				before += (double)residual[i] * (double)residual[i];
				g[i] = 0;
			}
		}
		for (size_t i = 0; i < N; i++)
			after += (double)residual[i] * (double)residual[i];
		if (!(after < 1e-2 * before))
			fail_msg("%s: of %g, %g are left", automatic[c].spec, before, after);
		free(p);
	}
}

/* If few elements are not zero, some of them are sent, but at most half; zeros are not. They are found
 * wherever they are. */
static void few_elements(void **state)
{
	(void)state;
	enum { N = 100000, FEW = 20 };
	static float g[N], sum[N];
	for (size_t c = 0; c < AUTOMATIC; c++) {
		crumb_packer *p = packer_of(automatic[c].spec, N);
		uint64_t chance = 3;
		memset(g, 0, sizeof g);
		assert_true(step(p, g, N, sum) == 0);
		for (size_t i = 0; i < FEW; i++)
			g[N / 2 + 17 + i] = (float)case_gauss(&chance);
		const double sent = N * step(p, g, N, sum);
		if (!(sent >= 1 && sent <= FEW / 2 + 1))
			fail_msg("%s: %g sent of %d", automatic[c].spec, sent, FEW);
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_share_is_sent),
	        cmocka_unit_test(residuals_are_sent),
	        cmocka_unit_test(few_elements),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
