/* Entropy-coded frames decode to what plain ones do, are the same with every instruction set, are near the
 * entropy of independent signs, and do no harm if someone has changed them.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include "frame.h"
#include "coding/golomb.h"
#include "payload/ternary.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A payload written by hand: parameter 1; elements 1 (a gap of 1: quotient 0, remainder 1) and 5 (a gap of
 * 3), the second minus. Changed payloads are refused. */
static void gaps_are_checked(void **state)
{
	(void)state;
	/* codes, lowest bit first: 1 1 0, 01 1 1 */
	static const uint8_t good[] = {2, 0, 0, 0, 1, 0x73};
	static const struct {
		size_t at, size;
		uint8_t value;
		uint64_t n;
	} bad[] = {{0, 6, 2, 5},    {0, 6, 3, 6}, {0, 6, 1, 6}, {4, 6, 32, 6},
	           {5, 6, 0xF3, 6}, {0, 5, 2, 6}, {0, 4, 2, 6}};
	assert_true(crumb_golomb_check(good, sizeof good, 6));
	float acc[6] = {0};
	crumb_golomb_add(good, sizeof good, 6, 2, -3, acc, 0, 6);
	assert_memory_equal(acc, ((float[6]){0, 2, 0, 0, 0, -3}), sizeof acc);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		uint8_t changed[sizeof good];
		memcpy(changed, good, sizeof good);
		changed[bad[i].at] = bad[i].value;
		assert_false(crumb_golomb_check(changed, bad[i].size, bad[i].n));
	}
	const uint8_t longer[] = {2, 0, 0, 0, 1, 0x73, 0};
	assert_false(crumb_golomb_check(longer, sizeof longer, 6));
}

/* Gaps of all lengths come back, whole or a range of them; among dense elements some have codes of hundreds
 * of bits. Truncated payloads are refused. */
static void gaps_come_back(void **state)
{
	(void)state;
	enum { MOST = 3000 };
	static uint8_t list[4 * MOST], gaps[1 << 16];
	static float want[1 << 20], acc[1 << 20];
	uint64_t random = 1;
	for (int trial = 0; trial < 300; trial++) {
		const size_t longest = (size_t)1 << case_random(&random) % 12,
		             far = case_random(&random) % 3 * 20000;
		const size_t most = 1 + case_random(&random) % MOST;
		size_t count = 0, n = 0;
		memset(want, 0, sizeof want);
		for (; count < most; count++) {
			const size_t at =
			        n + case_random(&random) % longest + (case_random(&random) % 100 ? 0 : far);
			if (at >= sizeof want / sizeof *want)
				break;
			const bool plus = case_random(&random) % 2;
			put_u32(list + 4 * count, (uint32_t)(at << 1 | plus));
			want[at] = plus ? 2 : -3;
			n = at + 1;
		}
		n += case_random(&random) % 2 * case_random(&random) % 50;
		n = n < sizeof want / sizeof *want ? n : sizeof want / sizeof *want;
		const size_t size = crumb_golomb_of_list(gaps, list, n, count);
		assert_true(size + 8 <= sizeof gaps && crumb_golomb_check(gaps, size, n));
		const size_t from = case_random(&random) % n,
		             to = from + case_random(&random) % (n - from + 1);
		memset(acc, 0, sizeof acc);
		crumb_golomb_add(gaps, size, n, 2, -3, acc, from, to);
		for (size_t i = 0; i < n; i++)
			assert_true(acc[i] == (i >= from && i < to ? want[i] : 0));
		for (size_t cut = 1; cut <= size && cut < 9; cut++)
			assert_false(crumb_golomb_check(gaps, size - cut, n));
		assert_false(count && crumb_golomb_check(gaps, size, get_u32(list + 4 * (count - 1)) >> 1));
	}
}

/* Returns the bits of log2(n over k) a kept element. */
static double bits_of_choice(double n, double k)
{
	return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2) / k;
}

/* A frame of chunk takes at most 5 % more than positions drawn at random and the bits of the values. */
static void chunk_is_near_the_entropy(void **state)
{
	(void)state;
	enum { CHUNKS = 256, N = 4096 * CHUNKS };
	static const struct {
		const char *spec;
		double keep, bits;
	} want[] = {{"chunk", 64, 2},
	            {"chunk:bits=4", 64, 4},
	            {"chunk:bits=8", 64, 8},
	            {"chunk:bits=32", 64, 32},
	            {"chunk:keep=700", 700, 2}};
	float *g = malloc(N * sizeof *g);
	case_fill(g, N, CASE_GAUSS, 6);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		crumb_codec codec = case_parse(want[i].spec);
		crumb_packer *p = case_packer(&codec, N, 0);
		size_t len;
		free(case_pack(p, g, CRUMB_F32, &len));
		free(p);
		const double least = bits_of_choice(4096, want[i].keep) + want[i].bits,
		             bits = 8 * (double)len / (CHUNKS * want[i].keep);
		if (bits < least || bits > 1.05 * least)
			fail_msg("%s: %.3f bits a value, %.3f at least", want[i].spec, bits, least);
	}
	free(g);
}

