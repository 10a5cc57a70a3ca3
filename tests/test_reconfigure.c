/* An exchange that changes between steps, and the tuner.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "exchange/exchange.h"
#include "exchange/plan.h"
#include "exchange/policy.h"
#include "exchange/transport.h"
#include "exchange/auto/tuner.h"

enum { SLICES = 4, LEARNERS = 4, STEPS = 16, MOST_RANKS = 4, TOTAL = 300 + 20 + 4099 + 1000 };

static const struct crumb_slice slices[SLICES] = {{0, 300, 25, CRUMB_CONV},
                                                  {300, 20, 0, CRUMB_BIAS},
                                                  {320, 4099, 0, CRUMB_FC},
                                                  {4419, 1000, 100, CRUMB_KIND_LAST}};
static const float share[LEARNERS] = {0.3f, 0.3f, 0.2f, 0.2f};

static void make_gradient(float *grad, size_t learner, size_t step)
{
	uint64_t x = crumb_exchange_seed(9, learner, step);
	for (size_t i = 0; i < TOTAL; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		grad[i] = (float)((double)(x >> 40) * 0x1p-24 - 0.5) * (i % 7 ? 0.01f : 0.3f);
	}
}

struct rank {
	struct crumb_exchange_net *net;
	void (*steps)(struct rank *rank, struct crumb_exchange_config *config);
	const char *script;
	float mean[STEPS][TOTAL];
	double owed;
	int error[STEPS];
};

static void *rank_main(void *arg)
{
	struct rank *rank = arg;
	struct crumb_exchange_config config = {
	        .slices = slices, .slice_count = SLICES, .learners = LEARNERS, .seed = 1, .net = rank->net};
	config.node_size = rank->net->ranks % 2 ? 1 : rank->net->ranks / 2;
	rank->steps(rank, &config);
	return NULL;
}

static struct rank *run(unsigned ranks, void (*steps)(struct rank *, struct crumb_exchange_config *),
                        const char *script)
{
	struct rank *rank = calloc(ranks, sizeof *rank);
	struct crumb_exchange_net *net[MOST_RANKS];
	pthread_t thread[MOST_RANKS];
	assert_non_null(rank);
	assert_int_equal(crumb_exchange_threads(net, ranks), 0);
	for (unsigned r = 0; r < ranks; r++) {
		rank[r].net = net[r];
		rank[r].steps = steps;
		rank[r].script = script;
		assert_int_equal(pthread_create(&thread[r], NULL, rank_main, &rank[r]), 0);
	}
	for (unsigned r = 0; r < ranks; r++)
		pthread_join(thread[r], NULL);
	crumb_threads_close(net, ranks);
	for (unsigned r = 1; r < ranks; r++) {
		assert_memory_equal(rank[r].mean, rank[0].mean, sizeof rank->mean);
		assert_memory_equal(rank[r].error, rank[0].error, sizeof rank->error);
		rank[0].owed += rank[r].owed;
	}
	return rank;
}

static void open_gradients(float **grad)
{
	for (size_t l = 0; l < LEARNERS; l++)
		if (!(grad[l] = malloc(TOTAL * sizeof **grad)))
			abort();
}

static void close_gradients(float **grad)
{
	for (size_t l = 0; l < LEARNERS; l++)
		free(grad[l]);
}

/* ---- change --------------------------------------------------------------------------------- */

static const struct {
	const char *plan, *up, *down;
} way[] = {
        {"gather", "adacomp", NULL},       {"shard", "twobit:threshold=auto", "strom:threshold=auto"},
        {"gather", "seide", NULL},         {"server", "conv=sign;fc=topk;last=raw", "sign"},
        {"tiers", "adacomp", NULL},        {"tiers-shard", "twobit:threshold=auto", "strom:threshold=auto"},
        {"shard", "adacomp:bin=20", NULL}, {"gather", "raw", NULL}};
enum { WAYS = sizeof way / sizeof *way, NAN_STEP = 4 };

/* Changes the way before every second step; the last steps go raw. A step right after a change is skipped. */
static void change_steps(struct rank *rank, struct crumb_exchange_config *config)
{
	struct crumb_exchange *x = NULL;
	struct crumb_slice part[SLICES];
	float *grad[LEARNERS];
	char why[CRUMB_EXCHANGE_WHY_MAX];
	size_t first, own;
	for (size_t s = 0; s < SLICES; s++)
		part[s] = slices[s];
	open_gradients(grad);
	for (size_t step = 0; step < STEPS; step++) {
		struct policy up, down;
		crumb_policy_parse(&up, way[step / 2].up, NULL);
		crumb_policy_parse(&down, way[step / 2].down ? way[step / 2].down : "raw", NULL);
		config->plan = crumb_plan_find(way[step / 2].plan);
		config->policy = &up;
		config->down = way[step / 2].down ? &down : NULL;
		config->slices = step / 2 % 2 ? part : slices;
		if (step % 2 == 0 && (x ? crumb_exchange_change(x, config, why, sizeof why)
		                        : crumb_exchange_start(&x, config, why, sizeof why)))
			abort();
		crumb_exchange_learners(x, &first, &own);
		for (size_t l = 0; l < own; l++) {
			make_gradient(grad[l], first + l, step);
			if (step == NAN_STEP && first + l == 2)
				grad[l][7] = NAN;
		}
		rank->error[step] =
		        crumb_exchange_step(x, (const float *const *)grad, share, rank->mean[step]);
		if (rank->error[step])
			memset(rank->mean[step], 0, sizeof rank->mean[step]);
	}
	for (size_t l = 0; l < own; l++)
		rank->owed += crumb_exchange_owed(x, l);
	struct exchange_stats stats;
	crumb_exchange_read_stats(x, &stats);
	if (stats.steps != STEPS - 1 || stats.skipped != 1)
		abort();
	crumb_exchange_close(x);
	close_gradients(grad);
}

