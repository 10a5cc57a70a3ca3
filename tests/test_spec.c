/* Codecs as text.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include "decimal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void printing_and_parsing_are_inverse(void **state)
{
	(void)state;
	crumb_codec codec[CASE_CODECS], again;
	const size_t count = case_codecs(codec, CASE_CODECS);
	for (size_t c = 0; c < count; c++) {
		char text[CRUMB_SPEC_MAX];
		const int len = crumb_print(&codec[c], text, sizeof text);
		assert_int_equal(len, strlen(text));
		again = case_parse(text);
		assert_memory_equal(&again, &codec[c], sizeof again);
		char other[CRUMB_SPEC_MAX] = "untouched";
		assert_int_equal(crumb_print(&codec[c], other, (size_t)len), CRUMB_ESPACE);
		assert_string_equal(other, "untouched");
		assert_int_equal(crumb_print(&codec[c], other, (size_t)len + 1), len);
		assert_string_equal(other, text);
	}
}

/* at: the character that *bad points at. */
static void the_first_offending_character_is_named(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		size_t at;
	} wrong[] = {
	        {"", 0},
	        {"adacomb", 6},
	        {"adacomp2", 7},
	        {"Adacomp", 0},
	        {" raw", 0},
	        {"raw:", 4},
	        {"raw:x=1", 4},
	        {"adacomp:", 8},
	        {"adacomp:bin", 11},
	        {"adacomp:bin=", 12},
	        {"adacomp:bin=5o", 13},
	        {"adacomp:bin=0", 12},
	        {"adacomp:bin=1.5", 12},
	        {"adacomp:bin=50,", 15},
	        {"adacomp:bin=50,bin=50", 15},
	        {"adacomp:bin=50,threshold=1", 15},
	        {"adacomp:bin=50 ", 14},
	        {"twobit:threshold=-1", 17},
	        {"twobit:threshold=0", 17},
	        {"twobit:threshold=nan", 17},
	        {"twobit:threshold=1e", 18},
	        {"twobit:threshold=0,5", 17},
	        {"twobit:threshold=1e999", 17},
	        {"twobit:threshold=aut", 17},
	        {"twobit:threshold=autos", 21},
	        {"twobit:threshold=apple", 18},
	        {"twobit:share=0.2", 7},
	        {"twobit:threshold=0.5,share=0.2", 21},
	        {"twobit:threshold=auto,share=0.6", 28},
	        {"twobit:share=0.2,decay=0.9", 7},
	        {"chunk:decay=0.9,bits=16", 16},
	        {"chunk:bits=16,decay=0.9", 6},
	        {"alq:bits=8,coding=entropy,every=5", 4},
	        {"topk:fraction=0.1,coding=entropy,value=exact", 18},
	        {"terngrad:bucket=100", 16},
	        {"terngrad:coding=trots", 18},
	        {"half:type=f32", 11},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		crumb_codec codec = {.id = 77};
		const char *bad = NULL;
		assert_int_equal(crumb_parse(&codec, wrong[i].spec, &bad), CRUMB_ESPEC);
		if (bad != wrong[i].spec + wrong[i].at)
			fail_msg("\"%s\": character %d, expected %zu", wrong[i].spec,
			         (int)(bad - wrong[i].spec), wrong[i].at);
		assert_int_equal(codec.id, 77);
	}
}

static void defaults_and_ids_are_in_order(void **state)
{
	(void)state;
	const crumb_codec_info *info;
	for (size_t i = 0; (info = crumb_list(i)); i++) {
		assert_int_equal(info->id, i + 1);
		crumb_codec codec = case_parse(info->name);
		for (size_t k = 0; k < info->keys; k++) {
			assert_true(codec.value[k] == info->key[k].default_value);
			assert_non_null(info->key[k].brief);
		}
		char text[CRUMB_SPEC_MAX];
		crumb_print(&codec, text, sizeof text);
		assert_string_equal(text, info->name);
	}
}

static void invalid_codecs_are_refused(void **state)
{
	(void)state;
	crumb_codec codec = case_parse("adacomp");
	crumb_codec wrong[5] = {codec, codec, codec, codec, codec};
	wrong[0].id = 200;
	wrong[1].reserved = 1;
	wrong[2].value[0] = 0;
	wrong[3].value[0] = NAN;
	wrong[4].value[7] = 1;
	for (int i = 0; i < 5; i++) {
		char text[CRUMB_SPEC_MAX];
		assert_int_equal(crumb_bound(&wrong[i], 10), 0);
		assert_int_equal(crumb_packer_size(&wrong[i], 10), 0);
		assert_int_equal(crumb_print(&wrong[i], text, sizeof text), CRUMB_EINVAL);
	}
}

/* Every float of a random sample is written so that C's own reader, and ours, read it back. */
static void decimals_read_back(void **state)
{
	(void)state;
	uint64_t chance = 3;
	for (int i = 0; i < 200000; i++) {
		const uint32_t bits = (uint32_t)(case_random(&chance) >> 16);
		float x, back = 0;
		memcpy(&x, &bits, sizeof x);
		if (!isfinite(x) || (x != 0 && fabsf(x) < 0x1p-120f))
			continue;
		char text[CRUMB_DECIMAL_MAX];
		const size_t size = crumb_decimal_write(text, x);
		assert_int_equal(size, strlen(text));
		assert_int_equal(crumb_decimal_read(text, size, &back), size);
		if (back != x || strtof(text, NULL) != x)
			fail_msg("%a became %s, read as %a", (double)x, text, (double)back);
	}
	static const char *const same[] = {"0",    "0.5",   "0.1", "1",     "10",   "100000",
	                                   "0.01", "1e-07", "2.5", "-3.25", "0.003"};
	for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
		float x;
		char text[CRUMB_DECIMAL_MAX];
		assert_int_equal(crumb_decimal_read(same[i], strlen(same[i]), &x), strlen(same[i]));
		assert_true(x == strtof(same[i], NULL));
		crumb_decimal_write(text, x);
		assert_string_equal(text, same[i]);
	}
}

/* There is one zero: "-0" is the codec that "0" is, to the byte, as ranks compare codecs by their bytes. */
static void there_is_one_zero(void **state)
{
	(void)state;
	static const char *const zero[] = {"0", "-0", "-0.000", "-0e9", "-1e-99"};
	for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) {
		float x = 1;
		assert_int_equal(crumb_decimal_read(zero[i], strlen(zero[i]), &x), strlen(zero[i]));
		assert_true(x == 0 && !signbit(x));
	}
}

static void every_error_has_words(void **state)
{
	(void)state;
	for (int error = CRUMB_EFLOAT; error < 0; error++) {
		assert_non_null(crumb_strerror(error));
		assert_string_not_equal(crumb_strerror(error), crumb_strerror(-1000));
	}
	assert_string_not_equal(crumb_strerror(CRUMB_EMEMORY), crumb_strerror(-1000));
	assert_string_not_equal(crumb_strerror(CRUMB_EPEER), crumb_strerror(-1000));
	assert_string_equal(crumb_strerror(0), "no error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(printing_and_parsing_are_inverse),
	        cmocka_unit_test(the_first_offending_character_is_named),
	        cmocka_unit_test(defaults_and_ids_are_in_order),
	        cmocka_unit_test(invalid_codecs_are_refused),
	        cmocka_unit_test(decimals_read_back),
	        cmocka_unit_test(there_is_one_zero),
	        cmocka_unit_test(every_error_has_words),
	};
	return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
