/* Numbers that ranks agree on, over a transport that is made up.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "exchange/transport.h"
#include "train/agree.h"

enum { RANKS = 3 };

static double number[RANKS];
static size_t length[RANKS];
static int error;

static int swap(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in)
{
	(void)out;
	snprintf(net->why, sizeof net->why, "the network is gone");
	for (unsigned r = 0; r < RANKS; r++)
		in[r] = (crumb_span){&number[r], length[r]};
	return error;
}

static struct crumb_exchange_net made(void)
{
	for (unsigned r = 0; r < RANKS; r++)
		length[r] = sizeof number[r];
	error = 0;
	return (struct crumb_exchange_net){.ranks = RANKS, .swap = swap};
}

static void the_least_and_the_greatest_are_found(void **state)
{
	char why[100] = "";
	(void)state;
	for (unsigned first = 0; first < RANKS; first++) {
		struct crumb_exchange_net net = made();
		double least = 5 + first, most = 5 + first;
		for (unsigned r = 0; r < RANKS; r++)
			number[r] = 5 + (first + r) % RANKS;
		assert_int_equal(agree_least(&net, &least, why, sizeof why), 0);
		for (unsigned r = 0; r < RANKS; r++)
			number[r] = -number[r]; /* as agree_most has its ranks send them */
		assert_int_equal(agree_most(&net, &most, why, sizeof why), 0);
		assert_true(least == 5 && most == 7);
	}
}

static void one_process_agrees_with_itself(void **state)
{
	double least = 5, most = 5;
	char why[100] = "";
	(void)state;
	assert_int_equal(agree_least(NULL, &least, why, sizeof why), 0);
	assert_int_equal(agree_most(NULL, &most, why, sizeof why), 0);
	assert_true(least == 5 && most == 5);
}

static void what_fails_says_so_and_changes_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct crumb_exchange_net net = made();
		char why[100] = "";
		double least = 5;
		if (i)
			length[2] = 3;
		else
			error = CRUMB_EPEER;
		assert_int_equal(agree_least(&net, &least, why, sizeof why) < 0, 1);
		assert_non_null(strstr(why, i ? "rank 2" : "the network is gone"));
		assert_true(least == 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_least_and_the_greatest_are_found),
	        cmocka_unit_test(one_process_agrees_with_itself),
	        cmocka_unit_test(what_fails_says_so_and_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
