/* The library agrees with test vectors made from the papers' formulas and the authors' code (vectors.h).
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include "tests/vectors.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The portable build's static functions, to give TernGrad the vectors' uniform numbers. */
#define V16_ISA vectors
#include "codec/terngrad.c"
#include "check/finite.c"
#include "payload/ternary.c"
#include "coding/blocks.c"
#include "frame.h"

static float number(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static void assert_hex(const char *name, const uint8_t *data, size_t size, const char *hex)
{
	char text[256] = "";
	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", data[i]);
	if (strcmp(text, hex) != 0)
		fail_msg("%s: %s, expected %s", name, text, hex);
}

/* Returns true if x is y, but for the rounding of a statistic of magnitude scale; 0: exactly. */
static bool near(float x, float y, float scale) { return fabsf(x - y) <= scale * 0x1.8p-23f; }

/* Asserts that the vector holds, its tensor repeated, with the instruction set in use. */
static void holds(const struct vector *vector, bool exact, size_t times)
{
	enum { MOST = 20 * 32 };
	const size_t n = vector->n * times;
	crumb_codec codec = case_parse(vector->spec);
	crumb_packer *p = case_packer(&codec, n, 0);
	for (size_t s = 0; s < vector->steps; s++) {
		const struct vector_step *step = &vector->step[s];
		float g[MOST], decoded[MOST] = {0};
		for (size_t i = 0; i < n; i++)
			g[i] = number(step->grad[i % vector->n]);
		if (crumb_finite(g, n, CRUMB_F32)) { /* the authors' code goes on; this library refuses */
			uint8_t frame[4096];
			assert_int_equal(crumb_pack(p, g, n, CRUMB_F32, 0, frame, sizeof frame),
			                 CRUMB_ENONFINITE);
			break;
		}
		size_t len;
		uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
		const size_t before = CRUMB_HEADER_BYTES + (vector->spec[0] == 'o' ? 0 : exact ? 4 : 8);
		if (times == 1)
			assert_hex(vector->name, frame + before, len - before, step->codes);
		assert_int_equal(crumb_unpack_add(frame, len, 1, decoded, n), len);
		const float *residual = crumb_packer_residual(p);
		for (size_t i = 0; i < n; i++) {
			const float sent = number(step->decoded[i % vector->n]),
			            left = number(step->residual[i % vector->n]);
			const float scale = exact ? 0 : fmaxf(fabsf(sent), 1);
			if (!near(decoded[i], sent, scale) || !near(residual[i], left, 2 * scale))
				fail_msg("%s, step %zu, element %zu: sent %a, residual %a", vector->name, s,
				         i, (double)decoded[i], (double)residual[i]);
		}
		free(frame);
	}
	free(p);
}

/* Vectors without a computed scale also hold for their tensor repeated, which is longer than a register:
 * elements do not depend on each other. */
static void frames_and_residuals(void **state)
{
	(void)state;
	FOR_EACH_ISA(i)
	{
		for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
			const bool exact = vectors[v].spec[0] != 'a' && vectors[v].spec[0] != 'l';
			holds(&vectors[v], exact, 1);
			if (exact)
				holds(&vectors[v], exact, 20);
		}
	}
}

/* The largest element of a bin is not sent if the gradient opposes its residual, contrary to the paper's
 * prose. */
static void the_largest_can_stay(void **state)
{
	(void)state;
	const float residual[] = {0.9f, -0.5f, 0.2f, 0.1f}, g[] = {-0.4f, 0.1f, 0.1f, 0.1f};
	crumb_codec codec = case_parse("adacomp:bin=4");
	crumb_packer *p = case_packer(&codec, 4, 0);
	memcpy(crumb_packer_residual(p), residual, sizeof residual);
	size_t len;
	uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
	assert_hex("nothing", frame + CRUMB_HEADER_BYTES + 8, len - CRUMB_HEADER_BYTES - 8, "7f");
	for (int i = 0; i < 4; i++)
		assert_true(crumb_packer_residual(p)[i] == residual[i] + g[i]);
	free(frame);
	free(p);
}

