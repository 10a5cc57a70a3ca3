/* Decoding by a team: slices that are cut decode as whole ones do, good or damaged.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include "exchange/step.h"
#include "exchange/team.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES = 4, FRAMES = 3, MOST_THREADS = 5 };
/* The longest first. With two threads and more the first slice is cut, with more the second one, too. */
static const size_t length[SLICES] = {100001, 40000, 641, 7};
static const float weights[FRAMES] = {0.5f, -1, 0.125f};
static crumb_span spans[SLICES][FRAMES];

/* Decodes all slices with every number of threads, and compares with whole slices, one after another. At most
 * one slice is damaged. */
static void compare(const struct crumb_slice *slice, size_t n, float *mean, float *want)
{
	const size_t order[SLICES] = {0, 1, 2, 3};
	const struct decode_job job = {FRAMES, spans[0], weights, 0};
	int error[SLICES], first = 0;
	memset(want, 0, n * sizeof *want);
	for (size_t s = 0; s < SLICES; s++) {
		error[s] = crumb_unpack_add_all(spans[s], weights, FRAMES, want + slice[s].at, slice[s].n);
		first = first ? first : error[s];
	}
	for (unsigned threads = 1; threads <= MOST_THREADS; threads++) {
		struct crumb_exchange x = {.slice = slice, .slices = SLICES};
		struct step step = {.x = &x, .mean = mean};
		x.team = crumb_team_open(threads);
		assert_true(crumb_average_open(&x.decode_memory, SLICES, FRAMES, threads));
		for (size_t i = 0; i < n; i++)
			mean[i] = 99;
		assert_int_equal(crumb_average_slices(&step, order, SLICES, &job), first);
		for (size_t s = 0; s < SLICES; s++) {
			char name[32];
			snprintf(name, sizeof name, "a frame of slice %zu: ", s);
			assert_int_equal(strstr(x.why, name) != NULL, error[s] != 0);
			if (!error[s])
				assert_memory_equal(mean + slice[s].at, want + slice[s].at,
				                    slice[s].n * sizeof *mean);
		}
		crumb_average_close(&x.decode_memory);
		crumb_team_close(x.team);
	}
}

/* Damages a frame in its payload, near its end and in the header, makes it another length, and appends a
 * byte. */
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
		crumb_codec codec = case_parse(specs[c]);
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
	return cmocka_run_group_tests(tests, NULL, NULL);
}
