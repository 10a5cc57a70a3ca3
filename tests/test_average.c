/* Decoding by a team: slices that are cut decode as whole ones do, good or damaged.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include "exchange/exchange_state.h"
#include "exchange/team.h"
#include <stdlib.h>
#include <string.h>

enum { SLICES = 4, FRAMES = 3, MOST_THREADS = 5 };
/* The longest first. With two threads and more the first slice is cut, with more the second one, too. */
static const size_t length[SLICES] = {100001, 40000, 641, 7};
static const float weights[FRAMES] = {0.5f, -1, 0.125f};
static crumb_span spans[SLICES][FRAMES];

static void find(const struct crumb_exchange *x, size_t s, size_t first, size_t count, crumb_span *frame,
                 float *weight)
{
	(void)x;
	memcpy(frame, spans[s] + first, count * sizeof *frame);
	memcpy(weight, weights + first, count * sizeof *weight);
}

/* Decodes all slices with every number of threads, and compares with whole slices, one after another. */
static void compare(const struct crumb_slice *slice, size_t n, float *mean, float *want)
{
	const size_t order[SLICES] = {0, 1, 2, 3};
	const struct decoding what = {FRAMES, find, NULL};
	int error[SLICES];
	memset(want, 0, n * sizeof *want);
	for (size_t s = 0; s < SLICES; s++)
		error[s] = crumb_unpack_add_all(spans[s], weights, FRAMES, want + slice[s].at, slice[s].n);
	for (unsigned threads = 1; threads <= MOST_THREADS; threads++) {
		struct column column[SLICES] = {{.error = 1}};
		struct crumb_exchange x = {.slice = slice, .slices = SLICES, .column = column, .mean = mean};
		x.team = crumb_team_open(threads);
		assert_true(crumb_decoder_open(&x.decoder, SLICES, FRAMES, threads));
		for (size_t i = 0; i < n; i++)
			mean[i] = 99;
		crumb_average_slices(&x, order, SLICES, &what);
		for (size_t s = 0; s < SLICES; s++) {
			assert_int_equal(column[s].error, error[s]);
			if (!error[s])
				assert_memory_equal(mean + slice[s].at, want + slice[s].at,
				                    slice[s].n * sizeof *mean);
		}
		crumb_decoder_close(&x.decoder);
		crumb_team_close(x.team);
	}
}

/* Damaged in the payload, near its end, in the header, of another length, and with more behind it. */
static void damage_one_by_one(crumb_span *span, const crumb_span *other, const struct crumb_slice *slice,
                              size_t n, float *mean, float *want)
{
	const crumb_span was = *span;
	uint8_t *const bytes = (uint8_t *)span->data;
	const size_t at[] = {CRUMB_HEADER_BYTES, was.len - 1, 5};
	for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
		bytes[at[k]] ^= 4;
		compare(slice, n, mean, want);
		bytes[at[k]] ^= 4;
	}
	*span = *other;
	compare(slice, n, mean, want);
	uint8_t *longer = malloc(was.len + 1);
	memcpy(longer, was.data, was.len);
	longer[was.len] = 0;
	*span = (crumb_span){longer, was.len + 1};
	compare(slice, n, mean, want);
	*span = was;
	free(longer);
}

static void cut_slices_are_as_whole_ones(void **state)
{
	(void)state;
	static const char *const specs[] = {"raw", "twobit", "adacomp", "terngrad:coding=entropy",
	                                    "topk:fraction=0.01,coding=entropy"};
	struct crumb_slice slice[SLICES] = {{0}};
	size_t n = 0;
	for (size_t s = 0; s < SLICES; n += slice[s++].n) {
		slice[s].at = n;
		slice[s].n = length[s];
	}
	float *g = malloc(n * sizeof *g), *mean = malloc(n * sizeof *mean), *want = malloc(n * sizeof *want);
	for (size_t c = 0; c < sizeof specs / sizeof *specs; c++) {
		crumb_codec codec;
		assert_int_equal(crumb_parse(&codec, specs[c], NULL), 0);
		for (size_t s = 0; s < SLICES; s++)
			for (size_t f = 0; f < FRAMES; f++) {
				crumb_packer *p = case_packer(&codec, slice[s].n, f);
				case_fill(g, slice[s].n, CASE_GAUSS, 10 * s + f);
				spans[s][f].data = case_pack(p, g, CRUMB_F32, &spans[s][f].len);
				free(p);
			}
		compare(slice, n, mean, want);
		for (size_t s = 0; s < SLICES; s++)
			damage_one_by_one(&spans[s][1], &spans[(s + 1) % SLICES][1], slice, n, mean, want);
		for (size_t s = 0; s < SLICES; s++)
			for (size_t f = 0; f < FRAMES; f++)
				free((void *)spans[s][f].data);
	}
	free(g);
	free(mean);
	free(want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(cut_slices_are_as_whole_ones)};
	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
