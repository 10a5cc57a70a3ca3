/* Golden frames: what format 1 wrote once it reads for ever, and writes again to the byte.
 *
 * tests/golden/NAME.crumb holds the frames of two steps, one after the other, of the gradient below; NAME.f32
 * holds what they decode to, added up. "test_golden write" makes files that are not there; one that is there
 * is never rewritten.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1003, STEPS = 2 };

static const struct {
	const char *name, *spec;
	bool solved; /* for levels, which a later version may choose better: it is read for ever only */
	bool sum;    /* of the frames of two learners */
} golden[] = {
        {"raw", "raw", false, false},
        {"half", "half", false, false},
        {"half-f16", "half:type=f16", false, false},
        {"twobit", "twobit:threshold=0.25", false, false},
        {"terngrad", "terngrad", false, false},
        {"terngrad-bits", "terngrad:coding=bits,bucket=256", false, false},
        {"terngrad-shared", "terngrad:shared=1", false, false},
        {"adacomp", "adacomp:bin=50", false, false},
        {"adacomp-500", "adacomp:bin=500", false, false},
        {"adacomp-wide", "adacomp:bin=20000", false, false},
        {"sign", "sign", false, false},
        {"local", "local:bin=50", false, false},
        {"onebit", "onebit", false, false},
        {"strom", "strom:threshold=0.6", false, false},
        {"strom-map", "strom", false, false},
        {"topk", "topk:fraction=0.01", false, false},
        {"topk-map", "topk:fraction=0.2", false, false},
        {"topk-exact", "topk:fraction=0.01,value=exact", false, false},
        {"terngrad-entropy", "terngrad:coding=entropy,bucket=256", false, false},
        {"adacomp-entropy", "adacomp:bin=50,coding=entropy", false, false},
        {"local-entropy", "local:bin=50,coding=entropy", false, false},
        {"strom-entropy", "strom:threshold=0.6,coding=entropy", false, false},
        {"topk-entropy", "topk:fraction=0.2,coding=entropy", false, false},
        {"seide", "seide", false, false},
        {"seide-mean", "seide:split=mean", false, false},
        {"qsgd", "qsgd", false, false},
        {"qsgd-trn", "qsgd:bits=2,norm=max", false, false},
        {"qsgd-signed", "qsgd:bits=3,bucket=256,norm=max,zero=0", false, false},
        {"qsgd-8", "qsgd:bits=8", false, false},
        {"nuqsgd", "nuqsgd", false, false},
        {"qsgd-entropy", "qsgd:bits=3,bucket=256,coding=entropy", false, false},
        {"qsgd-huffman", "qsgd:bits=3,bucket=256,coding=huffman", false, false},
        {"nuqsgd-entropy", "nuqsgd:bits=2,coding=entropy", false, false},
        {"nuqsgd-signed", "nuqsgd:bits=3,zero=0", false, false},
        {"natural", "natural", false, false},
        {"alq", "alq:bucket=512", true, false},
        {"alq-zero", "alq:bits=4,zero=1,model=normal", true, false},
        {"amq", "amq:bucket=512", true, false},
        {"amq-zero", "amq:zero=1,normalized=1", true, false},
        {"zipml", "zipml", true, false},
        {"chunk", "chunk:chunk=128,keep=4", false, false},
        {"chunk-8", "chunk:keep=128,bits=8,decay=0.95", false, false},
        {"block", "block", false, false},
        {"block-4", "block:bits=4,block=64,rounding=nearest", false, false},
        {"chunk-exact", "chunk:chunk=256,keep=4,bits=32", false, false},
        {"terngrad-sum", "terngrad:shared=1", false, true},
        {"alq-6", "alq:bits=6,bucket=512", true, false},
        {"dgc", "dgc:fraction=0.02", false, false},
        {"dgc-warmup", "dgc:momentum=0.5,warmup=8", false, false},
};
enum { GOLDEN = sizeof golden / sizeof *golden };

/* Integers over 2^10, made without the C library's mathematics: small ones, with a large one here and there.
 */
static void fill(float g[N], uint64_t seed)
{
	for (int i = 0; i < N; i++) {
		const int64_t x = (int64_t)(case_random(&seed) >> 40) % 1024 - 512;
		g[i] = (float)(i % 37 ? x : 4 * x) / 1024;
	}
}

