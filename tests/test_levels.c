/* Levels: the vectors, the law of rounding at random, the papers' bounds on its variance.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Internal functions of the portable build, to round with given u and to read the levels of a frame. */
#define V16_ISA                           vectors
#define crumb_blocks_encode_vectors       crumb_blocks_encode_portable
#define crumb_blocks_decode_vectors       crumb_blocks_decode_portable
#define crumb_blocks_check_vectors        crumb_blocks_check_portable
#define crumb_blocks_decode_range_vectors crumb_blocks_decode_range_portable
#include "payload/levels_pack.c"
#include "payload/levels_unpack.c"
#include "frame.h"
#include "fit/histogram.h"
#include "fit/optimum.h"

/* Eight elements under one norm, and the u that they are rounded with. */
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
			levels_powers(&levels, vector[i].count, vector[i].p);
		else
			levels_even(&levels, vector[i].count);
		const struct scaling scaling = bucket_scaling(element, CRUMB_F32, 0, 8, vector[i].norm);
		assert_true(fabsf(scaling.norm - vector[i].size) < 85 * 0x1p-22f);
		const struct rounding r = rounding_to(&levels);
		const v16f y =
		        v16_mul(v16_mul(v16_loadf(element), v16_set(scaling.lift)), v16_set(scaling.inverse));
		const v16i u = v16_trunc(v16_mul(v16_loadf(chance), v16_set(0x1p24f)));
		const v16i code =
		        vector[i].p > 0 ? round_table(y, v16_float_of(u), &r) : round_even(y, u, &r);
		for (size_t k = 0; k < 8; k++)
			if (code.p[k] != vector[i].code[k])
				fail_msg("%s: element %zu: %u, expected %u", vector[i].name, k, code.p[k],
				         vector[i].code[k]);
	}
}

/* Zero and powers of two are rounded to without a table, as with it: where an element is close to what u
 * decides, to levels, to zero, to one and beyond. */
static void halves_need_no_table(void **state)
{
	(void)state;
	static const float off[] = {0, 0.25f, 0.5f, 0.75f, 1, 2};
	static const float special[] = {0, 1, 1 + 0x1p-23f, 1 - 0x1p-24f, 0x1p-149f, 0x1p-126f, 0x1p-30f};
	uint64_t random = 1;
	for (uint32_t count = 7; count <= 15; count += 8)
		for (int trial = 0; trial < 100000; trial++) {
			struct levels levels;
			levels_powers(&levels, count, 0.5f);
			const struct rounding r = rounding_to(&levels);
			assert_true(are_halves(&levels));
			float y[V16];
			uint32_t u[V16];
			for (size_t k = 0; k < V16; k++) {
				const uint64_t bits = case_random(&random);
				u[k] = (uint32_t)bits & 0xFFFFFF;
				u[k] >>= (bits >> 24 & 7) == 7 ? 20 : 0; /* u near 0, too */
				const float at =
				        (float)(bits >> 27 & 1 ? u[k] : (1u << 24) - u[k]) * 0x1p-24f;
				const float by =
				        (bits >> 28 & 1 ? -1.0f : 1.0f) * off[(bits >> 29) % 6] * 0x1p-24f;
				const uint32_t level = (uint32_t)(bits >> 33) % (count / 2 + 2);
				y[k] = level > count / 2
				               ? special[(bits >> 40) % (sizeof special / sizeof *special)]
				       : level ? levels.at[count / 2 + level] * (1 + at + by)
				               : levels.at[count / 2 + 1] * fabsf(at + by);
				y[k] = fminf(y[k], 1 + 0x1p-23f) * (bits >> 50 & 1 ? -1.0f : 1.0f);
			}
			const v16f v = v16_loadf(y);
			const v16i chance_of = v16_loadi(u), got = round_halves(v, chance_of, &r),
			           want = round_table(v, v16_float_of(chance_of), &r);
			for (size_t k = 0; k < V16; k++)
				if (got.p[k] != want.p[k])
					fail_msg("%u levels: %a with u = %#x is %u, expected %u", count,
					         (double)y[k], u[k], got.p[k], want.p[k]);
		}
}

