/* A team of threads: they sleep on a condition until there is work, then each takes the next index until none
 * is left. Waking a thread takes longer than a short call of crumb_team_run: so threads stay awake for a
 * moment after it, as another call often follows; and a thread that is late takes no part, and nobody waits
 * for it. Members block all signals: these are the host's.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include "exchange/team.h"

struct member {
	struct team *team;
	unsigned number;
	pthread_t thread;
};

struct team {
	unsigned threads; /* the caller and threads - 1 members */
	pthread_mutex_t mutex;
	pthread_cond_t begin, end;
	/* under the mutex; run and busy are also read without it, to wait for a change */
	atomic_ulong run; /* the number of the call under way */
	bool open;        /* members may still begin with it */
	atomic_uint busy; /* members that have begun and not finished */
	atomic_bool quit;
	/* written before a run, read during it */
	void (*task)(void *arg, size_t i, unsigned thread);
	void *arg;
	size_t count;
	atomic_size_t next;
	struct member member[]; /* member[0] is the caller */
};

static void work(struct team *team, unsigned thread)
{
	size_t i;

	while ((i = atomic_fetch_add_explicit(&team->next, 1, memory_order_relaxed)) < team->count)
		team->task(team->arg, i, thread);
}

/* Yields before a thread sleeps: some 50 microseconds if no other thread wants the CPU. */
enum { YIELDS = 100 };

/* Returns when there is another call, or after a while. */
static void stay_awake(struct team *team, unsigned long seen)
{
	for (int k = 0; k < YIELDS && atomic_load(&team->run) == seen && !atomic_load(&team->quit); k++)
		sched_yield();
}

static void *member_main(void *arg)
{
	const struct member *member = arg;
	struct team *team = member->team;
	unsigned long seen = 0;

	pthread_mutex_lock(&team->mutex);
	for (;;) {
		while (team->run == seen && !team->quit)
			pthread_cond_wait(&team->begin, &team->mutex);
		if (team->quit)
			break;
		seen = team->run;
		if (team->open) {
			team->busy++;
			pthread_mutex_unlock(&team->mutex);
			work(team, member->number);
			pthread_mutex_lock(&team->mutex);
			if (--team->busy == 0)
				pthread_cond_signal(&team->end);
		}
		pthread_mutex_unlock(&team->mutex);
		stay_awake(team, seen);
		pthread_mutex_lock(&team->mutex);
	}
	pthread_mutex_unlock(&team->mutex);
	return NULL;
}

struct team *crumb_team_open(unsigned threads)
{
	if (threads < 1)
		return NULL;
	struct team *team = calloc(1, sizeof *team + threads * sizeof team->member[0]);
	if (!team)
		return NULL;
	pthread_mutex_init(&team->mutex, NULL);
	pthread_cond_init(&team->begin, NULL);
	pthread_cond_init(&team->end, NULL);
	atomic_init(&team->next, 0);
	atomic_init(&team->run, 0);
	atomic_init(&team->busy, 0);
	atomic_init(&team->quit, false);
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (team->threads = 1; team->threads < threads; team->threads++) {
		struct member *member = &team->member[team->threads];
		*member = (struct member){.team = team, .number = team->threads};
		if (pthread_create(&member->thread, NULL, member_main, member))
			break;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (team->threads == threads)
		return team;
	crumb_team_close(team);
	return NULL;
}

void crumb_team_close(struct team *team)
{
	if (!team)
		return;
	pthread_mutex_lock(&team->mutex);
	team->quit = true;
	pthread_cond_broadcast(&team->begin);
	pthread_mutex_unlock(&team->mutex);
	for (unsigned t = 1; t < team->threads; t++)
		pthread_join(team->member[t].thread, NULL);
	pthread_cond_destroy(&team->end);
	pthread_cond_destroy(&team->begin);
	pthread_mutex_destroy(&team->mutex);
	free(team);
}

unsigned crumb_team_threads(const struct team *team) { return team ? team->threads : 1; }

void crumb_team_run(struct team *team, void (*task)(void *arg, size_t i, unsigned thread), void *arg,
                    size_t count)
{
	if (crumb_team_threads(team) == 1 || count <= 1) {
		for (size_t i = 0; i < count; i++)
			task(arg, i, 0);
		return;
	}
	pthread_mutex_lock(&team->mutex);
	team->task = task;
	team->arg = arg;
	team->count = count;
	atomic_store_explicit(&team->next, 0, memory_order_relaxed);
	team->open = true;
	team->run++;
	pthread_cond_broadcast(&team->begin);
	pthread_mutex_unlock(&team->mutex);
	work(team, 0);
	pthread_mutex_lock(&team->mutex);
	team->open = false;
	pthread_mutex_unlock(&team->mutex);
	for (int k = 0; k < YIELDS && atomic_load(&team->busy) > 0; k++)
		sched_yield();
	pthread_mutex_lock(&team->mutex);
	while (team->busy > 0)
		pthread_cond_wait(&team->end, &team->mutex);
	pthread_mutex_unlock(&team->mutex);
}
