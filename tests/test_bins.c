/* Bins: the elements that are sent, and the check of payloads that are long enough for SIMD.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include "frame.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20011, HEAD = CRUMB_HEADER_BYTES + 8 };

/* Returns true if every bin appears, its offsets ascend, and its final symbol alone has *last*
 * (doc/FORMAT.md, adacomp). */
static bool well_formed(const uint8_t *symbol, size_t size, size_t bin)
{
	size_t first = 0, next = 0;
	for (size_t i = 0; i < size; i++) {
		const size_t offset = symbol[i] & 63;
		if (first >= N || (offset == 63 && (symbol[i] != 0x7F || next)))
			return false;
		if (offset < 63 && (offset < next || offset >= bin || first + offset >= N))
			return false;
		next = symbol[i] & 64 ? 0 : offset + 1;
		first += symbol[i] & 64 ? bin : 0;
	}
	return first >= N && !next;
}

static void symbols_are_judged_one_by_one(void **state)
{
	(void)state;
	static const char *const specs[] = {"adacomp:bin=50", "adacomp:bin=63", "adacomp:bin=1"};
	static float g[N], acc[N];
	uint64_t random = 1;
	size_t good = 0, all = 0;
	case_fill(g, N, CASE_GAUSS, 1);
	for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
		crumb_codec codec = case_parse(specs[s]);
		crumb_packer *p = case_packer(&codec, N, 0);
		size_t len;
		uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
		for (int trial = 0; trial < 500; trial++) {
			size_t end = len;
			uint8_t *bad = malloc(len + 1);
			memcpy(bad, frame, len);
			const size_t at = HEAD + case_random(&random) % (len - HEAD - 1);
			switch (trial % 6) {
			case 0:
				bad[at] ^= (uint8_t)(1u << case_random(&random) % 8);
				break;
			case 1:
				bad[at] = (uint8_t)case_random(&random);
				break;
			case 2:
				bad[at] = bad[at + 1];
				break;
			case 3: /* a bin ends here, another one does not */
				bad[at] ^= 64;
				bad[HEAD + case_random(&random) % (len - HEAD)] ^= 64;
				break;
			case 4: /* one bin more than there are */
				bad[end++] = 0x7F;
				break;
			default:
				bad[at] ^= 128;
			}
			crumb_frame_seal(bad, frame[5], frame[6], N, end - CRUMB_HEADER_BYTES);
			const bool want = well_formed(bad + HEAD, end - HEAD, (size_t)codec.value[0]);
			FOR_EACH_ISA(c)
			{
				assert_int_equal(crumb_unpack_add(bad, end, 1, acc, N) >= 0, want);
			}
			good += want;
			all++;
			free(bad);
		}
		free(frame);
		free(p);
	}
	crumb_set_isa(NULL);
	assert_true(good > all / 10 && good < all / 2);
}

/* A gradient of zeros lifts nothing: each bin sends its largest residual, worth the mean of these. */
static void the_largest_of_a_bin_is_sent(void **state)
{
	(void)state;
	static const char *const specs[] = {"adacomp:bin=50", "adacomp:bin=500", "adacomp:bin=67",
	                                    "adacomp:bin=7", "local:bin=50"};
	static float g[N], residual[N], acc[N];
	const char *isa[CASE_ISAS];
	const size_t isas = case_isas(isa);
	for (size_t c = 0; c < isas; c++)
		for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
			crumb_codec codec;
			assert_int_equal(crumb_set_isa(isa[c]), 0);
			codec = case_parse(specs[s]);
			crumb_packer *p = case_packer(&codec, N, 0);
			const size_t bin = (size_t)codec.value[0];
			size_t len;
			case_fill(g, N, CASE_GAUSS, 1);
			free(case_pack(p, g, CRUMB_F32, &len));
			memcpy(residual, crumb_packer_residual(p), sizeof residual);
			memset(g, 0, sizeof g);
			uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
			memset(acc, 0, sizeof acc);
			assert_true(crumb_unpack_add(frame, len, 1, acc, N) > 0);
			double sum = 0;
			float scale;
			memcpy(&scale, frame + CRUMB_HEADER_BYTES, sizeof scale);
			for (size_t first = 0; first < N; first += bin) {
				const size_t end = first + bin < N ? first + bin : N;
				float largest = 0;
				for (size_t i = first; i < end; i++)
					largest = fmaxf(largest, fabsf(residual[i]));
				for (size_t i = first; i < end; i++)
					assert_true(
					        fabsf(acc[i]) ==
					        (largest > 0 && fabsf(residual[i]) >= largest ? scale : 0));
				sum += largest;
			}
			assert_float_equal(scale, sum / (double)((N + bin - 1) / bin), 1e-6 * scale);
			free(frame);
			free(p);
		}
	crumb_set_isa(NULL);
}

