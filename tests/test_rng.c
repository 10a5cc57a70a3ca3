/* The random function is that of doc/FORMAT.md, and looks random.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include "v16/rng.h"
#include <math.h>
#include <stdlib.h>

/* The document's u(seed, step, i) * 2^24, one element at a time. */
static uint32_t mix32(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x85EBCA6Bu;
	x ^= x >> 13;
	x *= 0xC2B2AE35u;
	return x ^ x >> 16;
}

static uint64_t mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xBF58476D1CE4E5B9);
	x ^= x >> 27;
	x *= UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

static void block(uint32_t out[4096], uint64_t seed, uint64_t step, uint64_t number)
{
	const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);
	uint64_t k = mix64(seed + golden);
	k = mix64((k ^ step) + golden);
	k = mix64((k ^ number) + golden);
	for (uint32_t lane = 0; lane < 16; lane++) {
		uint32_t s[4];
		for (uint32_t w = 0; w < 4; w++)
			s[w] = mix32(mix32((uint32_t)k + 0x9E3779B9u * (16 * w + lane + 1)) ^
			             (uint32_t)(k >> 32));
		for (uint32_t i = lane; i < 4096; i += 16) {
			out[i] = (s[0] + s[3]) >> 8;
			const uint32_t t = s[1] << 9;
			s[2] ^= s[0];
			s[3] ^= s[1];
			s[1] ^= s[2];
			s[0] ^= s[3];
			s[2] ^= t;
			s[3] = s[3] << 11 | s[3] >> 21;
		}
	}
}

static void it_is_the_documents(void **state)
{
	(void)state;
	static const uint64_t key[][3] = {{0, 0, 0}, {1, 2, 3}, {UINT64_MAX, 7, 1u << 20}};
	for (int i = 0; i < 3; i++) {
		uint32_t want[4096];
		block(want, key[i][0], key[i][1], key[i][2]);
		rng r = rng_at(key[i][0], key[i][1], 4096 * key[i][2]);
		for (int at = 0; at < 4096; at += V16) {
			float got[V16];
			v16_storef(got, rng_next(&r));
			for (int lane = 0; lane < V16; lane++)
				assert_true(got[lane] == (float)want[at + lane]);
		}
	}
}

/* Returns the chi-square of counts in 256 cells, in standard deviations from its mean. */
static double deviation(const uint32_t count[256], double total)
{
	double chi = 0;
	for (int i = 0; i < 256; i++)
		chi += (count[i] - total / 256) * (count[i] - total / 256) / (total / 256);
	return (chi - 255) / sqrt(2 * 255);
}

/* The upper four bits of a draw are independent of four others: its own lower bits, and the upper bits of a
 * neighbour in the same lane, the next lane, or the next block, step or seed. 2^20 pairs of each kind. */
static void pairs_are_independent(void **state)
{
	(void)state;
	static const char *const pair[] = {"own high and low bits",
	                                   "next lane",
	                                   "next draw of the lane",
	                                   "next block",
	                                   "next step",
	                                   "next seed",
	                                   "seed and step swapped"};
	enum { PAIRS = sizeof pair / sizeof *pair, BLOCKS = 256 };
	static uint32_t count[PAIRS][256];
	static uint32_t here[4096], other[4][4096];
	for (uint64_t b = 0; b < BLOCKS; b++) {
		block(here, 1, 5, b);
		block(other[0], 1, 5, b + 1);
		block(other[1], 1, 6, b);
		block(other[2], 2, 5, b);
		block(other[3], 5, 1, b);
		for (int i = 0; i < 4096; i++) {
			const uint32_t with[PAIRS] = {
			        here[i] << 20, here[(i + 1) % 4096], here[(i + 16) % 4096],
			        other[0][i],   other[1][i],          other[2][i],
			        other[3][i]};
			for (int p = 0; p < PAIRS; p++)
				count[p][(here[i] >> 20 << 4 & 0xF0) | (with[p] >> 20 & 0xF)]++;
		}
	}
	for (int p = 0; p < PAIRS; p++)
		if (fabs(deviation(count[p], BLOCKS * 4096.0)) > 5)
			fail_msg("%s: %.1f standard deviations", pair[p],
			         deviation(count[p], BLOCKS * 4096.0));
}

/* Rounding decisions at small probabilities are independent: the number of sixteen neighbours below p is
 * binomial. */
static void rare_events_are_binomial(void **state)
{
	(void)state;
	static const double p[] = {0.5, 0.1, 0.01};
	for (int k = 0; k < 3; k++) {
		double seen[4] = {0}, groups = 0;
		static uint32_t draw[4096];
		for (uint64_t b = 0; b < 512; b++) {
			block(draw, 3, b, 0);
			for (int at = 0; at < 4096; at += 16, groups++) {
				int below = 0;
				for (int i = 0; i < 16; i++)
					below += draw[at + i] < p[k] * 0x1p24;
				seen[below < 3 ? below : 3]++;
			}
		}
		const double q = 1 - p[k], p0 = pow(q, 16), p1 = 16 * p[k] * pow(q, 15),
		             p2 = 120 * p[k] * p[k] * pow(q, 14);
		const double want[4] = {p0, p1, p2, 1 - p0 - p1 - p2};
		for (int c = 0; c < 4; c++) {
			const double sigma = sqrt(groups * want[c] * (1 - want[c])) + 1e-9;
			if (fabs(seen[c] - groups * want[c]) > 5 * sigma + 1)
				fail_msg("p = %g, %d of 16: %g, expected %g", p[k], c, seen[c],
				         groups * want[c]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(it_is_the_documents),
	        cmocka_unit_test(pairs_are_independent),
	        cmocka_unit_test(rare_events_are_binomial),
	};
	return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
