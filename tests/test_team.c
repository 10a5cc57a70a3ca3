/* The team: every index runs once, whatever the number of threads.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include "exchange/team.h"

enum { MOST = 1000, MOST_THREADS = 5 };

struct tally {
	unsigned ran[MOST]; /* not atomic: one thread has an index, and the end of a run orders the rest */
	atomic_uint strange_threads;
	unsigned threads;
	pthread_t caller;
};

static void count_index(void *arg, size_t i, unsigned thread)
{
	struct tally *tally = arg;

	tally->ran[i]++;
	if (thread >= tally->threads ||
	    (tally->threads == 1 && !pthread_equal(pthread_self(), tally->caller)))
		atomic_fetch_add(&tally->strange_threads, 1);
}

static void every_index_runs_once(void **state)
{
	static const size_t counts[] = {0, 1, 2, 3, 7, 64, MOST};

	(void)state;
	for (unsigned threads = 1; threads <= MOST_THREADS; threads++) {
		struct team *team = crumb_team_open(threads);
		assert_non_null(team);
		assert_int_equal(crumb_team_threads(team), threads);
		for (unsigned round = 0; round < 50; round++) {
			for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
				struct tally tally = {.threads = threads, .caller = pthread_self()};
				crumb_team_run(team, count_index, &tally, counts[c]);
				for (size_t i = 0; i < MOST; i++)
					assert_int_equal(tally.ran[i], i < counts[c]);
				assert_int_equal(tally.strange_threads, 0);
			}
		}
		crumb_team_close(team);
	}
}

static void no_team_is_the_caller(void **state)
{
	struct tally tally = {.threads = 1, .caller = pthread_self()};

	(void)state;
	assert_int_equal(crumb_team_threads(NULL), 1);
	crumb_team_run(NULL, count_index, &tally, 7);
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(tally.ran[i], i < 7);
	assert_int_equal(tally.strange_threads, 0);
	crumb_team_close(NULL);
	assert_null(crumb_team_open(0));
}

/* After a run the caller sees what its tasks wrote; tasks see what the caller wrote before it. */
static void add_one(void *arg, size_t i, unsigned thread)
{
	(void)thread;
	((unsigned *)arg)[i]++;
}

static void runs_see_each_other(void **state)
{
	unsigned value[MOST];
	struct team *team = crumb_team_open(3);

	(void)state;
	assert_non_null(team);
	for (unsigned i = 0; i < MOST; i++)
		value[i] = i;
	for (unsigned round = 0; round < 100; round++) {
		crumb_team_run(team, add_one, value, MOST);
		value[round] += 1000;
	}
	for (unsigned i = 0; i < MOST; i++)
		assert_int_equal(value[i], i + 100 + (i < 100 ? 1000 : 0));
	crumb_team_close(team);
}

/* A run ends when its last task has ended, in whichever thread. */
static void add_one_late(void *arg, size_t i, unsigned thread)
{
	for (atomic_uint wait = 0; atomic_fetch_add(&wait, 1) < 1000;)
		;
	if (i + 1 == MOST)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	add_one(arg, i, thread);
}

static void a_run_ends_with_its_last_task(void **state)
{
	(void)state;
	struct team *team = crumb_team_open(3);
	assert_non_null(team);
	for (int round = 0; round < 20; round++) {
		unsigned value[MOST] = {0};
		crumb_team_run(team, add_one_late, value, MOST);
		for (size_t i = 0; i < MOST; i++)
			assert_int_equal(value[i], 1);
	}
	crumb_team_close(team);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_index_runs_once),
	        cmocka_unit_test(no_team_is_the_caller),
	        cmocka_unit_test(runs_see_each_other),
	        cmocka_unit_test(a_run_ends_with_its_last_task),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
