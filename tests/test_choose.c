/* Choices from made-up measurements.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "exchange/auto/choose.h"
#include "exchange/auto/trial.h"
#include "exchange/plan.h"

enum { RAW, HALF, TERNGRAD, ADACOMP }; /* lines of the menu */
static const struct crumb_slice slices[] = {
        {0, 500, 25, CRUMB_CONV}, {500, 1000000, 0, CRUMB_FC}, {1000500, 100, 0, CRUMB_BIAS}};

static struct crumb_auto_setting setting_of(unsigned ranks)
{
	struct crumb_auto_setting s;
	struct crumb_slice part[64];
	const size_t parts = crumb_slices_cut(slices, 3, 1 << 16, part);
	assert_int_equal(crumb_auto_setting(&s, slices, 3, part, parts, ranks, ranks, NULL), 0);
	return s;
}

/* Returns measurements with plausible prices; in the table seconds are nanoseconds. */
static struct crumb_auto_measured measured_of(double mbit, double compute)
{
	static const double price[][3] = {{4, 0.5, 0.5}, {2, 0.6, 0.5}, {0.2, 2, 1}, {0.01, 1, 0.1}};
	struct crumb_auto_measured x = {
	        .compute = compute, .link = crumb_link_even(mbit * 1e6 / 8, 1e-4), .threads = 1};
	for (size_t m = 0; m < CRUMB_AUTO_MENU; m++)
		for (int kind = 0; kind < CRUMB_KINDS; kind++) {
			const size_t line = kind == CRUMB_BIAS ? 0 : m;
			x.price[m][kind].bytes = price[line][0];
			x.price[m][kind].pack = 1e-9 * price[line][1];
			x.price[m][kind].unpack = 1e-9 * price[line][2];
		}
	return x;
}

static struct crumb_auto_choice choice_of(enum crumb_auto_way way, unsigned char menu)
{
	struct crumb_auto_choice choice = {.way = way};
	choice.menu[CRUMB_CONV] = choice.menu[CRUMB_FC] = menu;
	return choice;
}

/* Predictions are those of the formula, written out here once more. */
static void steps_are_predicted(void **state)
{
	(void)state;
	const struct crumb_auto_setting s = setting_of(4);
	const struct crumb_auto_measured x = measured_of(100, 0.02);
	const double n = 1000600, packed = 1000500, rate = 12.5e6, head = 3 * 40;
	struct crumb_auto_choice choice = choice_of(CRUMB_AUTO_GATHER, ADACOMP);
	double want = 0.02 + 2e-4 + 3 * (0.01 * packed + 400 + head) / rate + 1e-9 * packed * (1 + 4 * 0.1) +
	              1e-9 * 100 * (0.5 + 4 * 0.5);
	assert_true(fabs(crumb_auto_predict(&s, &x, &choice) / want - 1) < 1e-9);

	choice = choice_of(CRUMB_AUTO_SHARD, RAW);
	want = 0.02 + 3e-4 + 3 * s.share * 2 * (4 * n + head) / rate +
	       1e-9 * n * 0.5 * (1 + 4 * s.share + s.share + 1);
	assert_true(s.share >= 0.25 && s.share < 0.32);
	assert_true(fabs(crumb_auto_predict(&s, &x, &choice) / want - 1) < 1e-9);

	choice = choice_of(CRUMB_AUTO_SHARD, TERNGRAD); /* sums of 4 learners have 4 bits */
	want = 0.02 + 3e-4 + 3 * s.share * ((0.2 + 0.5) * packed + 2 * 400 + 2 * head) / rate +
	       1e-9 * packed * (2 + 4 * s.share * 1 + 1) + 1e-9 * 100 * 0.5 * (1 + 4 * s.share + s.share + 1);
	assert_true(fabs(crumb_auto_predict(&s, &x, &choice) / want - 1) < 1e-9);
}

