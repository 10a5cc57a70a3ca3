/* The exchange of a host program, by crumb_exchange.h alone: the means of plain learners, errors on all
 * ranks, states that go on, and a host that keeps its signals.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "tests/exchange_cases.h"
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "exchange/plan.h"
#include "exchange/seconds.h"

enum { RANKS = LEARNERS, MOST_FLOATS = 20000 };

/* One rank of a case: what it opens with, and what came of it. */
struct host {
	struct crumb_exchange_net *net;
	struct crumb_exchange_slice slice[SLICES];
	struct crumb_exchange_options options;
	struct crumb_exchange *x;
	unsigned rank, first, steps; /* takes steps [first, first + steps) */
	bool sick;                   /* its gradient of the first step has a NaN */
	bool absent;                 /* it opens, and does not take part */
	bool in_place;
	const void *saved; /* loads it before the first step */
	size_t saved_len;
	int opened, error;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	float grad[MOST_FLOATS], mean[MOST_FLOATS];
};

static void *host_main(void *arg)
{
	struct host *host = arg;

	host->opened = crumb_exchange_open(&host->x, host->net, host->slice, SLICES, &host->options,
	                                   host->why, sizeof host->why);
	if (host->opened || host->absent)
		return NULL;
	if (host->saved)
		host->error = crumb_exchange_load(host->x, host->saved, host->saved_len);
	for (unsigned step = host->first; step < host->first + host->steps && !host->error; step++) {
		float *mean = host->in_place ? host->grad : host->mean;
		make_gradient(host->grad, host->rank, step);
		if (host->sick && step == host->first)
			host->grad[total / 2] = NAN;
		host->error = crumb_exchange_mean(host->x, host->grad, mean);
		memcpy(host->mean, mean, total * sizeof *mean);
		snprintf(host->why, sizeof host->why, "%s", crumb_exchange_why(host->x));
	}
	return NULL;
}

static struct host *hosts(unsigned ranks, const char *policy, const char *plan)
{
	struct host *host = must(calloc(ranks, sizeof *host));
	struct crumb_exchange_net *net[RANKS] = {NULL};

	assert_int_equal(crumb_exchange_threads(net, ranks), 0);
	for (unsigned r = 0; r < ranks; r++) {
		host[r].net = net[r];
		host[r].rank = r;
		host[r].steps = STEPS;
		host[r].options = (struct crumb_exchange_options){.policy = policy,
		                                                  .plan = plan,
		                                                  .down = policy,
		                                                  .seed = CASE_SEED,
		                                                  .threads = 1 + r % 2};
		for (size_t s = 0; s < SLICES; s++)
			host[r].slice[s] = (struct crumb_exchange_slice){slices[s].n, slices[s].run,
			                                                 crumb_kind_name(slices[s].kind)};
	}
	return host;
}

static void run_hosts(struct host *host, unsigned ranks) { in_threads(host_main, host, sizeof *host, ranks); }

static void close_hosts(struct host *host, unsigned ranks)
{
	for (unsigned r = 0; r < ranks; r++)
		crumb_exchange_close(host[r].x);
	free(host);
}

/* The last mean of an exchange of all learners in one thread, with slices cut as the plan wants, and the
 * squares that each learner then owes. */
static void expected_mean(const struct plan *plan, const char *text, float *mean, double *owed)
{
	const struct policy policy = parse_policy(text);
	struct crumb_slice cut[SLICES + MOST_FLOATS / 100];
	const struct crumb_exchange_config config = {
	        .slices = cut,
	        .slice_count = crumb_slices_cut(slices, SLICES, plan->longest_slice, cut),
	        .policy = &policy,
	        .down = &policy,
	        .plan = plan,
	        .learners = RANKS,
	        .seed = CASE_SEED};
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	float *grad[RANKS];

	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	for (unsigned l = 0; l < RANKS; l++)
		grad[l] = must(malloc(total * sizeof(float)));
	for (unsigned step = 0; step < STEPS; step++) {
		for (unsigned l = 0; l < RANKS; l++)
			make_gradient(grad[l], l, step);
		assert_int_equal(crumb_exchange_step(x, (const float *const *)grad, even_share, mean), 0);
	}
	for (unsigned l = 0; l < RANKS; l++) {
		free(grad[l]);
		owed[l] = 0;
		for (size_t s = 0; s < config.slice_count; s++) {
			const float *r = crumb_packer_residual(crumb_exchange_packer(x, l, s));
			for (size_t i = 0; r && i < cut[s].n; i++)
				owed[l] += (double)r[i] * (double)r[i];
		}
	}
	crumb_exchange_close(x);
}