/* Norms come from squares of lifted elements: squares of elements below 2^-63 are not normal numbers. */
static void norms_are_of_lifted_elements(void **state)
{
	(void)state;
	float g[32] = {[0] = 0x1p-66f,         [1] = 0x1p-54f,  [2] = 0x1p-42f, [3] = 0x1.8p-30f,
	               [16] = 0x1.000002p-66f, [17] = 0x1p-54f, [18] = 0x1p-42f};
	for (int k = 0; k < 2; k++) { /* then in the largest binades */
		const struct scaling scaling = bucket_scaling(g, CRUMB_F32, 0, 32, LEVELS_L2);
		float lane[V16] = {0}, sum = 0;
		for (size_t i = 0; i < 32; i++)
			lane[i % V16] += (g[i] * scaling.lift) * (g[i] * scaling.lift);
		for (size_t i = 0; i < V16; i++)
			sum += lane[i];
		assert_true(scaling.norm == (float)sqrt(sum) / scaling.lift);
		if (!k)
			assert_true(scaling.norm == 0x1.800002p-30f);
		for (size_t i = 0; i < 32; i++)
			g[i] *= 0x1p100f;
	}
}

/* A special element of a bucket of four blocks shows in the frame, whichever block it is in, and with every
 * instruction set. */
static void every_block_of_a_bucket_counts(void **state)
{
	(void)state;
	enum { N = 4 * SUM_BLOCK - 100, ROOM = 1 << 14 };
	static const float special[] = {0,        0x1p-149f, 0x1p-64f, 0x1p-63f, 3,
	                                0x1p120f, 0x1p121f,  INFINITY, NAN};
	static const size_t place[] = {0, SUM_BLOCK + 5, 2 * SUM_BLOCK + 7, N - 1};
	crumb_codec codec;
	float *const g = malloc(N * sizeof *g);
	codec = case_parse("nuqsgd:bucket=32768");
	for (size_t s = 0; s < sizeof special / sizeof *special; s++)
		for (size_t at = 0; at < sizeof place / sizeof *place; at++) {
			uint8_t first[ROOM], frame[ROOM];
			int64_t size = 0;
			case_fill(g, N, CASE_GAUSS, 3);
			g[place[at]] = special[s];
			FOR_EACH_ISA(i)
			{
				crumb_packer *const p = case_packer(&codec, N, 1);
				const int64_t len =
				        crumb_pack(p, g, N, CRUMB_F32, 0, i ? frame : first, ROOM);
				assert_true(special[s] <= 0x1p120f ? len > 0 : len == CRUMB_ENONFINITE);
				assert_true(!i ||
				            (len == size && (len < 0 || !memcmp(frame, first, (size_t)len))));
				size = len;
				free(p);
			}
		}
	free(g);
	crumb_set_isa(NULL);
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
	levels_even(&levels, 8);
	assert_memory_equal(levels.at, even, sizeof even);
	levels_powers(&levels, 7, 0.5f);
	assert_memory_equal(levels.at, half, sizeof half);
}

/* The two levels of its bucket that an element lies between. */
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

/* Returns the least of the right-hand sides of Theorem 2 (Faghri et al. 2020) over p, for levels with a zero
 * and the L2 norm. */
static double theorem_2(const struct levels *levels, double d)
{
	const uint32_t middle = levels->count / 2;
	const double first = levels->at[middle + 1];
	double ratio = 1, least = INFINITY;
	for (uint32_t k = middle + 1; k + 1 < levels->count; k++) {
		const double step = (double)levels->at[k + 1] / (double)levels->at[k];
		ratio = step > ratio ? step : ratio; /* fmax here is too much for gcc 12 on 64-bit ARM */
	}
	for (double p = 0.01; p < 1; p += 0.01) {
		const double factor = 1 / (2 - p) * pow((1 - p) / (2 - p), 1 - p);
		least = fmin(least, factor * pow(first, 2 - p) * pow(d, (2 - p) / 2));
	}
	return (ratio - 1) * (ratio - 1) / (4 * ratio) + least;
}

/* Statistics expected of frames of one gradient, element by element. */
struct expected {
	float g[4096];
	double sum[4096], variance[4096], squares, spread;
};
enum { N = 4096, STEPS = 256 };