/* A column of 1-bit SGD, split at zero or at the mean, has the means of the two sides, as in CNTK. */
static void means_of_a_column(void **state)
{
	(void)state;
	static const float x[] = {0.5f, -0.25f, 1, -1, 0.25f, 0, -0.5f, 0.75f};
	static const struct {
		const char *spec;
		float low, high;
		uint8_t bits;
	} want[] = {{"seide", -0x1.2aaaaap-1f, 0.5f, 0xB5}, {"seide:split=mean", -0.4375f, 0.625f, 0x95}};
	for (int c = 0; c < 2; c++) {
		crumb_codec codec = case_parse(want[c].spec);
		crumb_packer *p = case_packer(&codec, 8, 0);
		size_t len;
		float decoded[8] = {0};
		uint8_t *frame = case_pack(p, x, CRUMB_F32, &len);
		assert_int_equal(frame[CRUMB_HEADER_BYTES + 16], want[c].bits);
		assert_int_equal(crumb_unpack_add(frame, len, 1, decoded, 8), len);
		for (int i = 0; i < 8; i++) {
			const float level = want[c].bits >> i & 1 ? want[c].high : want[c].low;
			assert_true(near(decoded[i], level, 1));
			assert_true(near(crumb_packer_residual(p)[i], x[i] - level, 1));
		}
		free(frame);
		free(p);
	}
}

/* topk sends the largest magnitudes as the means of their two signs. */
static void means_of_the_largest(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		size_t n;
		float x[10], sent[10];
	} want[] = {{"topk:fraction=0.2",
	             10,
	             {0.1f, -0.9f, 0.4f, 0.8f, -0.2f, -0.05f, 0.7f, -0.6f, 0.3f, 0},
	             {0, -0.9f, 0, 0.8f}},
	            {"topk:fraction=0.4", 5, {3, 2, 1.5f, 0.1f, 0.2f}, {2.5f, 2.5f}}};
	for (int c = 0; c < 2; c++) {
		crumb_codec codec = case_parse(want[c].spec);
		crumb_packer *p = case_packer(&codec, want[c].n, 0);
		size_t len;
		float decoded[10] = {0};
		uint8_t *frame = case_pack(p, want[c].x, CRUMB_F32, &len);
		assert_int_equal(crumb_unpack_add(frame, len, 1, decoded, want[c].n), len);
		for (size_t i = 0; i < want[c].n; i++) {
			assert_true(decoded[i] == want[c].sent[i]);
			assert_true(crumb_packer_residual(p)[i] == want[c].x[i] - want[c].sent[i]);
		}
		free(frame);
		free(p);
	}
}

/* Values of two chunks of 16, of which 4 elements each are kept, as Templar's TopKCompressor decodes them. */
static void means_of_bins(void **state)
{
	(void)state;
	enum { N = 32 };
	static const float x[N] = {0.5f, -2,     0.25f,  3,     -0.125f, 1.5f,   -2.5f,  0.75f,
	                           0,    0.375f, -1.25f, 4,     0.0625f, -0.5f,  2,      1,
	                           -6,   0.5f,   0.125f, 2.25f, -0.75f,  1,      -1.5f,  0.25f,
	                           5,    0,      -0.5f,  3.5f,  -3,      0.625f, -0.25f, 1.75f};
	static const uint8_t kept[] = {1, 3, 6, 11, 16, 24, 27, 28};
	static const struct {
		const char *spec;
		float value[sizeof kept];
	} want[] = {{"chunk:chunk=16,keep=4",
	             {-0.5f, -0.5f, -0.5f, 0x1.0aaaabp2f, -4.5f, 0x1.0aaaabp2f, 0x1.0aaaabp2f, -4.5f}},
	            {"chunk:chunk=16,keep=4,bits=3", {-2.5f, 3.5f, -2.5f, 3.5f, -6, 5, 3.5f, -2.5f}}};
	for (int c = 0; c < 2; c++) {
		crumb_codec codec = case_parse(want[c].spec);
		crumb_packer *p = case_packer(&codec, N, 0);
		size_t len;
		float decoded[N] = {0}, sent[N] = {0};
		uint8_t *frame = case_pack(p, x, CRUMB_F32, &len);
		assert_int_equal(crumb_unpack_add(frame, len, 1, decoded, N), len);
		for (size_t k = 0; k < sizeof kept; k++)
			sent[kept[k]] = want[c].value[k];
		for (size_t i = 0; i < N; i++) {
			assert_true(near(decoded[i], sent[i], 4));
			assert_true(near(crumb_packer_residual(p)[i], x[i] - sent[i], 4));
		}
		free(frame);
		free(p);
	}
}

/* Strom's rule is MXNet's: for the same threshold values and residuals are the same. A sparse frame has the
 * paper's words. */