static void the_mean_is_that_of_the_learners(void **state)
{
	const struct plan *plan;
	float expected[MOST_FLOATS];
	double owed[RANKS];

	(void)state;
	assert_true(total <= MOST_FLOATS);
	for (size_t p = 0; (plan = crumb_plan_list(p)) && plan->mean; p++)
		for (size_t i = 0; crumb_list(i); i++) {
			struct host *host = hosts(RANKS, crumb_list(i)->name, plan->name);
			struct crumb_exchange_stats stats;
			uint64_t sent = 0, received = 0;
			expected_mean(plan, crumb_list(i)->name, expected, owed);
			for (unsigned r = 0; r < RANKS; r++)
				host[r].in_place = p % 2;
			run_hosts(host, RANKS);
			for (unsigned r = 0; r < RANKS; r++) {
				assert_int_equal(host[r].opened, 0);
				assert_int_equal(host[r].error, 0);
				assert_memory_equal(host[r].mean, expected, total * sizeof *expected);
				crumb_exchange_stats(host[r].x, &stats);
				assert_int_equal(stats.steps, STEPS);
				assert_int_equal(stats.dense_bytes, STEPS * total * sizeof(float));
				sent += stats.sent_bytes;
				received += stats.received_bytes;
				assert_true(stats.check_seconds >= 0 && stats.pack_seconds >= 0 &&
				            stats.swap_seconds > 0 && stats.unpack_seconds > 0);
				if (plan->between && r > 0)
					continue; /* the threads are one node, whose first rank packs */
				assert_true(stats.frame_bytes > 0 &&
				            stats.frame_bytes < stats.sent_bytes * RANKS);
				if (!plan->between)
					assert_true(fabs(stats.residual_norm - sqrt(owed[r])) <=
					            1e-12 * stats.residual_norm);
				assert_true((crumb_list(i)->flags & CRUMB_CODEC_RESIDUAL)
				                    ? stats.residual_norm > 0
				                    : stats.residual_norm == 0);
				const struct plan *packing = plan->between ? plan->between : plan;
				assert_int_equal(stats.down_bytes > 0, packing->assign != NULL);
			}
			assert_true(sent > 0 && sent == received);
			close_hosts(host, RANKS);
		}
}

/* The first rank of each node packs. */
static void nodes_have_as_many_ranks_as_was_said(void **state)
{
	struct crumb_exchange_stats stats;

	(void)state;
	for (unsigned size = 0; size <= RANKS; size++) { /* 0: threads are one node */
		struct host *host = hosts(RANKS, "adacomp", "tiers");
		for (unsigned r = 0; r < RANKS; r++)
			host[r].options.node_size = size;
		run_hosts(host, RANKS);
		for (unsigned r = 0; r < RANKS; r++) {
			if (size && RANKS % size) {
				assert_int_equal(host[r].opened, CRUMB_EINVAL);
				assert_non_null(strstr(host[r].why, "no nodes of"));
				continue;
			}
			assert_int_equal(host[r].error, 0);
			crumb_exchange_stats(host[r].x, &stats);
			assert_int_equal(stats.frame_bytes > 0, r % (size ? size : RANKS) == 0);
		}
		close_hosts(host, RANKS);
	}
}

/* With raw, a mean is the sum of products with 1/N in rank order. */
static void raw_is_an_all_reduce(void **state)
{
	struct host *host = hosts(RANKS, NULL, NULL);

	(void)state;
	run_hosts(host, RANKS);
	for (size_t i = 0; i < total; i++) {
		float sum = 0;
		for (unsigned r = 0; r < RANKS; r++)
			sum += even_share[r] * host[r].grad[i];
		assert_memory_equal(&host[1].mean[i], &sum, sizeof sum);
	}
	close_hosts(host, RANKS);
}

/* ---- errors --------------------------------------------------------------------------------- */

