/* The self-check notices one wrong bit of what any of its frames decodes to.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"

static size_t calls, wrong;

/* crumb_unpack_add, but it flips one bit of acc in the last step of the row `wrong`. */
static int64_t add_wrongly(const void *frame, size_t len, float weight, float *acc, size_t n);

#define crumb_self_check self_check_of_wrong_sums
#define crumb_unpack_add add_wrongly
#include "self_check.c"
#undef crumb_unpack_add

static int64_t add_wrongly(const void *frame, size_t len, float weight, float *acc, size_t n)
{
	const int64_t taken = crumb_unpack_add(frame, len, weight, acc, n);

	if (++calls == STEPS * (wrong + 1))
		((uint8_t *)acc)[0] ^= 1;
	return taken;
}

static void a_wrong_bit_of_any_row_is_noticed(void **state)
{
	(void)state;
	FOR_EACH_ISA(s)
	for (wrong = 0; wrong <= sizeof rows / sizeof *rows; wrong++) {
		calls = 0;
		assert_int_equal(self_check_of_wrong_sums(),
		                 wrong < sizeof rows / sizeof *rows ? CRUMB_EFLOAT : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_wrong_bit_of_any_row_is_noticed)};
	return cmocka_run_group_tests_name("self-check", tests, NULL, NULL);
}