static void strom_is_twobit(void **state)
{
	(void)state;
	static const float g[] = {0.5f, -1.25f, 2.5f, 0, -1, 1}, left[] = {0.5f, -0.25f, 1.5f, 0, 0, 0};
	static const uint32_t words[] = {2, 5, 8, 11};
	enum { N = 4099 };
	static float big[N], mine[N], theirs[N];
	crumb_codec strom, twobit;
	size_t len;
	strom = case_parse("strom:threshold=1");
	twobit = case_parse("twobit:threshold=1");
	crumb_packer *few = case_packer(&strom, 100, 0);
	float wide[100] = {0};
	memcpy(wide, g, sizeof g);
	uint8_t *frame = case_pack(few, wide, CRUMB_F32, &len);
	assert_int_equal(len, CRUMB_HEADER_BYTES + 4 + sizeof words);
	assert_memory_equal(frame + CRUMB_HEADER_BYTES + 4, words, sizeof words);
	assert_memory_equal(crumb_packer_residual(few), left, sizeof left);
	free(frame);
	free(few);

	crumb_packer *p = case_packer(&strom, N, 0), *q = case_packer(&twobit, N, 0);
	for (uint64_t s = 0; s < 5; s++) { /* sparse at first, then dense: a list, then a map */
		case_fill(big, N, s < 2 ? CASE_SPARSE : CASE_GAUSS, s);
		memset(mine, 0, sizeof mine);
		memset(theirs, 0, sizeof theirs);
		uint8_t *one = case_pack(p, big, CRUMB_F32, &len);
		assert_int_equal(crumb_unpack_add(one, len, 1, mine, N), len);
		uint8_t *two = case_pack(q, big, CRUMB_F32, &len);
		assert_int_equal(crumb_unpack_add(two, len, 1, theirs, N), len);
		assert_memory_equal(mine, theirs, sizeof mine);
		assert_memory_equal(crumb_packer_residual(p), crumb_packer_residual(q), sizeof mine);
		free(one);
		free(two);
	}
	free(p);
	free(q);
}

static void ternary_digits(void **state)
{
	(void)state;
	const float g[V16] = {0.3f, -1.2f, 0.05f, 0.9f, 0, -0.6f, 1.2f},
	            u[V16] = {0.2f, 0.9f, 0.1f, 0.7f, 0, 0.51f, 0.999f};
	float scaled[V16];
	for (int i = 0; i < V16; i++)
		scaled[i] = u[i] * 0x1p24f;
	const struct scale s = scale_of(g, CRUMB_F32, 0, 7, 0);
	assert_true(s.scaler == 1.2f && s.bound == INFINITY);
	const struct ternary t = ternary_of(s.bound, s.scaler);
	uint8_t bits[4] = {0}, trits[16] = {0};
	struct digit_writer to_bits = {.dst = bits, .coding = BITS},
	                    to_trits = {.dst = trits, .coding = TRITS, .sums = v16_no_trits()};
	const v16m sent = ternarise(v16_loadf(g), v16_loadf(scaled), &t, false);
	assert_int_equal(v16_bits(sent), v16_bits(ternarise(v16_loadf(g), v16_loadf(scaled), &t, true)));
	digits_put(&to_bits, sent, v16_loadf(g));
	digits_put(&to_trits, sent, v16_loadf(g));
	digits_end(&to_trits);
	assert_hex("bits", bits, 2, "4910");
	for (int i = 0; i < 16; i++) { /* one group of five: only the first digit of a byte is set */
		static const int digits[16] = {1, 2, 0, 1, 0, 0, 1};
		assert_int_equal(trits[i], (81 * digits[i] * 256 + 242) / 243);
	}
}

/* Clipping decides nothing if the scaler is not above the bound, even at the largest u. */
static void bounds_and_scalers(void **state)
{
	(void)state;
	const v16f u = v16_set(0x1p24f - 1);
	for (uint32_t mantissa = 0; mantissa < 1 << 23; mantissa += mantissa < 64 ? 1 : 65521) {
		const float s = float_of_bits(127u << 23 | mantissa);
		const float g[V16] = {s, -s, 2 * s, -3 * s, nextafterf(s, 0), s / 2, 0, nextafterf(s, 4)};
		const struct ternary t = ternary_of(s, s);
		assert_false(t.careful);
		assert_int_equal(v16_bits(ternarise(v16_loadf(g), u, &t, false)),
		                 v16_bits(ternarise(v16_loadf(g), u, &t, true)));
		assert_true(ternary_of(nextafterf(s, 0), s).careful);
	}
	/* A scaler above the bound: an element clipped at 1 is not sent as 1.5 if u is 0.75. */
	const struct ternary t = ternary_of(1, 1.5f);
	assert_int_equal(v16_bits(ternarise(v16_set(8), v16_set(0.75f * 0x1p24f), &t, t.careful)), 0);
}