/* Every rank returns the error, and has a line that says why. */
static void assert_refused(struct host *host, unsigned odd, int error, const char *why)
{
	run_hosts(host, RANKS);
	for (unsigned r = 0; r < RANKS; r++) {
		assert_int_equal(host[r].opened, error);
		assert_null(host[r].x);
		assert_true(strlen(host[r].why) > 0);
	}
	if (!strstr(host[odd].why, why))
		fail_msg("\"%s\" does not say \"%s\"", host[odd].why, why);
	close_hosts(host, RANKS);
}

static void what_one_rank_cannot_open_none_does(void **state)
{
	(void)state;
	for (unsigned odd = 0; odd < RANKS; odd++) {
		struct host *host = hosts(RANKS, "adacomp", "shard");
		host[odd].options.policy = "adacomp:bin=x";
		assert_refused(host, odd, CRUMB_ESPEC, "\"x\"");
		host = hosts(RANKS, "adacomp", "shard");
		host[odd].options.timeout = -1;
		assert_refused(host, odd, CRUMB_EINVAL, "a timeout of -1 seconds");
		host = hosts(RANKS, "adacomp", "shard");
		host[odd].options.plan = "tree";
		assert_refused(host, odd, CRUMB_EINVAL, "\"tree\"");
		host = hosts(RANKS, "adacomp", "shard");
		host[odd].options.plan = "dist_async";
		assert_refused(host, odd, CRUMB_EINVAL, "plan async is for a trainer");
		host = hosts(RANKS, "adacomp", "shard");
		host[odd].slice[3].kind = "convolution";
		assert_refused(host, odd, CRUMB_EINVAL, "slice 3");
		host = hosts(RANKS, "adacomp", "shard");
		host[odd].slice[3].kind = NULL;
		assert_refused(host, odd, CRUMB_EINVAL, "slice 3");
		host = hosts(RANKS, "adacomp", "shard");
		host[odd].slice[3].n = SIZE_MAX;
		assert_refused(host, odd, CRUMB_EINVAL, "slice 3 is too long");
		host = hosts(RANKS, "adacomp", "shard");
		host[odd].slice[2].run = 7;
		assert_refused(host, odd, CRUMB_EFRAME, "another slice table");
		host = hosts(RANKS, "adacomp", "shard");
		host[odd].options.seed++;
		assert_refused(host, odd, CRUMB_EFRAME, "seed");
		host = hosts(RANKS, "adacomp", "shard");
		host[odd].options.model = "another";
		assert_refused(host, odd, CRUMB_EFRAME, "model");
		host = hosts(RANKS, "adacomp", "tiers-shard");
		for (unsigned r = 0; r < RANKS; r++)
			host[r].options.node_size = 2;
		host[odd].options.down = "half";
		assert_refused(host, odd, CRUMB_EFRAME, "codec");
	}
}

static void each_rank_has_its_own_error_and_line(void **state)
{
	struct host *host = hosts(RANKS, "adacomp", "shard");

	(void)state;
	host[1].options.plan = "tree";
	host[2].options.policy = "sgn";
	run_hosts(host, RANKS);
	assert_int_equal(host[0].opened, CRUMB_EINVAL);
	assert_non_null(strstr(host[0].why, "rank 1"));
	assert_int_equal(host[1].opened, CRUMB_EINVAL);
	assert_non_null(strstr(host[1].why, "\"tree\""));
	assert_int_equal(host[2].opened, CRUMB_ESPEC);
	assert_non_null(strstr(host[2].why, "\"sgn\""));
	close_hosts(host, RANKS);
}

static void a_nan_skips_the_step(void **state)
{
	(void)state;
	struct host *host = hosts(RANKS, "twobit", "gather");
	struct crumb_exchange_stats stats;
	float *before = must(malloc(total * sizeof *before));

	host[2].sick = true;
	for (unsigned r = 0; r < RANKS; r++) {
		host[r].in_place = true;
		host[r].steps = 1;
	}
	run_hosts(host, RANKS);
	make_gradient(before, 1, 0);
	for (unsigned r = 0; r < RANKS; r++) {
		assert_int_equal(host[r].error, CRUMB_ENONFINITE);
		assert_non_null(strstr(host[r].why, "rank 2"));
		crumb_exchange_stats(host[r].x, &stats);
		assert_int_equal(stats.skipped, 1);
		assert_true(stats.residual_norm == 0);
	}
	assert_memory_equal(host[1].mean, before, total * sizeof *before);
	free(before);
	close_hosts(host, RANKS);
}