/* Codecs with plain payloads, and the same ones entropy-coded. */
static const struct {
	const char *plain, *coded;
} pairs[] = {{"adacomp:bin=50", "adacomp:bin=50,coding=entropy"},
             {"adacomp", "adacomp:coding=entropy"},
             {"adacomp:bin=20000,factor=9", "adacomp:bin=20000,factor=9,coding=entropy"},
             {"adacomp:bin=1,factor=1", "adacomp:bin=1,factor=1,coding=entropy"},
             {"local:bin=7", "local:bin=7,coding=entropy"},
             {"strom:threshold=2", "strom:threshold=2,coding=entropy"},
             {"strom:threshold=1e-5", "strom:threshold=1e-5,coding=entropy"},
             {"topk:fraction=0.01", "topk:fraction=0.01,coding=entropy"},
             {"topk:fraction=0.4", "topk:fraction=0.4,coding=entropy"},
             {"terngrad", "terngrad:coding=entropy"},
             {"terngrad:clip=0,bucket=4096", "terngrad:clip=0,bucket=4096,coding=entropy"},
             {"terngrad:clip=1", "terngrad:clip=1,coding=entropy"},
             {"terngrad:clip=40", "terngrad:clip=40,coding=entropy"}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static uint8_t *pack(const char *spec, const float *g, size_t n, size_t *len)
{
	crumb_codec codec = case_parse(spec);
	crumb_packer *p = case_packer(&codec, n, 5);
	uint8_t *frame = case_pack(p, g, CRUMB_F32, len);
	free(p);
	return frame;
}

static unsigned flags_of(const uint8_t *frame) { return frame[6]; }

/* Entropy-coded frames are not longer, decode to the same, and are the same on every instruction set. */
static void coded_frames_are_the_plain_ones(void **state)
{
	(void)state;
	static const size_t length[] = {1, 5, 17, 100, 1000, 4099, 30000, 131073, 400001};
	static float g[400001], plain[400001], coded[400001];
	unsigned seen[PAIRS] = {0};
	for (size_t i = 0; i < PAIRS; i++)
		for (size_t l = 0; l < sizeof length / sizeof *length; l++)
			for (enum case_kind kind = CASE_GAUSS; kind < CASE_KINDS; kind++) {
				const size_t n = length[l];
				size_t len, short_len, again_len;
				case_fill(g, n, kind, 11);
				uint8_t *frame = pack(pairs[i].plain, g, n, &len);
				memset(plain, 0, n * sizeof *plain);
				assert_int_equal(crumb_unpack_add(frame, len, 1, plain, n), len);
				free(frame);
				uint8_t *first = pack(pairs[i].coded, g, n, &short_len);
				assert_true(short_len <= len);
				seen[i] |= 1u << (flags_of(first) & 7);
				FOR_EACH_ISA(c)
				{
					frame = pack(pairs[i].coded, g, n, &again_len);
					assert_int_equal(again_len, short_len);
					assert_memory_equal(frame, first, short_len);
					free(frame);
					memset(coded, 0, n * sizeof *coded);
					assert_int_equal(crumb_unpack_add(first, short_len, 1, coded, n),
					                 short_len);
					assert_memory_equal(coded, plain, n * sizeof *plain);
				}
				free(first);
			}
	unsigned all = 0;
	for (size_t i = 0; i < PAIRS; i++)
		all |= !strncmp(pairs[i].plain, "terngrad", 8) ? seen[i] : 0;
	assert_int_equal(all, 1u << 0 | 1u << 2 | 1u << 3); /* trits, blocks and gaps */
	assert_int_equal(seen[1], 1u << 0 | 1u << 1);
	assert_int_equal(seen[5] & (1u << 0 | 1u << 4), 1u << 0 | 1u << 4);
}

/* Fills a gradient of which terngrad sends known elements, at one density or in bursts; returns how many. */
static size_t fill_sparse(float *g, size_t n, double density, bool bursts, uint64_t *random)
{
	size_t count = 1;
	g[0] = 1; /* the scaler: elements of its magnitude are always sent */
	for (size_t i = 1; i < n; i++) {
		const double u = case_uniform(random);
		g[i] = u >= density || (bursts && i % 300 >= 60 && i % 60) ? 0 : u < density / 2 ? 1 : -1;
		count += g[i] != 0;
	}
	return count;
}

/* A frame of up to 131,072 elements, which are one block, holds the shortest of trits, gaps and blocks, with
 * every instruction set. The gaps of a map are those of a list of the same elements. */
static void terngrad_sends_the_shortest(void **state)
{
	(void)state;
	enum { MOST = 131072, BESIDES = 32 + 8 + 4 /* header, head, scaler */ };
	static const double density[] = {0, 0.003, 0.02, 0.08, 0.17, 0.25, 0.3, 0.35, 0.4, 0.6, 1};
	enum { DENSITIES = sizeof density / sizeof *density };
	static float g[MOST];
	static uint8_t list[4 * MOST], gaps[MOST], listed[MOST], blocks[MOST];
	const struct block_code *symbols = &ternary_codes;
	uint64_t random = 6;
	for (size_t d = 0; d < 2 * DENSITIES; d++)
		for (size_t n = 1; n <= MOST; n += n < 40 ? 1 : n / 7) {
			size_t len;
			const size_t count = fill_sparse(g, n, density[d / 2], d % 2, &random);
			uint8_t *word = list;
			for (size_t i = 0; i < n; i++)
				word = g[i] != 0 ? put_u32(word, 2 * (uint32_t)i + (g[i] > 0)) : word;
			uint8_t *bits = pack("terngrad:clip=0,coding=bits", g, n, &len);
			const size_t of_gaps = crumb_golomb_of_map(gaps, bits + BESIDES, n, count);
			assert_int_equal(crumb_golomb_of_list(listed, list, n, count), of_gaps);
			assert_memory_equal(listed, gaps, of_gaps);
			const size_t of_blocks = blocks_encode(blocks, bits + BESIDES, n, symbols,
			                                       BLOCKS_ENTROPY),
			             trits = 16 * ((n + 79) / 80),
			             least = of_gaps < of_blocks ? of_gaps : of_blocks;
			free(bits);
			FOR_EACH_ISA(i)
			{
				uint8_t *frame = pack("terngrad:clip=0,coding=entropy", g, n, &len);
				assert_int_equal(len - BESIDES, trits < least ? trits : least);
				if (least < trits)
					assert_memory_equal(frame + BESIDES, least == of_gaps ? gaps : blocks,
					                    least);
				free(frame);
			}
		}
}

/* A few elements of a long tensor have a large parameter. */
static void large_gaps_come_back(void **state)
{
	(void)state;
	enum { COUNT = 6 };
	const uint64_t n = (UINT64_C(1) << 30) + 48, element[COUNT] = {0, 1, 5, 7, 9, n - 1};
	uint8_t gaps[64], list[4 * COUNT], *word = list;
	for (size_t i = 0; i < COUNT; i++)
		word = put_u32(word, 2 * (uint32_t)element[i] + i % 2);
	const size_t size = crumb_golomb_of_list(gaps, list, n, COUNT);
	assert_int_equal(gaps[4], 27);
	assert_true(crumb_golomb_check(gaps, size, n));
	struct golomb_reader reader;
	uint64_t got[GOLOMB_ROUND];
	assert_true(crumb_golomb_open(&reader, gaps, size, n));
	assert_int_equal(crumb_golomb_next(&reader, got), COUNT);
	for (size_t i = 0; i < COUNT; i++)
		assert_true(got[i] == (2 * element[i] | (i % 2 == 0)));
}

/* Payloads of independent signs, without their head, are near the entropy at densities from 0.1 to 30 %. */
static void gaps_are_near_the_entropy(void **state)
{
	(void)state;
	static const double density[] = {0.001, 0.0017, 0.003, 0.005, 0.008, 0.013, 0.02,
	                                 0.03,  0.05,   0.08,  0.12,  0.17,  0.23,  0.3};
	static const struct {
		const char *spec;
		size_t besides;
	} sparse[] = {{"strom:threshold=0.5,coding=entropy", 32 + 4 + 5},
	              {"topk:fraction=0.5,coding=entropy", 32 + 8 + 5},
	              {"adacomp:bin=1,factor=1,coding=entropy", 32 + 4 + 5}};
	enum { N = 1 << 20 };
	static float g[N];
	for (size_t d = 0; d < sizeof density / sizeof *density; d++) {
		uint64_t random = d;
		double count[3] = {0}, bits = 0;
		for (size_t i = 0; i < N; i++) {
			const double u = case_uniform(&random);
			g[i] = u < density[d] ? u < density[d] / 2 ? 1 : -1 : 0;
			count[1 + (int)g[i]]++;
		}
		for (int k = 0; k < 3; k++)
			bits -= count[k] * log2(count[k] / N);
		for (size_t c = 0; c < sizeof sparse / sizeof *sparse; c++) {
			size_t len;
			free(pack(sparse[c].spec, g, N, &len));
			assert_true(8 * (double)(len - sparse[c].besides) <= 1.03 * bits);
		}
		size_t len;
		free(pack("terngrad:clip=0,coding=entropy", g, N, &len));
		assert_true(8 * (double)(len - 32 - 12 - 5) <= 1.05 * bits);
	}
}

/* Chen et al. count 8 bits for each sent element with bins of 50, and 16 with bins of 500. The test counts
 * all bytes of the frame; its gradients differ from filter to filter and have heavy tails, as real ones do.
 */
static void adacomp_keeps_the_papers_promise(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		double bytes;
	} bins[] = {{"adacomp:bin=50,coding=entropy", 1}, {"adacomp:bin=500,coding=entropy", 2}};
	enum { N = 51200, STEPS = 30 };
	static float g[N];
	for (size_t b = 0; b < 2; b++) {
		crumb_codec codec = case_parse(bins[b].spec);
		crumb_packer *p = case_packer(&codec, N, 1);
		uint64_t random = 3;
		for (int step = 0; step < STEPS; step++) {
			for (size_t i = 0; i < N; i++) {
				const double filter = exp(sin((double)(i / 100)) * 2);
				const double tail = -log(1 - case_uniform(&random));
				g[i] = (float)(1e-3 * filter * tail * case_gauss(&random));
			}
			size_t len;
			uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
			crumb_frame_info f;
			assert_int_equal(crumb_peek(&f, frame, len), len);
			assert_true(f.sent > 50 && (double)len <= bins[b].bytes * (double)f.sent);
			free(frame);
		}
		free(p);
	}
}

