/* A host program's gradient that comes in parts, from its end on, while backward goes on (crumb_exchange.h).
 *
 * SPDX-License-Identifier: MIT */
#include "tests/exchange_cases.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/plan.h"

enum { LONG = 30000, MIDDLE = 20000, SHORT = 17000, ALL = LONG + MIDDLE + SHORT, RANKS = 2 };

/* One rank, whose gradient comes from its end on, or as a whole. */
struct parted {
	struct crumb_exchange_net *net;
	unsigned rank;
	const char *plan;
	int overlap;
	bool in_place;
	int opened, error[STEPS];
	float mean[STEPS][ALL];
};

static void *parted_main(void *arg)
{
	static const struct crumb_exchange_slice slice[] = {
	        {LONG, 100, "fc"}, {MIDDLE, 0, "lstm"}, {SHORT, 0, "last"}};
	static const size_t first[] = {ALL - 5, ALL - SHORT, LONG + 1, LONG, 77, 0};
	struct parted *parted = arg;
	const struct crumb_exchange_options options = {
	        .policy = "adacomp", .plan = parted->plan, .seed = 3, .overlap = parted->overlap};
	float *grad = must(malloc(ALL * sizeof *grad)), *all = must(malloc(ALL * sizeof *all));
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];

	parted->opened = crumb_exchange_open(&x, parted->net, slice, 3, &options, why, sizeof why);
	for (unsigned step = 0; step < STEPS && !parted->opened; step++) {
		float *mean = parted->in_place ? grad : parted->mean[step];
		size_t end = ALL;
		for (size_t i = 0; i < ALL; i++) {
			all[i] = sinf((float)(i * (step + 1) + 7 * parted->rank));
			grad[i] = NAN;
		}
		if (step == 1 && parted->rank == 1)
			all[0] = INFINITY;
		for (size_t k = 0; k < sizeof first / sizeof *first && parted->overlap; end = first[k++]) {
			memcpy(grad + first[k], all + first[k], (end - first[k]) * sizeof *all);
			parted->error[step] |= crumb_exchange_ready(x, grad, mean, first[k]);
		}
		if (!parted->overlap)
			memcpy(grad, all, ALL * sizeof *all);
		parted->error[step] |= crumb_exchange_mean(x, grad, mean);
		if (parted->in_place)
			memcpy(parted->mean[step], grad, sizeof parted->mean[step]);
	}
	if (!parted->opened)
		crumb_exchange_close(x);
	free(grad);
	free(all);
	return NULL;
}

static struct parted *run_parted(const char *plan, int overlap, bool in_place)
{
	struct parted *parted = must(calloc(RANKS, sizeof *parted));
	struct crumb_exchange_net *net[RANKS];

	assert_int_equal(crumb_exchange_threads(net, RANKS), 0);
	for (unsigned r = 0; r < RANKS; r++) {
		parted[r].net = net[r];
		parted[r].rank = r;
		parted[r].plan = plan;
		parted[r].overlap = overlap;
		parted[r].in_place = in_place;
	}
	in_threads(parted_main, parted, sizeof *parted, RANKS);
	for (unsigned r = 0; r < RANKS; r++) {
		assert_int_equal(parted[r].opened, 0);
		for (unsigned step = 0; step < STEPS; step++)
			assert_int_equal(parted[r].error[step], step == 1 ? CRUMB_ENONFINITE : 0);
	}
	return parted;
}

static void a_gradient_may_come_in_parts(void **state)
{
	const struct plan *plan;

	(void)state;
	for (size_t p = 0; (plan = crumb_plan_list(p)) && plan->mean; p++) {
		struct parted *whole = run_parted(plan->name, 0, false),
		              *parts = run_parted(plan->name, 1, p % 2);
		for (unsigned r = 0; r < RANKS; r++)
			for (unsigned step = 0; step < STEPS; step += 2)
				assert_memory_equal(parts[r].mean[step], whole[r].mean[step],
				                    sizeof parts[r].mean[step]);
		free(whole);
		free(parts);
	}
}

static void parts_of_another_gradient_are_refused(void **state)
{
	const struct crumb_exchange_slice slice = {SHORT, 0, "fc"};
	struct crumb_exchange_options options = {.overlap = 1};
	float *grad = must(calloc(2 * SHORT, sizeof *grad)), *mean = must(calloc(SHORT, sizeof *mean));
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];

	(void)state;
	assert_int_equal(crumb_exchange_open(&x, NULL, &slice, 1, &options, why, sizeof why), 0);
	assert_int_equal(crumb_exchange_ready(x, grad, mean, 100), 0);
	assert_int_equal(crumb_exchange_ready(x, grad + SHORT, mean, 0), CRUMB_EINVAL);
	assert_int_equal(crumb_exchange_mean(x, grad, mean), 0);
	assert_int_equal(crumb_exchange_ready(x, grad, mean, 100), 0);
	assert_int_equal(crumb_exchange_mean(x, grad + SHORT, mean), CRUMB_EINVAL);
	assert_non_null(strstr(crumb_exchange_why(x), "other arrays"));
	assert_int_equal(crumb_exchange_ready(x, grad, mean, 0), CRUMB_EINVAL); /* final */
	assert_int_equal(crumb_exchange_load(x, grad, sizeof *grad), CRUMB_EINVAL);
	assert_non_null(strstr(crumb_exchange_why(x), "other arrays"));
	crumb_exchange_close(x);
	options.overlap = 0;
	assert_int_equal(crumb_exchange_open(&x, NULL, &slice, 1, &options, why, sizeof why), 0);
	assert_int_equal(crumb_exchange_ready(x, grad, mean, 0), CRUMB_EINVAL);
	assert_non_null(strstr(crumb_exchange_why(x), "opened without overlap"));
	assert_int_equal(crumb_exchange_mean(x, grad, mean), 0);
	crumb_exchange_close(x);
	free(grad);
	free(mean);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_gradient_may_come_in_parts),
	        cmocka_unit_test(parts_of_another_gradient_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