static void an_absent_rank_is_waited_for_no_longer_than_the_timeout(void **state)
{
	struct host *host = hosts(RANKS, "sign", "gather");

	(void)state;
	host[1].absent = true;
	for (unsigned r = 0; r < RANKS; r++)
		host[r].options.timeout = 1;
	const double begin = crumb_seconds();
	run_hosts(host, RANKS);
	assert_true(crumb_seconds() - begin < 8); /* what a loaded machine takes more */
	for (unsigned r = 0; r < RANKS; r++)
		assert_int_equal(host[r].error, r == 1 ? 0 : CRUMB_EPEER);
	close_hosts(host, RANKS);
}

static void who_has_closed_is_not_waited_for(void **state)
{
	struct host *host = hosts(2, "raw", "gather");
	pthread_t thread;

	(void)state;
	host[0].options.timeout = 20;
	host[1].steps = 1;
	assert_int_equal(pthread_create(&thread, NULL, host_main, &host[0]), 0);
	host_main(&host[1]);
	crumb_exchange_close(host[1].x);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(host[0].error, CRUMB_EPEER);
	assert_non_null(strstr(host[0].why, "rank 1 has left"));
	host[1].x = NULL;
	close_hosts(host, 2);
}

/* ---- save and load -------------------------------------------------------------------------- */

static void *save(const struct crumb_exchange *x, size_t *len)
{
	*len = crumb_exchange_save(x, NULL, 0);
	uint8_t *saved = must(malloc(*len));

	saved[0] = 1;
	assert_int_equal(crumb_exchange_save(x, saved, *len - 1), *len);
	assert_int_equal(saved[0], 1);
	assert_int_equal(crumb_exchange_save(x, saved, *len), *len);
	return saved;
}

static void a_saved_exchange_goes_on(void **state)
{
	static const char *const policies[] = {"adacomp", "twobit:threshold=auto", "terngrad:shared=1", "alq",
	                                       "qsgd"};
	const struct plan *plan;

	(void)state;
	for (size_t p = 0; (plan = crumb_plan_list(p)) && plan->mean; p++)
		for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
			struct host *whole = hosts(RANKS, policies[i], plan->name);
			struct host *begin = hosts(RANKS, policies[i], plan->name);
			struct host *end = hosts(RANKS, policies[i], plan->name);
			void *saved[RANKS];
			run_hosts(whole, RANKS);
			for (unsigned r = 0; r < RANKS; r++) {
				begin[r].steps = end[r].first = 2;
				end[r].steps = STEPS - 2;
			}
			run_hosts(begin, RANKS);
			for (unsigned r = 0; r < RANKS; r++)
				end[r].saved = saved[r] = save(begin[r].x, &end[r].saved_len);
			run_hosts(end, RANKS);
			for (unsigned r = 0; r < RANKS; r++) {
				assert_int_equal(end[r].error, 0);
				assert_memory_equal(end[r].mean, whole[r].mean, total * sizeof(float));
				free(saved[r]);
			}
			close_hosts(whole, RANKS);
			close_hosts(begin, RANKS);
			close_hosts(end, RANKS);
		}
}

static void what_was_not_saved_by_this_rank_is_refused(void **state)
{
	struct host *host = hosts(2, "adacomp", "shard"), *other = hosts(2, "adacomp", "gather");
	size_t len, other_len, after_len;

	(void)state;
	run_hosts(host, 2);
	run_hosts(other, 2);
	uint8_t *saved = save(host[0].x, &len), *others = save(other[0].x, &other_len);
	assert_int_equal(crumb_exchange_load(host[1].x, saved, len), CRUMB_EPACKER);
	assert_non_null(strstr(crumb_exchange_why(host[1].x), "saved by rank 0 of 2, not rank 1 of 2"));
	assert_int_equal(crumb_exchange_load(host[0].x, others, other_len), CRUMB_EPACKER);
	assert_non_null(strstr(crumb_exchange_why(host[0].x), "another plan"));
	for (size_t cut = 0; cut < len; cut += 1 + cut / 4)
		assert_int_equal(crumb_exchange_load(host[0].x, saved, cut), CRUMB_EPACKER);
	for (size_t at = 0; at < len; at += at < 64 ? 1 : 997) {
		saved[at] ^= 4;
		const int error = crumb_exchange_load(host[0].x, saved, len);
		assert_int_equal(error, at / 4 == 1 ? CRUMB_EVERSION : CRUMB_EPACKER);
		saved[at] ^= 4;
	}
	assert_int_equal(crumb_exchange_load(host[0].x, saved, len), 0);
	uint8_t *after = save(host[0].x, &after_len);
	assert_int_equal(after_len, len);
	assert_memory_equal(after, saved, len);
	free(saved);
	free(others);
	free(after);
	close_hosts(host, 2);
	close_hosts(other, 2);
}

