/* Levels: the vectors, the law of rounding at random, the papers' bounds on its variance.
 *
 * SPDX-License-Identifier: MIT */
#include "cases.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The portable build's own functions, for uniform numbers from outside and for the levels of a frame. */
#define V16_PORTABLE
#define V16_ISA vectors
#include "../src/levels.c"
#include "frame.h"

/* Eight elements under one norm, rounded with these u. */
static const float element[V16] = {3, -4, 0, 12, 0, -84, 0.5f, -2};
static const float chance[V16] = {0.5f, 0.01f, 0.49f, 0.99f, 0.51f, 0.3f, 0.2f, 0.7f};

static void vectors(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t count;
		float p; /* 0: evenly spaced */
		enum levels_norm norm;
		float size;
		uint8_t code[8];
	} vector[] = {
	        {"NUQSGD, no zero", 8, 0.5f, LEVELS_L2, 0x1.54199ap6f - 0x1p-17f, {4, 4, 4, 4, 3, 0, 4, 3}},
	        {"QSGDinf, no zero", 8, 0, LEVELS_MAX, 84, {4, 4, 4, 4, 3, 0, 4, 3}},
	        {"TRN", 3, 0, LEVELS_MAX, 84, {1, 1, 1, 1, 1, 0, 1, 1}},
	        {"QSGD, two magnitudes", 5, 0, LEVELS_L2, 0x1.54199ap6f, {2, 2, 2, 2, 2, 0, 2, 2}},
	};
	for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
		struct levels levels;
		if (vector[i].p > 0)
			PER_ISA(levels_powers)(&levels, vector[i].count, vector[i].p);
		else
			PER_ISA(levels_even)(&levels, vector[i].count);
		const struct unit unit = unit_of(element, CRUMB_F32, 0, 8, vector[i].norm);
		assert_true(fabsf(unit.norm - vector[i].size) < 85 * 0x1p-22f);
		const struct rounding r = rounding_to(&levels);
		const v16f y =
		        v16_mul(v16_mul(v16_loadf(element), v16_set(unit.lift)), v16_set(unit.inverse));
		const v16f u = v16_float_of(v16_trunc(v16_mul(v16_loadf(chance), v16_set(0x1p24f))));
		const v16i code = vector[i].p > 0 ? round_table(y, u, &r) : round_even(y, u, &r);
		for (size_t k = 0; k < 8; k++)
			if (code.p[k] != vector[i].code[k])
				fail_msg("%s: element %zu: %u, expected %u", vector[i].name, k, code.p[k],
				         vector[i].code[k]);
	}
}

/* 8 evenly spaced levels in f32, as the vectors have them. */
static void levels_are_as_computed(void **state)
{
	(void)state;
	static const float even[8] = {-1,
	                              -0.7142857313156128f,
	                              -0.4285714328289032f,
	                              -0.1428571492433548f,
	                              0.1428571492433548f,
	                              0.4285714328289032f,
	                              0.7142857313156128f,
	                              1},
	                   half[7] = {-1, -0.5f, -0.25f, 0, 0.25f, 0.5f, 1};
	struct levels levels;
	PER_ISA(levels_even)(&levels, 8);
	assert_memory_equal(levels.at, even, sizeof even);
	PER_ISA(levels_powers)(&levels, 7, 0.5f);
	assert_memory_equal(levels.at, half, sizeof half);
}

/* Of an element v between two levels of its bucket. */
struct two_point {
	double low, high;
};

static struct two_point around(const struct levels *levels, double norm, double v)
{
	const double y = norm > 0 ? fmin(fmax(v / norm, -1), 1) : 0;
	uint32_t k = 0;
	while (k + 2 < levels->count && levels->at[k + 1] <= y)
		k++;
	return (struct two_point){norm * levels->at[k], norm * levels->at[k + 1]};
}

/* The least of the right-hand sides of Theorem 2 (Faghri et al. 2020) over p, for levels with a zero and the
 * L2 norm. */
static double theorem_2(const struct levels *levels, double d)
{
	const uint32_t middle = levels->count / 2;
	const double first = levels->at[middle + 1];
	double ratio = 1, least = INFINITY;
	for (uint32_t k = middle + 1; k + 1 < levels->count; k++)
		ratio = fmax(ratio, (double)levels->at[k + 1] / (double)levels->at[k]);
	for (double p = 0.01; p < 1; p += 0.01) {
		const double factor = 1 / (2 - p) * pow((1 - p) / (2 - p), 1 - p);
		least = fmin(least, factor * pow(first, 2 - p) * pow(d, (2 - p) / 2));
	}
	return (ratio - 1) * (ratio - 1) / (4 * ratio) + least;
}