/* The frames of two steps, each the sum of two learners' frames. */
static size_t sums(size_t which, uint8_t *dst, size_t cap)
{
	const crumb_codec codec = case_parse(golden[which].spec);
	crumb_packer *p[] = {case_packer(&codec, N, 2018), case_packer(&codec, N, 2019)};
	size_t at = 0;
	for (uint64_t step = 0; step < STEPS; step++) {
		static uint8_t room[2][2 * N];
		crumb_span frame[2];
		float g[2][N], stat[2];
		assert_int_equal(crumb_agree_count(p[0]), 1);
		for (uint64_t l = 0; l < 2; l++) {
			fill(g[l], step + 1 + 100 * l);
			assert_int_equal(crumb_measure(p[l], g[l], N, CRUMB_F32, &stat[l]), 0);
		}
		for (size_t l = 0; l < 2; l++) {
			assert_int_equal(crumb_agree(p[l], stat, 2), 0);
			const int64_t len = crumb_pack(p[l], g[l], N, CRUMB_F32, 0, room[l], sizeof room[l]);
			assert_true(len > 0);
			frame[l] = (crumb_span){room[l], (size_t)len};
		}
		const int64_t len = crumb_sum(frame, 2, dst + at, cap - at);
		assert_true(len > 0);
		at += (size_t)len;
	}
	free(p[0]);
	free(p[1]);
	return at;
}

static size_t frames(size_t which, uint8_t *dst, size_t cap)
{
	if (golden[which].sum)
		return sums(which, dst, cap);
	crumb_codec codec = case_parse(golden[which].spec);
	crumb_packer *p = case_packer(&codec, N, 2018);
	size_t at = 0;
	for (uint64_t step = 0; step < STEPS; step++) {
		float g[N];
		size_t len;
		fill(g, step + 1);
		uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
		assert_true(at + len <= cap);
		memcpy(dst + at, frame, len);
		at += len;
		free(frame);
	}
	free(p);
	return at;
}

static void decode(const uint8_t *src, size_t len, float out[N])
{
	memset(out, 0, N * sizeof *out);
	for (size_t at = 0; at < len;) {
		const int64_t one = crumb_unpack_add(src + at, len - at, 1, out, N);
		assert_true(one > 0);
		at += (size_t)one;
	}
}

static FILE *file(size_t which, const char *suffix, const char *mode)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/%s.%s", GOLDEN_DIR, golden[which].name, suffix);
	return fopen(path, mode);
}

static size_t load(size_t which, const char *suffix, void *dst, size_t cap)
{
	FILE *f = file(which, suffix, "rb");
	if (!f)
		fail_msg("tests/golden/%s.%s is missing", golden[which].name, suffix);
	const size_t size = fread(dst, 1, cap, f);
	fclose(f);
	return size;
}

static uint8_t written[64 * 1024], kept[64 * 1024];

static void golden_frames_decode(void **state)
{
	(void)state;
	FOR_EACH_ISA(i)
	{
		for (size_t g = 0; g < GOLDEN; g++) {
			float out[N], want[N + 1];
			const size_t len = load(g, "crumb", kept, sizeof kept);
			assert_int_equal(load(g, "f32", want, sizeof want), sizeof out);
			decode(kept, len, out);
			assert_memory_equal(out, want, sizeof out);
		}
	}
}

static void golden_frames_are_written_again(void **state)
{
	(void)state;
	for (size_t g = 0; g < GOLDEN; g++) {
		if (golden[g].solved)
			continue;
		const size_t len = load(g, "crumb", kept, sizeof kept);
		assert_int_equal(frames(g, written, sizeof written), len);
		assert_memory_equal(written, kept, len);
	}
}

static void save(size_t which, const char *suffix, const void *data, size_t size)
{
	FILE *f = file(which, suffix, "wbx");
	if (!f)
		return;
	const bool good = fwrite(data, 1, size, f) == size;
	if (fclose(f) || !good)
		fail_msg("tests/golden/%s.%s cannot be written", golden[which].name, suffix);
}

static void write_what_is_missing(void **state)
{
	(void)state;
	for (size_t g = 0; g < GOLDEN; g++) {
		float out[N];
		const size_t len = frames(g, written, sizeof written);
		decode(written, len, out);
		save(g, "crumb", written, len);
		save(g, "f32", out, sizeof out);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(golden_frames_decode),
	                                   cmocka_unit_test(golden_frames_are_written_again)};
	const struct CMUnitTest writing[] = {cmocka_unit_test(write_what_is_missing)};
	if (argc > 1 && !strcmp(argv[1], "write"))
		return cmocka_run_group_tests_name("golden, written", writing, NULL, NULL);
	return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
