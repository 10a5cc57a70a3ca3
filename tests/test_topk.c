/* topk on tensors that are long enough to be sampled: the elements that a sort finds, whatever the sample
 * said.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = (1 << 16) + 5, STEPS = 2, LARGE = CASE_KINDS, SMALL, RISING, ROWS, KINDS };

/* Tensors of which 256 groups are sampled; 16; and that are too short for candidates. */
static const size_t lengths[] = {LONG, 4101, 1021};

static const char *const specs[] = {"topk:fraction=0.01", "topk", "topk:fraction=0.01,coding=entropy",
                                    "topk:fraction=0.01,value=exact", "topk:fraction=0.2",
                                    /* more candidates than there is room for */
                                    "topk:fraction=0.03", "topk:fraction=0.03,value=exact",
                                    /* candidates stand in the frame */
                                    "topk:fraction=0.2,value=exact", "topk:fraction=0.08,value=exact"};

/* Multiplies the first groups that topk samples by a factor. */
static void mislead(float *g, size_t n, size_t count, float factor)
{
	const size_t all = n / 16, few = all / 16 < 256 ? all / 16 : 256,
	             groups = all / 64 > few ? all / 64 : few, step = groups ? n / groups : 0;
	for (size_t at = 0; at < groups && at < count; at++) {
		float *group = g + at * step + (uint32_t)at * 0x9E3779B9u % (step - 15);
		for (int i = 0; i < 16; i++)
			group[i] *= factor;
	}
}

static int descending(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;
	return (x < y) - (x > y);
}

static float kth_largest(const float *x, size_t n, size_t k)
{
	static float size[LONG];
	for (size_t i = 0; i < n; i++)
		size[i] = fabsf(x[i]);
	qsort(size, n, sizeof *size, descending);
	return size[k - 1];
}

/* sent: what a frame says; of exact values the first of equal ones are sent. */
static void judge(const float *total, const float *sent, const float *left, size_t n, size_t k, bool exact)
{
	const float least = fmaxf(kth_largest(total, n, k), 0x1p-149f);
	size_t above = 0;
	double sum[2] = {0, 0}, count[2] = {0, 0};
	for (size_t i = 0; i < n; i++) {
		above += fabsf(total[i]) > least;
		if (fabsf(total[i]) >= least) {
			sum[total[i] < 0] += total[i];
			count[total[i] < 0]++;
		}
	}
	for (size_t i = 0, equal = 0; i < n; i++) {
		const bool tie = fabsf(total[i]) == least,
		           chosen = fabsf(total[i]) > least || (tie && (!exact || equal < k - above));
		equal += tie;
		const double mean = sum[total[i] < 0] / count[total[i] < 0];
		if (!chosen)
			assert_true(sent[i] == 0);
		else if (exact)
			assert_true(sent[i] == total[i]);
		else
			assert_true(fabs(sent[i] - mean) <= 1e-4 * fabs(mean));
		assert_true(left[i] == total[i] - sent[i]);
	}
}

/* Magnitudes that rise, so that candidates are dropped again and again. */
static void grow(float *g, size_t n)
{
	for (size_t i = 0; i < n; i++)
		g[i] *= (float)(i * i);
}

/* Rows of very different size, so that more elements of a chunk are large than the sample said. */
static void scale_rows(float *g, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t chance = seed ^ i / 64 * 0x9E3779B97F4A7C15u;
		g[i] *= exp2f((float)(case_random(&chance) >> 60) + (float)(case_random(&chance) >> 60) - 15);
	}
}

static void fill(float *g, size_t n, size_t k, int kind, int step)
{
	case_fill(g, n, kind < CASE_KINDS ? (enum case_kind)kind : CASE_GAUSS, (uint64_t)step);
	if (kind == LARGE) /* half of what is sent; topk expects as many others */
		mislead(g, n, k / 32 + 1, 1000);
	if (kind == SMALL) /* nothing that is sent: all others may be */
		mislead(g, n, n, 0.001f);
	if (kind == RISING)
		grow(g, n);
	if (kind == ROWS)
		scale_rows(g, n, (uint64_t)step + 1);
}

/* One codec on gradients of one kind, with all instruction sets. */
static void find(const char *spec, size_t n, int kind)
{
	const char *isa[CASE_ISAS];
	const size_t isas = case_isas(isa);
	static float g[LONG], total[LONG], sent[LONG];
	crumb_codec codec;
	crumb_packer *p[CASE_ISAS];
	codec = case_parse(spec);
	const size_t k = (size_t)((double)codec.value[0] * (double)n);
	for (size_t c = 0; c < isas; c++)
		p[c] = case_packer(&codec, n, 0);
	for (int step = 0; step < STEPS; step++) {
		uint8_t *first = NULL;
		fill(g, n, k, kind, step);
		for (size_t i = 0; i < n; i++)
			total[i] = crumb_packer_residual(p[0])[i] + g[i];
		for (size_t c = 0, size = 0; c < isas; c++) {
			size_t len;
			assert_int_equal(crumb_set_isa(isa[c]), 0);
			uint8_t *frame = case_pack(p[c], g, CRUMB_F32, &len);
			if (c) {
				assert_int_equal(len, size);
				assert_memory_equal(frame, first, len);
				assert_memory_equal(crumb_packer_residual(p[c]), crumb_packer_residual(p[0]),
				                    n * sizeof *g);
				free(frame);
				continue;
			}
			memset(sent, 0, sizeof sent);
			assert_int_equal(crumb_unpack_add(frame, len, 1, sent, n), len);
			judge(total, sent, crumb_packer_residual(p[0]), n, k ? k : 1, codec.value[1] != 0);
			first = frame;
			size = len;
		}
		free(first);
	}
	for (size_t c = 0; c < isas; c++)
		free(p[c]);
}

static void what_a_sort_finds(void **state)
{
	(void)state;
	for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
		for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
			for (int kind = 0; kind < KINDS; kind++)
				find(specs[s], lengths[l], kind);
	crumb_set_isa(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_sort_finds)};
	return cmocka_run_group_tests_name("topk", tests, NULL, NULL);
}