/* The means of all steps are the gradients of all steps. */
static void nothing_is_lost(void **state)
{
	(void)state;
	for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
		struct rank *rank = run(ranks, change_steps, NULL);
		static double left[TOTAL];
		float *grad = malloc(TOTAL * sizeof *grad);
		memset(left, 0, sizeof left);
		for (size_t step = 0; step < STEPS; step++) {
			assert_int_equal(rank->error[step], step == NAN_STEP ? CRUMB_ENONFINITE : 0);
			for (size_t l = 0; l < LEARNERS; l++) {
				make_gradient(grad, l, step);
				for (size_t i = 0; i < TOTAL && step != NAN_STEP; i++)
					left[i] += (double)share[l] * (double)grad[i];
			}
			for (size_t i = 0; i < TOTAL; i++)
				left[i] -= (double)rank->mean[step][i];
		}
		assert_true(rank->owed == 0);
		free(grad);
		double worst = 0;
		for (size_t i = 0; i < TOTAL; i++)
			worst = fmax(worst, fabs(left[i]));
		if (!(worst < 1e-6))
			fail_msg("%u ranks: off by %g", ranks, worst);
		free(rank);
	}
}

/* With momentum m weights will still move by what is owed, and by m / (1 - m) of the velocity. After a change
 * the optimizer has the momentum: it moves them by 1 / (1 - m) of a gradient. */
static void momentum_goes_on(void **state)
{
	const double m = 0.75;
	struct policy dgc;
	struct crumb_exchange_config config = {
	        .slices = slices, .slice_count = SLICES, .policy = &dgc, .learners = LEARNERS, .seed = 1};
	struct crumb_exchange *x;
	float *grad[LEARNERS], mean[TOTAL];
	double moves[TOTAL] = {0};
	char why[CRUMB_EXCHANGE_WHY_MAX];
	(void)state;
	open_gradients(grad);
	assert_int_equal(crumb_policy_parse(&dgc, "dgc:momentum=0.75,fraction=0.01", NULL), 0);
	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	for (size_t step = 0; step < STEPS; step++) {
		for (size_t l = 0; l < LEARNERS; l++)
			make_gradient(grad[l], l, step);
		assert_int_equal(crumb_exchange_step(x, (const float *const *)grad, share, mean), 0);
	}
	for (size_t l = 0; l < LEARNERS; l++)
		for (size_t s = 0; s < SLICES; s++) {
			crumb_packer *packer = crumb_exchange_packer(x, l, s);
			const float *owed = crumb_packer_residual(packer), *u = crumb_packer_velocity(packer);
			for (size_t i = 0; owed && i < slices[s].n; i++)
				moves[slices[s].at + i] +=
				        (double)share[l] * ((double)owed[i] + m / (1 - m) * (double)u[i]);
		}
	config.policy = NULL;
	assert_int_equal(crumb_exchange_change(x, &config, why, sizeof why), 0);
	for (size_t l = 0; l < LEARNERS; l++)
		memset(grad[l], 0, TOTAL * sizeof **grad);
	assert_int_equal(crumb_exchange_step(x, (const float *const *)grad, share, mean), 0);
	for (size_t i = 0; i < TOTAL; i++)
		if (fabs((double)mean[i] / (1 - m) - moves[i]) > 1e-5)
			fail_msg("element %zu moves by %g, not %g", i, (double)mean[i] / (1 - m), moves[i]);
	crumb_exchange_close(x);
	close_gradients(grad);
}

static void what_cannot_change_stays(void **state)
{
	(void)state;
	const struct policy *none = NULL;
	struct crumb_exchange_config config = {
	        .slices = slices, .slice_count = SLICES, .policy = none, .learners = LEARNERS, .seed = 1};
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	float *grad[LEARNERS], mean[TOTAL];
	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	config.learners = 2;
	assert_int_equal(crumb_exchange_change(x, &config, why, sizeof why), CRUMB_EINVAL);
	config.learners = LEARNERS;
	config.slice_count = SLICES - 1;
	assert_int_equal(crumb_exchange_change(x, &config, why, sizeof why), CRUMB_EINVAL);
	open_gradients(grad);
	for (size_t l = 0; l < LEARNERS; l++)
		make_gradient(grad[l], l, 0);
	assert_int_equal(crumb_exchange_step(x, (const float *const *)grad, share, mean), 0);
	close_gradients(grad);
	crumb_exchange_close(x);
}

