/* A stand-in for cmocka where there is none, as on most systems that scripts/test-cross builds for: the part
 * that the tests of frames and specs use. A check that fails ends the program.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CMOCKA_H
#define CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define assert_true(holds)                                                         \
	do {                                                                       \
		if (!(holds)) {                                                    \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #holds); \
			exit(1);                                                   \
		}                                                                  \
	} while (0)
#define assert_false(holds)             assert_true(!(holds))
#define assert_non_null(pointer)        assert_true((pointer) != NULL)
#define assert_int_equal(a, b)          assert_true((long long)(a) == (long long)(b))
#define assert_memory_equal(a, b, size) assert_true(!memcmp(a, b, size))
#define assert_string_equal(a, b)       assert_true(!strcmp(a, b))
#define assert_string_not_equal(a, b)   assert_true(strcmp(a, b))
#define fail_msg(...)                   (printf(__VA_ARGS__), puts(""), exit(1))

struct CMUnitTest {
	const char *name;
	void (*run)(void **state);
};
#define cmocka_unit_test(test) \
	{                      \
#test, test    \
	}
#define cmocka_run_group_tests_name(name, tests, before, after) \
	run_tests(name, tests, sizeof(tests) / sizeof *(tests))

static inline int run_tests(const char *name, const struct CMUnitTest *tests, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void *state = NULL;
		tests[i].run(&state);
	}
	printf("%s: %zu passed\n", name, count);
	return 0;
}

#endif