/* Clipping at 2.5 standard deviations changes one element of the first gradient, and none of the second. */
static void clipping(void **state)
{
	(void)state;
	static const uint32_t bits[] = {0x3dcccccd, 0xbe4ccccd, 0x3e19999a, 0xbd4ccccd, 0x40800000,
	                                0x00000000, 0x3d4ccccd, 0xbdcccccd, 0x3df5c28f, 0xbd8f5c29};
	float g[V16] = {0};
	for (int i = 0; i < 10; i++)
		g[i] = number(bits[i]);
	const struct scale cut = scale_of(g, CRUMB_F32, 0, 10, 2.5f);
	assert_true(near(cut.bound, number(0x4040b5f0), 4) && cut.scaler == cut.bound);

	const float even[V16] = {0.1f, -0.1f, 0.2f, 0.1f, -0.2f, 0.1f};
	const struct scale whole = scale_of(even, CRUMB_F32, 0, 6, 2.5f);
	assert_true(whole.scaler == 0.2f && near(whole.bound, number(0x3eafeb4f), 1));

	const float same[V16] = {0.7f, 0.7f, 0.7f}; /* sigma 0: a constant gradient is not lost */
	assert_true(scale_of(same, CRUMB_F32, 0, 3, 2.5f).scaler == 0.7f);
}

/* Three learners agree on the scaler 2; their sum has seven levels, three bits each. */
static void scaler_sharing(void **state)
{
	(void)state;
	static const float worker[3][4] = {{0.5f, -0.25f, 0, 1}, {-2, 0.5f, 0.5f, 0}, {1, 1, -1, 0.25f}};
	static const int8_t sum_of[4] = {1, 0, 0, 2};
	static const uint8_t ternary[3] = {0x41, 0x12, 0x61}; /* the vector's digits, two bits each */
	crumb_codec codec = case_parse("terngrad:clip=0,shared=1,coding=bits");
	crumb_packer *p[3];
	float stat[3], mean[4] = {0};
	for (int w = 0; w < 3; w++) {
		p[w] = case_packer(&codec, 4, 0);
		assert_int_equal(crumb_measure(p[w], worker[w], 4, CRUMB_F32, &stat[w]), 0);
	}
	assert_true(stat[0] == 1 && stat[1] == 2 && stat[2] == 1);
	uint8_t frame[3][128], out[128];
	crumb_span span[3];
	for (int w = 0; w < 3; w++) {
		assert_int_equal(crumb_agree(p[w], stat, 3), 0);
		const int64_t len = crumb_pack(p[w], worker[w], 4, CRUMB_F32, 0, frame[w], sizeof frame[w]);
		assert_true(len > 0);
		/* The vector's uniform numbers are not the library's, so its digits replace those drawn. */
		frame[w][len - 4] = ternary[w];
		memset(frame[w] + len - 3, 0, 3);
		crumb_frame_seal(frame[w], 4, (uint16_t)(BITS | TERNARY_FLAG_SHARED), 4,
		                 (size_t)len - CRUMB_HEADER_BYTES);
		span[w] = (crumb_span){frame[w], (size_t)len};
	}
	assert_int_equal(crumb_sum_bound(3, 4) <= sizeof out, 1);
	const int64_t len = crumb_sum(span, 3, out, sizeof out);
	assert_int_equal(len, CRUMB_HEADER_BYTES + 12 + 3 * 2);
	assert_int_equal(crumb_unpack_add(out, (size_t)len, 1.0f / 3, mean, 4), len);
	for (int i = 0; i < 4; i++)
		assert_true(mean[i] == 1.0f / 3 * 2 * sum_of[i]);
	for (int w = 0; w < 3; w++)
		free(p[w]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(frames_and_residuals),
	        cmocka_unit_test(the_largest_can_stay),
	        cmocka_unit_test(ternary_digits),
	        cmocka_unit_test(bounds_and_scalers),
	        cmocka_unit_test(clipping),
	        cmocka_unit_test(scaler_sharing),
	        cmocka_unit_test(means_of_a_column),
	        cmocka_unit_test(means_of_the_largest),
	        cmocka_unit_test(means_of_bins),
	        cmocka_unit_test(strom_is_twobit),
	};
	return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
