/* Policies: each kind gets its codec, and the caret stands at the offending character.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "exchange/policy.h"

static struct policy parsed(const char *text)
{
	struct policy policy;
	const char *bad = NULL;

	if (crumb_policy_parse(&policy, text, &bad))
		fail_msg("%s: refused at %d", text, (int)(bad - text));
	return policy;
}

static void assert_codec(const struct policy *policy, enum crumb_kind kind, const char *spec)
{
	char got[CRUMB_SPEC_MAX];

	assert_true(crumb_print(&policy->codec[kind], got, sizeof got) > 0);
	assert_string_equal(got, spec);
}

static void kinds_have_names(void **state)
{
	(void)state;
	for (int a = 0; a < CRUMB_KINDS; a++) {
		assert_true(strlen(crumb_kind_name((enum crumb_kind)a)) > 1);
		for (int b = 0; b < a; b++)
			assert_string_not_equal(crumb_kind_name((enum crumb_kind)a),
			                        crumb_kind_name((enum crumb_kind)b));
	}
}

/* A single spec is for weights; bias and batchnorm stay raw, and last, too, with the codec published so. */
static void a_single_spec_is_for_weights(void **state)
{
	(void)state;
	for (size_t i = 0; crumb_list(i); i++) {
		const char *name = crumb_list(i)->name;
		const struct policy policy = parsed(name);
		assert_codec(&policy, CRUMB_CONV, name);
		assert_codec(&policy, CRUMB_FC, name);
		assert_codec(&policy, CRUMB_LSTM, name);
		assert_codec(&policy, CRUMB_EMBEDDING, name);
		assert_codec(&policy, CRUMB_BIAS, "raw");
		assert_codec(&policy, CRUMB_BATCHNORM, "raw");
		assert_codec(&policy, CRUMB_KIND_LAST, strcmp(name, "terngrad") ? name : "raw");
	}
}

static void a_single_spec_may_have_keys(void **state)
{
	(void)state;
	for (size_t i = 0; crumb_list(i); i++) {
		const crumb_codec_info *info = crumb_list(i);
		for (size_t k = 0; k < info->keys; k++) {
			crumb_codec codec;
			char spec[CRUMB_SPEC_MAX];
			assert_int_equal(crumb_parse(&codec, info->name, NULL), 0);
			codec.value[k] = info->key[k].max;
			const int printed = crumb_print(&codec, spec, sizeof spec);
			if (printed == CRUMB_EINVAL)
				continue; /* the key needs another one */
			assert_true(printed > 0);
			const struct policy policy = parsed(spec);
			assert_codec(&policy, CRUMB_FC, spec);
			assert_codec(&policy, CRUMB_BIAS, "raw");
		}
	}
}

static void rules_name_kinds(void **state)
{
	const struct policy policy = parsed("conv=half;fc,lstm=twobit:threshold=0.25;bias,batchnorm=raw");

	(void)state;
	assert_codec(&policy, CRUMB_CONV, "half");
	assert_codec(&policy, CRUMB_FC, "twobit:threshold=0.25");
	assert_codec(&policy, CRUMB_LSTM, "twobit:threshold=0.25");
	assert_codec(&policy, CRUMB_KIND_LAST, "twobit:threshold=0.25"); /* falls back to fc */
	assert_codec(&policy, CRUMB_EMBEDDING, "twobit:threshold=0.25"); /* too */
	assert_codec(&policy, CRUMB_BIAS, "raw");
	assert_codec(&policy, CRUMB_BATCHNORM, "raw");
}

static void the_first_match_wins(void **state)
{
	const struct policy policy = parsed("fc,fc=half;fc,last=twobit;last=raw");

	(void)state;
	assert_codec(&policy, CRUMB_FC, "half");
	assert_codec(&policy, CRUMB_KIND_LAST, "twobit");
}

static void what_is_named_does_not_fall_back(void **state)
{
	static const enum crumb_kind as_fc[] = {CRUMB_KIND_LAST, CRUMB_EMBEDDING};
	const struct policy a = parsed("last,embedding=half;fc=twobit"), b = parsed("conv=half");

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_codec(&a, as_fc[i], "half");
		assert_codec(&b, as_fc[i], "raw");
	}
}

static void what_does_not_shrink_goes_raw(void **state)
{
	(void)state;
	const crumb_codec raw = parsed("raw").codec[CRUMB_FC];
	for (size_t i = 0; crumb_list(i); i++) {
		const struct policy policy = parsed(crumb_list(i)->name);
		for (size_t n = 0; n < 100000; n = n * 3 + 1) {
			const crumb_codec *own = &policy.codec[CRUMB_FC];
			const crumb_codec chosen = crumb_policy_choose(&policy, CRUMB_FC, n);
			const crumb_codec *expected = crumb_bound(own, n) < 4 * n ? own : &raw;
			assert_memory_equal(&chosen, expected, sizeof chosen);
		}
		const crumb_codec bias = crumb_policy_choose(&policy, CRUMB_BIAS, 100000);
		assert_memory_equal(&bias, &raw, sizeof bias);
	}
}