/* Two nodes of four ranks: a slow link between leaders, and a quick one within nodes. */
static void nodes_average_first(void **state)
{
	static const unsigned leader[8] = {0, 0, 0, 0, 4, 4, 4, 4};
	struct crumb_auto_setting s;
	struct crumb_slice part[64];
	const size_t parts = crumb_slices_cut(slices, 3, 1 << 16, part);
	(void)state;
	assert_int_equal(crumb_auto_setting(&s, slices, 3, part, parts, 8, 8, leader), 0);
	assert_true(s.nodes == 2 && s.together == 4);
	struct crumb_auto_measured x = measured_of(2.5, 0.01); /* four ranks share a port */
	x.inside = crumb_link_even(5e9, 1e-5);
	x.between = crumb_link_even(1.25e6, 1e-4);
	const double n = 1000600, packed = 1000500, head = 3 * 40;
	struct crumb_auto_choice choice = choice_of(CRUMB_AUTO_TIERS, ADACOMP);
	const double want = 0.01 + 5e-4 + (0.01 * packed + 400 + head) / 1.25e6 +
	                    2 * 3 * (4 * n + head) / 5e9 + 1e-9 * packed * (1 + 2 * 0.1) +
	                    1e-9 * 100 * (0.5 + 2 * 0.5) + 1e-9 * n * 0.5 * (2 + 5);
	assert_true(fabs(crumb_auto_predict(&s, &x, &choice) / want - 1) < 1e-9);

	const struct crumb_auto_choice plain = crumb_auto_plain(&s, &x);
	x.step = crumb_auto_predict(&s, &x, &plain);
	assert_string_equal(crumb_auto_plan(&plain)->name, "shard");
	choice = crumb_auto_choose(&s, &x, &plain, 0);
	assert_true(!strncmp(crumb_auto_plan(&choice)->name, "tiers", 5) && choice.menu[CRUMB_FC] != RAW);
	x.inside = crumb_link_even(1e6, 1e-5); /* slower than the network */
	choice = crumb_auto_choose(&s, &x, &plain, 0);
	assert_true(strncmp(crumb_auto_plan(&choice)->name, "tiers", 5) != 0);
	const struct crumb_auto_setting without = setting_of(8);
	assert_true(without.nodes == 1 && without.together == 8);
	choice = crumb_auto_choose(&without, &x, &plain, 0);
	assert_true(strncmp(crumb_auto_plan(&choice)->name, "tiers", 5) != 0);
}

static void assert_chosen(unsigned ranks, double mbit, double compute, int menu)
{
	const struct crumb_auto_setting s = setting_of(ranks);
	struct crumb_auto_measured x = measured_of(mbit, compute);
	const struct crumb_auto_choice plain = crumb_auto_plain(&s, &x);
	x.step = crumb_auto_predict(&s, &x, &plain);
	const struct crumb_auto_choice choice = crumb_auto_choose(&s, &x, &plain, 0);
	if (choice.menu[CRUMB_FC] != menu || choice.menu[CRUMB_BIAS] != RAW)
		fail_msg("%u ranks, %g Mbit/s, compute %g: line %d, not %d, in way %d", ranks, mbit, compute,
		         choice.menu[CRUMB_FC], menu, choice.way);
	if (menu != RAW) /* worth it */
		assert_true(crumb_auto_predict(&s, &x, &choice) < (1 - CRUMB_AUTO_WORTH) * x.step);
}

/* A slow link needs the smallest frames; a fast one, or a long computation, raw. */
static void a_link_decides(void **state)
{
	(void)state;
	assert_chosen(4, 100, 0.01, ADACOMP);
	assert_chosen(4, 1000, 0.01, ADACOMP);
	assert_chosen(4, 100000, 0.1, RAW);
	assert_chosen(4, 1000, 10, RAW);
	assert_chosen(1, 100, 0.01, RAW);
	assert_chosen(4, INFINITY, 0.1, RAW);
	for (double mbit = 10; mbit < 1e6; mbit *= 3) { /* no choice is predicted to be slower than raw */
		const struct crumb_auto_setting s = setting_of(8);
		struct crumb_auto_measured x = measured_of(mbit, 0.01);
		const struct crumb_auto_choice plain = crumb_auto_plain(&s, &x);
		x.step = crumb_auto_predict(&s, &x, &plain);
		const struct crumb_auto_choice choice = crumb_auto_choose(&s, &x, &plain, 0);
		assert_true(crumb_auto_predict(&s, &x, &choice) <= x.step);
		double best = x.step;
		for (enum crumb_auto_way way = 0; way < CRUMB_AUTO_TIERS; way++)
			for (unsigned char m = 0; m < CRUMB_AUTO_MENU; m++) {
				const struct crumb_auto_choice fixed = choice_of(way, m);
				best = fmin(best, crumb_auto_predict(&s, &x, &fixed));
			}
		assert_true(crumb_auto_predict(&s, &x, &choice) <= 1.06 * best);
	}
}