static void ranks_that_load_different_steps_are_refused(void **state)
{
	struct host *host = hosts(2, "sign", "gather"), *again = hosts(2, "sign", "gather");

	(void)state;
	run_hosts(host, 2);
	again[1].saved = save(host[1].x, &again[1].saved_len);
	run_hosts(again, 2);
	for (unsigned r = 0; r < 2; r++) {
		assert_int_equal(again[r].error, CRUMB_EFRAME);
		assert_non_null(strstr(again[r].why, "step"));
	}
	free((void *)again[1].saved);
	close_hosts(host, 2);
	close_hosts(again, 2);
}

/* ---- policy, signals ------------------------------------------------------------------------ */

static void a_policy_is_asked(void **state)
{
	const char *text = "conv=adacomp:bin=50;fc=sign", *bad = NULL;
	crumb_codec codec;
	char spec[CRUMB_SPEC_MAX];
	static const struct {
		const char *kind;
		size_t n;
		const char *spec;
	} answers[] = {{"conv", 1000, "adacomp"}, {"last", 1000, "sign"},        {"bias", 1000, "raw"},
	               {"conv", 1, "raw"},        {"conv", SIZE_MAX, "adacomp"}, {"bias", SIZE_MAX, "raw"}};

	(void)state;
	for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
		assert_int_equal(crumb_exchange_policy(&codec, text, answers[i].kind, answers[i].n, NULL), 0);
		assert_true(crumb_print(&codec, spec, sizeof spec) > 0);
		assert_memory_equal(spec, answers[i].spec, strlen(answers[i].spec));
	}
	assert_int_equal(crumb_exchange_policy(&codec, NULL, "fc", 1000, &bad), 0);
	assert_true(crumb_print(&codec, spec, sizeof spec) > 0);
	assert_string_equal(spec, "raw");
	assert_int_equal(crumb_exchange_policy(&codec, text, "dense", 1000, &bad), CRUMB_EINVAL);
	assert_int_equal(crumb_exchange_policy(&codec, text, NULL, 1000, &bad), CRUMB_EINVAL);
	assert_int_equal(crumb_exchange_policy(&codec, "conv=sgn", "fc", 1000, &bad), CRUMB_ESPEC);
	assert_string_equal(bad, "gn");
}

/* A signal for the process that this thread blocks stays pending: no thread of the exchange takes it. */
static void signals_are_the_hosts(void **state)
{
	struct crumb_exchange_slice slice = {100, 0, "fc"};
	const struct crumb_exchange_options options = {.threads = 4};
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	sigset_t term, before, pending;
	int taken;

	(void)state;
	assert_int_equal(crumb_exchange_open(&x, NULL, &slice, 1, &options, why, sizeof why), 0);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, &before);
	kill(getpid(), SIGTERM);
	nanosleep(&(struct timespec){0, 20000000}, NULL);
	sigpending(&pending);
	assert_true(sigismember(&pending, SIGTERM));
	assert_int_equal(sigwait(&term, &taken), 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	crumb_exchange_close(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_mean_is_that_of_the_learners),
	        cmocka_unit_test(raw_is_an_all_reduce),
	        cmocka_unit_test(nodes_have_as_many_ranks_as_was_said),
	        cmocka_unit_test(what_one_rank_cannot_open_none_does),
	        cmocka_unit_test(each_rank_has_its_own_error_and_line),
	        cmocka_unit_test(a_nan_skips_the_step),
	        cmocka_unit_test(an_absent_rank_is_waited_for_no_longer_than_the_timeout),
	        cmocka_unit_test(who_has_closed_is_not_waited_for),
	        cmocka_unit_test(a_saved_exchange_goes_on),
	        cmocka_unit_test(what_was_not_saved_by_this_rank_is_refused),
	        cmocka_unit_test(ranks_that_load_different_steps_are_refused),
	        cmocka_unit_test(a_policy_is_asked),
	        cmocka_unit_test(signals_are_the_hosts),
	};
	place_slices();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