/* Adds the variance that the levels and norms of a frame give, which is below the papers' bounds. */
static void expect(struct expected *e, const uint8_t *frame, size_t len, bool theorem, bool qsgd)
{
	struct frame opened;
	struct levels_payload p;
	assert_int_equal(crumb_frame_open(&opened, frame, len), len);
	assert_true(levels_open(&p, &opened) && levels_read(&p));
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
	        {"alq:bits=8,norm=max,bucket=1024", false, false},
	        {"alq:bits=6,zero=1,solver=descent", true, false},
	        {"amq:bits=5,bucket=1024", false, false},
	        {"amq:bits=7,bucket=1024,zero=1", true, false},
	        {"amq:bucket=2048", false, false},
	        {"amq:zero=1,model=normal,every=64", true, false},
	        {"zipml:bucket=1024", false, false},
	};
	static struct expected e;
	static float out[N];
	for (size_t s = 0; s < sizeof each / sizeof *each; s++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			crumb_codec codec = case_parse(each[s].spec);
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

/* Returns the levels of a learner's frame. */
static struct levels levels_of(crumb_packer *p, const float *g)
{
	struct frame opened;
	struct levels_payload payload = {0}; /* levels are compared as bytes */
	size_t len;
	uint8_t *const frame = case_pack(p, g, CRUMB_F32, &len);
	assert_int_equal(crumb_frame_open(&opened, frame, len), len);
	assert_true(levels_open(&payload, &opened) && levels_read(&payload));
	free(frame);
	return payload.levels;
}

/* zipml's histogram by its definition: coordinate by coordinate, each weighed by its norm squared. */
struct masses {
	double top, mass[HISTOGRAM_BINS];
	bool weigh;
};

static void add_masses(void *arg, size_t block, bool first_of_bucket, float norm, const float *y,
                       size_t count)
{
	struct masses *m = arg;
	(void)block;
	(void)first_of_bucket;
	if (!m->weigh)
		m->top = fmax(m->top, (double)norm);
	for (size_t i = 0; i < count && m->weigh; i++)
		m->mass[histogram_bin(y[i])] += pow((double)norm / m->top, 2);
}

/* On every instruction set, of whole and short blocks, of buckets of growing norms, of which one is all
 * zeros. */
static void zipml_has_the_best_levels_of_its_histogram(void **state)
{
	(void)state;
	static const size_t length[] = {2, 7, 129, 1000, N - 61, N};
	static float g[N];
	levels_walk_function *const survey = levels_walk;
	crumb_codec codec = case_parse("zipml:bucket=256");
	for (size_t l = 0; l < sizeof length / sizeof *length; l++)
		for (enum case_kind kind = CASE_GAUSS; kind <= CASE_DYADIC; kind++) {
			case_fill(g, N, kind, 1 + l);
			for (size_t i = 0; i < N; i++)
				g[i] *= i / 256 == 2 ? 0 : (float)(1 + i / 256);
			g[0] = 1; /* else there may be nothing to put levels at */
			struct masses m = {.top = 0};
			for (int pass = 0; pass < 2; pass++, m.weigh = true)
				survey(g, CRUMB_F32, length[l], 256, LEVELS_L2, add_masses, &m);
			struct histogram_law law;
			double level[8];
			crumb_histogram_law(&law, m.mass);
			assert_true(crumb_fit_optimum(&law.of, level, 8) < INFINITY);
			FOR_EACH_ISA(i)
			{
				crumb_packer *packer = case_packer(&codec, length[l], 1);
				const struct levels levels = levels_of(packer, g);
				free(packer);
				assert_int_equal(levels.count, 8);
				for (size_t k = 0; k < 8; k++)
					if (levels.at[k] != (float)level[k])
						fail_msg(
						        "%s, %zu elements, kind %d: level %zu is %g, best is %g",
						        crumb_isa(), length[l], kind, k, (double)levels.at[k],
						        level[k]);
			}
		}
	crumb_set_isa(NULL);
}

/* In a long gradient zipml counts an eighth, but all of a bucket with a far larger share of the error: its
 * levels are nearly optimal. Here the magnitudes of one bucket lie in nine octaves. */
static void zipml_samples_many_elements(void **state)
{
	(void)state;
	enum { MANY = 1 << 20, BUCKET = 8192, FAR = 77 * BUCKET };
	float *g = malloc(MANY * sizeof *g);
	crumb_codec codec;
	assert_non_null(g);
	codec = case_parse("zipml");
	case_fill(g, MANY, CASE_GAUSS, 1);
	for (size_t i = 0; i < BUCKET; i++)
		g[FAR + i] *= 0.05f * exp2f(9 * (float)(i % 97) / 97);
	struct masses m = {.top = 0};
	for (int pass = 0; pass < 2; pass++, m.weigh = true)
		levels_walk(g, CRUMB_F32, MANY, BUCKET, LEVELS_L2, add_masses, &m);
	struct histogram_law law;
	double level[8];
	crumb_histogram_law(&law, m.mass);
	const double best = crumb_fit_optimum(&law.of, level, 8);
	FOR_EACH_ISA(i)
	{
		crumb_packer *packer = case_packer(&codec, MANY, 1);
		const struct levels levels = levels_of(packer, g);
		free(packer);
		for (size_t k = 0; k < 8; k++)
			level[k] = (double)levels.at[k];
		assert_true(crumb_fit_psi(&law.of.law, level, 8) < 1.005 * best);
	}
	crumb_set_isa(NULL);
	free(g);
}

/* Learners with gradients of their own end with the same levels, which depend on every one of them. */
static void learners_end_with_the_same_levels(void **state)
{
	(void)state;
	enum { LEARNERS = 5 };
	static const char *const spec[] = {"alq:bucket=1024", "alq:normalized=1,bits=4,zero=1",
	                                   "amq:bucket=512", "alq:model=normal,bucket=512",
	                                   "amq:model=normal,normalized=1"};
	static float g[N], stat[LEARNERS * 1000];
	for (size_t s = 0; s < sizeof spec / sizeof *spec; s++) {
		crumb_codec codec = case_parse(spec[s]);
		struct levels first = {0}, without = {0};
		for (int l = -1; l < LEARNERS; l++) { /* -1: what the first four would do by themselves */
			crumb_packer *p = NULL;
			size_t due = 0;
			for (int other = 0; other < LEARNERS; other++) {
				crumb_packer *one = case_packer(&codec, N, (uint64_t)other);
				due = crumb_agree_count(one);
				assert_true(due > 0 && due <= 1000);
				case_fill(g, N, other == 4 ? CASE_SPARSE : CASE_GAUSS, (uint64_t)other);
				for (int i = 0; i < N && other == 4; i++)
					g[i] *= 16; /* among the buckets of greatest norm */

				assert_int_equal(
				        crumb_measure(one, g, N, CRUMB_F32, stat + (size_t)other * due), 0);
				if (other == (l < 0 ? 0 : l))
					p = one;
				else
					free(one);
			}
			assert_int_equal(crumb_agree(p, stat, l < 0 ? LEARNERS - 1 : LEARNERS), 0);
			const struct levels levels = levels_of(p, g);
			if (l < 0)
				without = levels;
			if (l == 0)
				first = levels;
			if (l > 0 && memcmp(&levels, &first, sizeof first) != 0)
				fail_msg("%s: learner %d has levels of its own", spec[s], l);
			assert_int_equal(crumb_agree_count(p), 0); /* nothing is due before step 100 */
			free(p);
		}
		assert_memory_not_equal(&without, &first, sizeof first);
	}
}

/* A learner shares 643 floats: its largest norm, a histogram to judge by and one to fit. Levels that fit the
 * one and do worse on the other are not taken. */
static void levels_that_judge_worse_are_not_taken(void **state)
{
	(void)state;
	enum { BINS = 321, MIDDLE = 160 };
	static float stat[1 + 2 * BINS], g[N];
	crumb_codec codec;
	for (int amq = 0; amq < 2; amq++) {
		codec = case_parse(amq ? "amq:every=1" : "alq:every=1");
		crumb_packer *p = case_packer(&codec, N, 1);
		struct levels levels[3];
		for (int step = 0; step < 3; step++) {
			case_fill(g, N, CASE_GAUSS, 1);
			assert_int_equal(crumb_agree_count(p), sizeof stat / sizeof *stat);
			assert_int_equal(crumb_measure(p, g, N, CRUMB_F32, stat), 0);
			/* Small coordinates; at the last step those to fit are large ones, first not, then to
			 * judge by, too. */
			memset(stat + 1, 0, sizeof stat - sizeof *stat);
			const int judge = step < 2 ? 70 : 150, fit = step < 1 ? 70 : 150;
			stat[1 + MIDDLE + judge] = stat[1 + MIDDLE - judge] = 100;
			stat[1 + BINS + MIDDLE + fit] = stat[1 + BINS + MIDDLE - fit] = 100;
			assert_int_equal(crumb_agree(p, stat, 1), 0);
			levels[step] = levels_of(p, g);
		}
		assert_memory_equal(&levels[0], &levels[1], sizeof levels[0]);
		assert_memory_not_equal(&levels[1], &levels[2], sizeof levels[0]);
		free(p);
	}
}

/* Zeros, one element, equal elements: levels stay levels, and the frame says what it can. */
static void what_has_no_spread_is_defined(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		float element;
		size_t n;
	} each[] = {{"alq", 0, 1000}, {"alq:zero=1", 0, 1}, {"amq", 0, 5},
	            {"alq", 3, 1},    {"amq:zero=1", 3, 1}, {"zipml", 0, 200},
	            {"zipml", 3, 1},  {"qsgd", -3, 1},      {"nuqsgd", 0, 7}};
	for (size_t c = 0; c < sizeof each / sizeof *each; c++) {
		crumb_codec codec = case_parse(each[c].spec);
		float g[1000], out[1000] = {0};
		for (size_t i = 0; i < each[c].n; i++)
			g[i] = each[c].element;
		crumb_packer *p = case_packer(&codec, each[c].n, 1);
		size_t len;
		uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
		assert_int_equal(crumb_unpack_add(frame, len, 1, out, each[c].n), len);
		for (size_t i = 0; i < each[c].n; i++)
			assert_true(out[i] == g[i]); /* zeros, and an element that is its bucket's norm */
		free(frame);
		free(p);
	}
}