/* Payloads that someone changed and sealed again are refused, or decode to the same everywhere. */
static void hostile_frames_do_no_harm(void **state)
{
	(void)state;
	enum { N = 20011 };
	static float g[N], first[N], acc[N];
	uint64_t random = 2;
	size_t refused = 0, all = 0;
	case_fill(g, N, CASE_GAUSS, 4);
	for (size_t i = 0; i < PAIRS; i++) {
		size_t len;
		uint8_t *frame = pack(pairs[i].coded, g, N, &len);
		for (int trial = 0; trial < 300; trial++) {
			const size_t size =
			        len - CRUMB_HEADER_BYTES - (trial % 8 ? 0 : 1 + case_random(&random) % 40);
			uint8_t *bad = malloc(CRUMB_HEADER_BYTES + size);
			memcpy(bad, frame, CRUMB_HEADER_BYTES + size);
			for (int k = trial % 3; k >= 0; k--)
				bad[CRUMB_HEADER_BYTES + case_random(&random) % (k ? size : 40)] ^=
				        (uint8_t)(1u << case_random(&random) % 8);
			crumb_frame_seal(bad, frame[5], frame[6], N, size);
			int64_t answer = 0;
			FOR_EACH_ISA(c)
			{
				float *const to = c ? acc : first;
				memset(to, 0, N * sizeof *to);
				const int64_t now =
				        crumb_unpack_add(bad, CRUMB_HEADER_BYTES + size, 1, to, N);
				answer = c ? answer : now;
				assert_int_equal(now, answer);
				assert_memory_equal(to, first, sizeof first);
			}
			refused += answer < 0;
			all++;
			free(bad);
		}
		free(frame);
	}
	assert_true(refused > all / 3 && refused < all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(gaps_are_checked),
	        cmocka_unit_test(chunk_is_near_the_entropy),
	        cmocka_unit_test(gaps_come_back),
	        cmocka_unit_test(coded_frames_are_the_plain_ones),
	        cmocka_unit_test(terngrad_sends_the_shortest),
	        cmocka_unit_test(large_gaps_come_back),
	        cmocka_unit_test(gaps_are_near_the_entropy),
	        cmocka_unit_test(adacomp_keeps_the_papers_promise),
	        cmocka_unit_test(hostile_frames_do_no_harm),
	};
	return cmocka_run_group_tests_name("entropy", tests, NULL, NULL);
}