/* What frames of one gradient are expected to be, element by element. */
struct expected {
	float g[4096];
	double sum[4096], variance[4096], squares, spread;
};
enum { N = 4096, STEPS = 256 };

/* Adds what the levels and norms of a frame say; it is below the bounds. */
static void expect(struct expected *e, const uint8_t *frame, size_t len, bool theorem, bool qsgd)
{
	struct frame opened;
	struct parts p;
	assert_int_equal(crumb_frame_open(&opened, frame, len), len);
	assert_true(parts_of(&opened, &p));
	const double d = (double)p.bucket, half = p.levels.count / 2;
	for (size_t b = 0; b < p.buckets; b++) {
		double variance = 0, norm = 0;
		for (size_t i = b * p.bucket; i < N && i < (b + 1) * p.bucket; i++) {
			const double v = e->g[i];
			const struct two_point t = around(&p.levels, get_f32(p.norm + 4 * b), v);
			const double below = v - t.low, above = t.high - v;
			const double one = fmax(below * above, 0);
			e->variance[i] += one;
			e->spread += one * (below - above) * (below - above);
			variance += one;
			norm += v * v;
		}
		e->squares += variance;
		assert_true(!theorem || variance <= theorem_2(&p.levels, d) * norm);
		assert_true(!qsgd || variance <= fmin(d / half / half, sqrt(d) / half) * norm);
	}
}

/* The mean of many frames is the gradient: chi-square over the elements, a million draws. Their squared error
 * is that of the two-point law, (high - v)(v - low), within 5 standard errors, and below the papers' bounds.
 */
static void rounding_is_unbiased(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		bool theorem, qsgd; /* whose bounds hold */
	} each[] = {
	        {"qsgd:bucket=1024", true, true},
	        {"qsgd:bits=2,norm=max", false, false},
	        {"qsgd:bits=3,zero=0,bucket=4096,norm=max", false, false},
	        {"qsgd:bits=8,bucket=2048", true, true},
	        {"nuqsgd:bucket=4096", true, false},
	        {"nuqsgd:bits=3,zero=0", false, false},
	        {"natural", false, false},
	        {"natural:norm=l2,bits=3", true, false},
	        {"alq", false, false},
	        {"alq:zero=1,bits=4,bucket=2048,every=64", true, false},
	        {"alq:normalized=1,model=normal,bucket=1024", false, false},
	        {"amq:bucket=2048", false, false},
	        {"amq:zero=1,model=normal,every=64", true, false},
	        {"zipml:bucket=1024", false, false},
	};
	static struct expected e;
	static float out[N];
	for (size_t s = 0; s < sizeof each / sizeof *each; s++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			crumb_codec codec;
			assert_int_equal(crumb_parse(&codec, each[s].spec, NULL), 0);
			e = (struct expected){.squares = 0};
			case_fill(e.g, N, CASE_GAUSS, seed);
			crumb_packer *packer = case_packer(&codec, N, seed);
			double squares = 0, chi = 0, elements = 0;
			for (int step = 0; step < STEPS; step++) {
				size_t len;
				uint8_t *frame = case_pack(packer, e.g, CRUMB_F32, &len);
				memset(out, 0, sizeof out);
				assert_int_equal(crumb_unpack_add(frame, len, 1, out, N), len);
				expect(&e, frame, len, each[s].theorem, each[s].qsgd);
				for (int i = 0; i < N; i++) {
					e.sum[i] += (double)out[i];
					squares += pow((double)out[i] - (double)e.g[i], 2);
				}
				free(frame);
			}
			for (int i = 0; i < N; i++) {
				const double error = e.sum[i] / STEPS - (double)e.g[i];
				const double variance = e.variance[i] / STEPS / STEPS; /* of the mean */
				if (variance < 1e-12) { /* at a level, up to its rounding */
					assert_true(fabs(error) < 1e-5);
					continue;
				}
				chi += error * error / variance;
				elements++;
			}
			const double z = (chi - elements) / sqrt(2 * elements);
			const double z_squares = (squares - e.squares) / sqrt(e.spread);
			if (fabs(z) > 5 || fabs(z_squares) > 5)
				fail_msg(
				        "%s, seed %d: chi-square is %.1f standard deviations off, the squared "
				        "error %.1f",
				        each[s].spec, (int)seed, z, z_squares);
			free(packer);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(vectors),
	        cmocka_unit_test(levels_are_as_computed),
	        cmocka_unit_test(rounding_is_unbiased),
	};
	return cmocka_run_group_tests_name("levels", tests, NULL, NULL);
}