/* ---- scripts and the tuner ------------------------------------------------------------------ */

static void scripts_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int at; /* of the offending character; -1: there is none */
	} all[] = {{"auto", -1},
	           {"auto|0 gather exact raw", -1},
	           {"auto|4 shard exact terngrad:shared=1|40 gather exact conv=adacomp:bin=50;fc=half", -1},
	           {"auto|4 dist_sync half twobit:threshold=0.25", -1},
	           {"auto|", 5},
	           {"auto|x", 5},
	           {"auto|4", 6},
	           {"auto|4 tree exact raw", 7},
	           {"auto|4 shard exakt raw", 13},
	           {"auto|4 shard twobit:x raw", 20},
	           {"auto|4 shard exact", 18},
	           {"auto|4 shard exact row", 20},
	           {"auto|4 shard exact raw raw", 23},
	           {"auto|4 shard exact raw|4 gather exact raw", 23}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		static struct crumb_script script;
		const char *bad = all[i].text;
		const int error = crumb_script_parse(&script, all[i].text, &bad);
		assert_true(crumb_script_meant(all[i].text));
		if (error ? bad != all[i].text + all[i].at : all[i].at >= 0)
			fail_msg("%s: %d, at %d", all[i].text, error, (int)(bad - all[i].text));
	}
	assert_false(crumb_script_meant("automatic") || crumb_script_meant("raw") ||
	             crumb_script_meant("aut"));
}

static char scripts[MOST_RANKS][4096], lines[MOST_RANKS][512];

static void tuned_steps(struct rank *rank, struct crumb_exchange_config *config)
{
	static const char automatic[] = "auto";
	struct crumb_exchange *x = NULL;
	struct crumb_tuner *tuner = NULL;
	struct crumb_script *script = malloc(sizeof *script);
	const char *bad;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	float *grad[LEARNERS];
	size_t first, own;
	int choices = 0;
	const char *text = rank->script ? rank->script : automatic;
	if (!script || crumb_script_parse(script, text, &bad) ||
	    crumb_tuner_open(&tuner, &x, config, script, why, sizeof why))
		abort();
	free(script);
	open_gradients(grad);
	crumb_exchange_learners(x, &first, &own);
	for (size_t step = 0; step < STEPS; step++) {
		for (size_t l = 0; l < own; l++)
			make_gradient(grad[l], first + l, step);
		const int chosen = crumb_tuner_step(tuner, (const float *const *)grad, why, sizeof why);
		choices += chosen;
		rank->error[step] = chosen < 0 ? chosen
		                               : crumb_exchange_step(x, (const float *const *)grad, share,
		                                                     rank->mean[step]);
	}
	const struct crumb_tuned *tuned = crumb_tuner_tell(tuner);
	snprintf(scripts[rank->net->rank], sizeof *scripts, "%s", tuned->script);
	snprintf(lines[rank->net->rank], sizeof *lines, "%s", tuned->line);
	rank->owed = choices;
	crumb_tuner_close(tuner);
	crumb_exchange_close(x);
	close_gradients(grad);
}

/* All ranks choose the same, and the choice, taken as a script, gives the same bits. */
static void a_choice_is_repeated(void **state)
{
	(void)state;
	for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
		struct rank *rank = run(ranks, tuned_steps, NULL);
		char script[4096];
		assert_true(rank->owed == ranks); /* one choice each */
		for (unsigned r = 1; r < ranks; r++) {
			assert_string_equal(scripts[r], scripts[0]);
			assert_string_equal(lines[r], lines[0]);
		}
		assert_non_null(strstr(lines[0], "auto, step 4: "));
		snprintf(script, sizeof script, "%s",
		         strcmp(scripts[0], "auto") ? scripts[0] : "auto|0 gather exact raw");
		struct rank *again = run(ranks, tuned_steps, script);
		assert_memory_equal(again->mean, rank->mean, sizeof rank->mean);
		assert_string_equal(scripts[0], script); /* a script reports itself */
		free(again);
		free(rank);
	}
}

static void a_script_is_followed(void **state)
{
	(void)state;
	static const char text[] =
	        "auto|2 shard exact conv,fc,last=terngrad:shared=1;bias=raw|5 gather exact "
	        "conv,fc,last=adacomp;bias=raw|11 shard exact raw";
	struct rank *one = run(1, tuned_steps, text), *three = run(3, tuned_steps, text),
	            *other = run(3, tuned_steps, "auto|1 gather exact raw");
	assert_memory_equal(one->mean, three->mean, sizeof one->mean);
	assert_string_equal(scripts[2], "auto|1 gather exact raw");
	assert_memory_equal(one->mean[1], other->mean[1], sizeof one->mean[1]);
	assert_memory_not_equal(one->mean[2], other->mean[2], sizeof one->mean[2]);
	free(one);
	free(three);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(nothing_is_lost),          cmocka_unit_test(momentum_goes_on),
	        cmocka_unit_test(what_cannot_change_stays), cmocka_unit_test(scripts_are_read),
	        cmocka_unit_test(a_choice_is_repeated),     cmocka_unit_test(a_script_is_followed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