/* More than 1 Mi elements: adding prefetches all lines. */
static void a_long_tensor_keeps_what_it_does_not_send(void **state)
{
	(void)state;
	enum { LONG = (1 << 20) + 77 };
	static float g[LONG], acc[LONG];
	crumb_codec codec = case_parse("adacomp:bin=50");
	case_fill(g, LONG, CASE_GAUSS, 1);
	FOR_EACH_ISA(c)
	{
		crumb_packer *p = case_packer(&codec, LONG, 0);
		const float *residual = crumb_packer_residual(p);
		size_t len, sent = 0;
		uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
		memset(acc, 0, sizeof acc);
		assert_true(crumb_unpack_add(frame, len, 1, acc, LONG) > 0);
		for (size_t i = 0; i < LONG; i++) {
			assert_true(residual[i] == g[i] - acc[i]);
			sent += acc[i] != 0;
		}
		assert_true(sent > LONG / 50);
		free(frame);
		free(p);
	}
	crumb_set_isa(NULL);
}

/* local sends the first of equal elements, wherever in a bin they begin. */
static void local_sends_the_first_of_equals(void **state)
{
	(void)state;
	static const size_t bins[] = {7, 50, 64, 67, 100, 500};
	enum { COUNT = sizeof bins / sizeof *bins };
	static float g[N], acc[N];
	const char *isa[CASE_ISAS];
	const size_t isas = case_isas(isa);
	uint64_t random = 1;
	for (size_t c = 0; c < COUNT * isas; c++) {
		const size_t bin = bins[c % COUNT];
		size_t peak[N / 7 + 1], len;
		char spec[32];
		crumb_codec codec;
		for (size_t i = 0; i < N; i++) {
			if (i % bin == 0)
				peak[i / bin] = i + case_random(&random) % (N - i < bin ? N - i : bin);
			g[i] = (i < peak[i / bin] ? 0.5f : 1) * (case_random(&random) % 2 ? 1.0f : -1.0f);
		}
		snprintf(spec, sizeof spec, "local:bin=%zu", bin);
		assert_int_equal(crumb_set_isa(isa[c / COUNT]), 0);
		codec = case_parse(spec);
		crumb_packer *p = case_packer(&codec, N, 0);
		uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
		memset(acc, 0, sizeof acc);
		assert_true(crumb_unpack_add(frame, len, 1, acc, N) > 0);
		for (size_t i = 0; i < N; i++)
			assert_int_equal(fabsf(acc[i]) > 0, i == peak[i / bin]);
		free(frame);
		free(p);
	}
	crumb_set_isa(NULL);
}

/* Symbols are written several at a time, but not past the bound; case_pack checks that. */
static void frames_keep_to_their_bound(void **state)
{
	(void)state;
	static const size_t bins[] = {1, 15, 16, 17, 31, 32, 49, 50, 62, 63, 64, 65};
	static const char *const names[] = {"adacomp", "local"};
	static float g[N];
	const char *isa[CASE_ISAS];
	const size_t isas = case_isas(isa);
	case_fill(g, N, CASE_GAUSS, 1);
	for (size_t c = 0; c < isas * 2; c++)
		for (size_t b = 0; b < sizeof bins / sizeof *bins; b++) {
			char spec[32];
			crumb_codec codec;
			snprintf(spec, sizeof spec, "%s:bin=%zu", names[c % 2], bins[b]);
			assert_int_equal(crumb_set_isa(isa[c / 2]), 0);
			codec = case_parse(spec);
			for (size_t n = 1; n <= 64 + 2 * bins[b]; n++) {
				crumb_packer *p = case_packer(&codec, n, 0);
				size_t len;
				free(case_pack(p, g, CRUMB_F32, &len));
				free(p);
			}
		}
	crumb_set_isa(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(symbols_are_judged_one_by_one),
	                                   cmocka_unit_test(the_largest_of_a_bin_is_sent),
	                                   cmocka_unit_test(a_long_tensor_keeps_what_it_does_not_send),
	                                   cmocka_unit_test(local_sends_the_first_of_equals),
	                                   cmocka_unit_test(frames_keep_to_their_bound)};
	return cmocka_run_group_tests_name("bins", tests, NULL, NULL);
}