/* A less gentle codec is not taken for a few per cent. */
static void gentle_comes_first(void **state)
{
	(void)state;
	const struct crumb_auto_setting s = setting_of(4);
	for (int worth = 0; worth < 2; worth++) {
		struct crumb_auto_measured x = measured_of(100, 0.01);
		x.price[TERNGRAD][CRUMB_FC].bytes = 10;
		x.price[ADACOMP][CRUMB_FC].bytes = worth ? 2.6 : 2.95; /* up and down; half goes up only */
		const struct crumb_auto_choice plain = crumb_auto_plain(&s, &x);
		x.step = crumb_auto_predict(&s, &x, &plain);
		const struct crumb_auto_choice choice = crumb_auto_choose(&s, &x, &plain, 0);
		assert_int_equal(choice.menu[CRUMB_FC] != HALF, worth);
	}
}

/* A measured step counts more than a predicted one. */
static void a_choice_that_does_not_help_is_left(void **state)
{
	(void)state;
	const struct crumb_auto_setting s = setting_of(4);
	struct crumb_auto_measured x = measured_of(100, 0.01);
	const struct crumb_auto_choice plain = crumb_auto_plain(&s, &x);
	const double raw = crumb_auto_predict(&s, &x, &plain), extra = 0.03;
	x.step = raw + extra; /* all ranks on one CPU, say */
	const struct crumb_auto_choice first = crumb_auto_choose(&s, &x, &plain, extra);
	assert_false(crumb_auto_same(&s, &first, &plain));
	x.step = crumb_auto_predict(&s, &x, &first) + extra;
	struct crumb_auto_choice then = crumb_auto_choose(&s, &x, &first, extra);
	assert_true(crumb_auto_same(&s, &then, &first));
	x.step = 1.01 * (raw + extra);
	then = crumb_auto_choose(&s, &x, &first, extra);
	assert_true(crumb_auto_same(&s, &then, &plain));
	x.step = 0.99 * (raw + extra);
	then = crumb_auto_choose(&s, &x, &first, extra);
	assert_true(crumb_auto_same(&s, &then, &first));

	/* Time that all ways have in common leaves less to gain. */
	x = measured_of(1000, 0.01);
	x.step = crumb_auto_predict(&s, &x, &plain) + 10;
	then = crumb_auto_choose(&s, &x, &plain, 10);
	assert_true(crumb_auto_same(&s, &then, &plain));
}

/* Between lengths time is linear, beyond them the rate stays. */
static void a_rate_goes_by_length(void **state)
{
	(void)state;
	struct crumb_link link = {.latency = 0.1, .wire = {1, 2, 4, 8, 16, 32}};
	assert_true(crumb_link_rate(&link, 100) == LINK_FIRST);
	assert_true(crumb_link_rate(&link, LINK_FIRST) == LINK_FIRST);
	assert_true(crumb_link_rate(&link, 4.0 * LINK_FIRST) == 2.0 * LINK_FIRST);
	assert_true(fabs(crumb_link_rate(&link, 2.5 * LINK_FIRST) / (2.5 / 1.5 * LINK_FIRST) - 1) < 1e-12);
	assert_true(crumb_link_rate(&link, 1e12) == 32.0 * LINK_FIRST);
	link = crumb_link_even(INFINITY, 0);
	assert_true(isinf(crumb_link_rate(&link, 1)) && isinf(crumb_link_rate(&link, 1e6)));
	link = crumb_link_even(1e6, 0);
	for (double bytes = 1; bytes < 1e10; bytes *= 3)
		assert_true(fabs(crumb_link_rate(&link, bytes) / 1e6 - 1) < 1e-12);
}

static void the_slowest_counts(void **state)
{
	(void)state;
	struct crumb_auto_measured each[3] = {measured_of(100, 1), measured_of(10, 2),
	                                      measured_of(1000, 0.5)};
	each[2].link.latency = 1;
	each[0].threads = 2;
	each[2].price[TERNGRAD][CRUMB_FC].pack = 7;
	const struct crumb_auto_measured all = crumb_auto_slowest(each, 3);
	assert_true(crumb_link_rate(&all.link, 1e6) == crumb_link_rate(&each[1].link, 1e6) &&
	            all.compute == 2 && all.link.latency == 1 && all.threads == 1);
	assert_true(all.price[TERNGRAD][CRUMB_FC].pack == 7);
}