/* The caret stands under the first offending character; the policy is as it was. */
static void the_caret_points(void **state)
{
	static const struct {
		const char *text;
		int bad;
	} cases[] = {
	        {";fc=raw", 0}, /* an empty rule */
	        {"fc=raw;", 7}, /* an empty rule at the end */
	        {"fc=raw;;conv=raw", 7},
	        {"=raw", 0}, /* no kind */
	        {",fc=raw", 0},
	        {"fc,=raw", 3},
	        {"fc,,conv=raw", 3},
	        {"dense=raw", 0}, /* no such kind */
	        {"fc,dense=raw", 3},
	        {"fc=raw;dense=raw", 7},
	        {"f=raw", 1},
	        {"fcc=raw", 2},
	        {"FC=raw", 0},
	        {"cnov=raw", 1},
	        {"fc;conv=raw", 2}, /* a rule without '=' */
	        {"fc,conv", 7},
	        {"conv=raw;fc", 11},
	        {"fc =raw", 2}, /* blanks */
	        {" fc=raw", 0},
	        {"fc=raw; conv=raw", 7},
	        {"fc, conv=raw", 3},
	        {"half:type=bf16;fc=raw", 14}, /* a single spec and then more */
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct policy policy;
		const char *bad = NULL;
		memset(&policy, 0x5a, sizeof policy);
		const struct policy before = policy;
		if (crumb_policy_parse(&policy, cases[i].text, &bad) != CRUMB_ESPEC)
			fail_msg("accepted: %s", cases[i].text);
		if (bad != cases[i].text + cases[i].bad)
			fail_msg("%s: caret at %d, not at %d", cases[i].text, (int)(bad - cases[i].text),
			         cases[i].bad);
		assert_memory_equal(&policy, &before, sizeof policy);
		assert_int_equal(crumb_policy_parse(&policy, cases[i].text, NULL), CRUMB_ESPEC);
	}
}

/* Inside a spec the caret is where crumb_parse puts it, alone or in a rule. */
static void the_caret_points_into_specs(void **state)
{
	static const char *const specs[] = {"",
	                                    "nosuch",
	                                    "half:",
	                                    "half:type",
	                                    "half:type=",
	                                    "half:type=f17",
	                                    "half:type=f16,",
	                                    "twobit:threshold=-1",
	                                    "twobit:threshold=0.5x",
	                                    "raw ",
	                                    " raw",
	                                    "raw:x=1"};

	(void)state;
	for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
		crumb_codec codec;
		struct policy policy;
		const char *bad = NULL, *policy_bad = NULL;
		char text[CRUMB_SPEC_MAX];
		assert_int_equal(crumb_parse(&codec, specs[i], &bad), CRUMB_ESPEC);
		const ptrdiff_t at = bad - specs[i];

		snprintf(text, sizeof text, "conv=raw;fc,last=%s;bias=raw", specs[i]);
		assert_int_equal(crumb_policy_parse(&policy, text, &policy_bad), CRUMB_ESPEC);
		assert_int_equal(policy_bad - text, (ptrdiff_t)strlen("conv=raw;fc,last=") + at);

		assert_int_equal(crumb_policy_parse(&policy, specs[i], &policy_bad), CRUMB_ESPEC);
		assert_int_equal(policy_bad - specs[i], at);
	}
}

static void a_spec_too_long_is_refused(void **state)
{
	char text[2 * CRUMB_SPEC_MAX] = "fc=half:type=";
	struct policy policy;
	const char *bad = NULL;

	(void)state;
	memset(text + strlen(text), '1', sizeof text - 1 - strlen(text));
	assert_int_equal(crumb_policy_parse(&policy, text, &bad), CRUMB_ESPEC);
	assert_true(bad > text && bad < text + sizeof text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(kinds_have_names),
	        cmocka_unit_test(a_single_spec_is_for_weights),
	        cmocka_unit_test(a_single_spec_may_have_keys),
	        cmocka_unit_test(rules_name_kinds),
	        cmocka_unit_test(the_first_match_wins),
	        cmocka_unit_test(what_is_named_does_not_fall_back),
	        cmocka_unit_test(what_does_not_shrink_goes_raw),
	        cmocka_unit_test(the_caret_points),
	        cmocka_unit_test(the_caret_points_into_specs),
	        cmocka_unit_test(a_spec_too_long_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