/* A level of a frame's table must be above the one before. */
static void levels_of_a_frame_ascend(void **state)
{
	(void)state;
	enum { N = 300, TABLE = CRUMB_HEADER_BYTES + 8 };
	crumb_codec codec;
	float g[N], out[N], level[2];
	codec = case_parse("alq");
	case_fill(g, N, CASE_GAUSS, 1);
	crumb_packer *p = case_packer(&codec, N, 1);
	size_t len;
	uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
	memcpy(level, frame + TABLE + 4, sizeof level);
	assert_true(level[0] < level[1] && level[1] < 1);
	for (int trial = 0; trial < 3; trial++) {
		const float other[] = {level[1],
		                       trial ? nextafterf(level[1], trial == 1 ? -2 : 2) : level[1]};
		memcpy(frame + TABLE + 4, other, sizeof other);
		crumb_frame_seal(frame, frame[5], frame[6], N, len - CRUMB_HEADER_BYTES);
		memset(out, 0, sizeof out);
		assert_int_equal(crumb_unpack_add(frame, len, 1, out, N),
		                 trial == 2 ? (int64_t)len : CRUMB_EFRAME);
	}
	free(frame);
	free(p);
}

/* A frame is validated in chunks of 16 KiB, the first of which holds norms alone here. */
static void norms_may_be_longer_than_a_chunk(void **state)
{
	(void)state;
	enum { N = 4200 * 128 + 5 };
	const char *isa[CASE_ISAS];
	const size_t isas = case_isas(isa);
	crumb_codec codec;
	float *const g = malloc(N * sizeof *g), *const acc = calloc(N, sizeof *acc);
	case_fill(g, N, CASE_GAUSS, 4);
	codec = case_parse("qsgd:bucket=128");
	for (size_t i = 0; i < isas; i++) {
		size_t len;
		crumb_packer *const p = case_packer(&codec, N, 1);
		assert_int_equal(crumb_set_isa(isa[i]), 0);
		uint8_t *const frame = case_pack(p, g, CRUMB_F32, &len);
		assert_int_equal(crumb_unpack_add(frame, len, 1, acc, N), len);
		free(frame);
		free(p);
	}
	crumb_set_isa(NULL);
	free(acc);
	free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(vectors),
	        cmocka_unit_test(halves_need_no_table),
	        cmocka_unit_test(norms_are_of_lifted_elements),
	        cmocka_unit_test(every_block_of_a_bucket_counts),
	        cmocka_unit_test(levels_are_as_computed),
	        cmocka_unit_test(rounding_is_unbiased),
	        cmocka_unit_test(zipml_has_the_best_levels_of_its_histogram),
	        cmocka_unit_test(zipml_samples_many_elements),
	        cmocka_unit_test(learners_end_with_the_same_levels),
	        cmocka_unit_test(levels_that_judge_worse_are_not_taken),
	        cmocka_unit_test(what_has_no_spread_is_defined),
	        cmocka_unit_test(levels_of_a_frame_ascend),
	        cmocka_unit_test(norms_may_be_longer_than_a_chunk),
	};
	return cmocka_run_group_tests_name("levels", tests, NULL, NULL);
}
