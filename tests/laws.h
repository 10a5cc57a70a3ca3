/* The codecs, settings and instruction sets that test_laws and others loop over, and helpers.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LAWS_H
#define LAWS_H

#include "tests/cases.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static crumb_codec codec[CASE_CODECS];
static size_t codecs;
static bool slow[CASE_CODECS]; /* those that solve for levels, by the same instructions on every set */
static const char *isa[CASE_ISAS];
static size_t isas;

static inline const char *name(const crumb_codec *c)
{
	static char text[CRUMB_SPEC_MAX];
	assert_true(crumb_print(c, text, sizeof text) > 0);
	return text;
}

static inline float *decode(const uint8_t *frame, size_t len, size_t n)
{
	float *out = calloc(n + 1, sizeof *out);
	assert_int_equal(crumb_unpack_add(frame, len, 1, out, n), len);
	return out;
}

static int set_up(void **state)
{
	(void)state;
	codecs = case_codecs(codec, CASE_CODECS);
	for (size_t c = 0; c < codecs; c++) {
		crumb_packer *p = case_packer(&codec[c], 1000, 1);
		slow[c] = crumb_agree_count(p) > 100;
		free(p);
	}
	isas = case_isas(isa);
	printf("%zu codecs in all settings; instruction sets:", codecs);
	for (size_t i = 0; i < isas; i++)
		printf(" %s", isa[i]);
	printf("\n");
	return 0;
}

#endif
