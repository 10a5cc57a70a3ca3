/* Learning-rate schedules: their values, their texts, and texts that are wrong.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "train/update/schedule.h"

static double rate(const char *text, double epoch)
{
	struct schedule schedule;
	assert_int_equal(schedule_parse(&schedule, text, NULL), 0);
	return schedule_rate(&schedule, 0.8, epoch, 20);
}

static void rates(void **state)
{
	(void)state;
	assert_float_equal(rate("constant", 19.9), 0.8, 1e-12);
	assert_float_equal(rate("step", 9.99), 0.8, 1e-12);
	assert_float_equal(rate("step", 10), 0.08, 1e-12);
	assert_float_equal(rate("step:every=4,factor=0.5", 11.9), 0.2, 1e-12);
	assert_float_equal(rate("step:factor=0.5", 10), 0.4, 1e-12);
	assert_float_equal(rate("poly", 5), 0.6, 1e-12);
	assert_float_equal(rate("poly:power=2", 10), 0.2, 1e-12);
	assert_float_equal(rate("cosine", 0), 0.8, 1e-12);
	assert_float_equal(rate("cosine", 10), 0.4, 1e-12);
	assert_float_equal(rate("cosine", 20), 0, 1e-12);
}

static void a_warm_up_ends_at_the_whole_rate(void **state)
{
	(void)state;
	assert_float_equal(schedule_warmup(0, 0.01), 1, 0);
	assert_float_equal(schedule_warmup(5, 0.5), 0.1, 1e-12);
	assert_float_equal(schedule_warmup(5, 4.99), 0.998, 1e-12);
	assert_float_equal(schedule_warmup(5, 5), 1, 0);
	assert_float_equal(schedule_warmup(5, 19), 1, 0);
}

static void wrong_texts(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int bad; /* offset of the first bad character */
	} wrong[] = {{"", 0},
	             {"stairs", 0},
	             {"constant:", 9},
	             {"constant,", 0},
	             {"step:", 5},
	             {"step:every", 10},
	             {"step:every=", 11},
	             {"step:every=0", 11},
	             {"step:every=nan", 11},
	             {"step:every=3,", 13},
	             {"step:every=3;factor=1", 12},
	             {"step:every=3,facto=1", 13},
	             {"poly:power=-1", 11},
	             {"poly:power=2x", 12},
	             {"cosine:power=2", 7}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct schedule schedule = {.power = 7};
		const char *bad = NULL;
		assert_int_equal(schedule_parse(&schedule, wrong[i].text, &bad), -1);
		if (bad != wrong[i].text + wrong[i].bad)
			fail_msg("\"%s\": %td instead of %d", wrong[i].text, bad - wrong[i].text,
			         wrong[i].bad);
		assert_true(schedule.power == 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(rates),
	        cmocka_unit_test(a_warm_up_ends_at_the_whole_rate),
	        cmocka_unit_test(wrong_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