/* The oracle looks at every owner for each slice. */
static void the_share_is_the_heaviest_owners(void **state)
{
	static const size_t owners[] = {1, 2, 3, 7, 64, 101};
	struct crumb_slice slice[100] = {{0}};
	(void)state;
	for (size_t s = 0; s < 100; s++)
		slice[s].n = s * 7919 % 1009 + 1;
	for (size_t o = 0; o < sizeof owners / sizeof *owners; o++) {
		size_t owned[101] = {0}, heaviest = 0, all = 0;
		for (size_t s = 0; s < 100; s++) {
			size_t least = 0;
			for (size_t k = 1; k < owners[o]; k++)
				least = owned[k] < owned[least] ? k : least;
			owned[least] += slice[s].n;
			heaviest = owned[least] > heaviest ? owned[least] : heaviest;
			all += slice[s].n;
		}
		assert_true(crumb_slices_share(slice, 100, owners[o]) == (double)heaviest / (double)all);
	}
}

static void a_choice_is_policies(void **state)
{
	(void)state;
	const struct crumb_auto_setting s = setting_of(4);
	struct policy up, down, menu;
	bool exact;
	struct crumb_auto_choice choice = choice_of(CRUMB_AUTO_SHARD_PACKED, ADACOMP);
	choice.menu[CRUMB_CONV] = TERNGRAD;
	assert_string_equal(crumb_auto_plan(&choice)->name, "shard");
	crumb_auto_policies(&s, &choice, &up, &down, &exact);
	assert_false(exact);
	for (size_t m = 0; crumb_auto_menu(m); m++)
		assert_int_equal(crumb_policy_parse(&menu, crumb_auto_menu(m), NULL), 0);
	assert_memory_equal(&up.codec[CRUMB_FC], &menu.codec[CRUMB_FC], sizeof(crumb_codec));
	assert_memory_equal(&down.codec[CRUMB_FC], &menu.codec[CRUMB_FC], sizeof(crumb_codec));
	assert_memory_equal(&down.codec[CRUMB_CONV], &menu.codec[CRUMB_BIAS], sizeof(crumb_codec));
	choice.way = CRUMB_AUTO_GATHER;
	crumb_auto_policies(&s, &choice, &up, &down, &exact);
	assert_true(exact);
	assert_string_equal(crumb_auto_plan(&choice)->name, "gather");
}

/* Prices are of the steps that were timed, and too dear if none was. */
static void gradients_that_are_not_finite_have_no_price(void **state)
{
	enum { COUNT = 1000600 };
	float *grad = calloc(COUNT, sizeof *grad);
	const struct crumb_auto_setting s = setting_of(4);

	(void)state;
	assert_non_null(grad);
	for (size_t i = 0; i < COUNT; i++)
		grad[i] = (float)(i % 7) - 3;
	for (size_t timed = 0; timed < 2; timed++) {
		struct trial *trial = crumb_trial_open(&s, slices, 3);
		struct crumb_auto_measured x;
		assert_non_null(trial);
		for (size_t step = 0; step < TRIAL_STEPS; step++) {
			grad[0] = grad[500] = step < timed ? 1 : NAN;
			crumb_trial_step(trial, grad);
		}
		crumb_trial_prices(trial, &x);
		crumb_trial_close(trial);
		for (size_t m = 1; m < CRUMB_AUTO_MENU; m++) {
			const struct crumb_auto_price *price = &x.price[m][CRUMB_FC];
			if (timed)
				assert_true(price->pack > 0 && price->pack < 1 && price->bytes < 4);
			else
				assert_true(price->pack == 1);
		}
	}
	free(grad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(steps_are_predicted),
	        cmocka_unit_test(nodes_average_first),
	        cmocka_unit_test(a_link_decides),
	        cmocka_unit_test(gentle_comes_first),
	        cmocka_unit_test(a_choice_that_does_not_help_is_left),
	        cmocka_unit_test(a_rate_goes_by_length),
	        cmocka_unit_test(the_slowest_counts),
	        cmocka_unit_test(the_share_is_the_heaviest_owners),
	        cmocka_unit_test(a_choice_is_policies),
	        cmocka_unit_test(gradients_that_are_not_finite_have_no_price),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
