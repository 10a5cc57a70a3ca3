/* The server moves the weights at the rate that the epoch has come to, times the share of a batch that a
 * gradient is of: so a sample moves them as far as with plan server. Momentum and the like fade by update, of
 * which there are more.
 *
 * SPDX-License-Identifier: MIT */
#include "train/async_steps.h"
#include "exchange/plans/async.h"
#include "exchange/seconds.h"
#include "exchange/transport.h"

#include <stdio.h>

/* An epoch's steps, as the server's callback sees them. */
struct steps {
	struct train *t;
	struct report *report;
	size_t epoch, first, count; /* first: of all steps, since the start of the run */
	char *why;
	size_t cap;
};

/* Goes on to a step of the epoch. */
static int come_to(struct train *t, const struct steps *steps, size_t step, char *why, size_t cap)
{
	for (; t->step < steps->first + step; t->step++)
		progress_step(&t->progress);
	return step < steps->count ? log_step(t->setting->log, t->codec, steps->epoch, t->step, why, cap) : 0;
}

int async_note_lost(struct train *t, size_t epoch, char *why, size_t cap)
{
	const struct crumb_exchange_net *ranks = t->setting->ranks;
	char line[160];
	for (; ranks && ranks->rank == 0 && t->lost < ranks->losses; t->lost++) {
		const unsigned rank = ranks->lost[t->lost];
		snprintf(
		        line, sizeof line,
		        "rank %u is given up: it has left, or nothing came from it within %g s; others take over its "
		        "work, what it owed is lost",
		        rank, ranks->timeout);
		progress_note(&t->progress, line);
		if (log_lost(t->setting->log, t->codec, epoch, t->step, rank, why, cap) < 0)
			return -1;
	}
	return 0;
}

/* Moves the weights by t->mean. */
static int move(void *arg, float share, uint64_t taken)
{
	const struct steps *steps = arg;
	struct train *t = steps->t;
	const size_t step = (size_t)(taken / t->setting->options->learners);
	const double begin = crumb_seconds();
	if (async_note_lost(t, steps->epoch, steps->why, steps->cap) < 0 ||
	    (t->step < steps->first + step && come_to(t, steps, step, steps->why, steps->cap) < 0))
		return CRUMB_EINVAL;
	t->rate = (double)share *
	          train_rate(t, (double)(steps->epoch - 1) + (double)step / (double)steps->count);
	t->moves++;
	if (train_optimize(t, steps->why, steps->cap) < 0)
		return CRUMB_EINVAL;
	steps->report->compute_seconds += crumb_seconds() - begin;
	return 0;
}

/* Counts the parts of a worker's push. */
static void count(struct train *t, size_t parts, bool skipped)
{
	for (size_t l = 0; l < parts; l++) {
		t->mine[l].skipped += skipped;
		t->mine[l].steps += !skipped;
		t->mine[l].loss += skipped ? 0 : t->loss[l];
	}
}

/* Computes and pushes gradients until no work is left. */
static int work_off(const struct steps *steps, struct async_work work)
{
	struct train *t = steps->t;
	int error = 0;
	while (work.count > 0 && error == 0) {
		const size_t parts = (size_t)work.count;
		const double begin = crumb_seconds();
		t->part = (size_t)work.first;
		if (t->own < t->setting->options->learners &&
		    come_to(t, steps, t->part / t->setting->options->learners, steps->why, steps->cap) < 0)
			return -1;
		if (train_gradients(t, parts, steps->why, steps->cap) < 0)
			return -1;
		steps->report->compute_seconds += crumb_seconds() - begin;
		error = crumb_async_swap(t->exchange, (const float *const *)t->grad, &work);
		const bool skipped = error == CRUMB_ENONFINITE;
		error = skipped ? 0 : error;
		count(t, parts, skipped);
	}
	return error;
}

int async_steps(struct train *t, size_t epoch, struct report *report, char *why, size_t cap)
{
	const struct steps steps = {t, report, epoch, t->step, train_steps(t->setting), why, cap};
	const struct async_epoch all = {.step = t->step,
	                                .parts = steps.count * t->setting->options->learners,
	                                .weight = t->share,
	                                .param = t->param,
	                                .mean = t->mean,
	                                .move = move,
	                                .arg = (void *)&steps};
	struct async_work work;
	*why = 0;
	crumb_async_begin(t->exchange, &all, &work);
	if (come_to(t, &steps, 0, why, cap) < 0)
		return -1;
	const int error = t->own > 0 ? work_off(&steps, work) : crumb_async_serve(t->exchange);
	if (error && !*why)
		snprintf(why, cap, "%s: %s", t->codec, crumb_exchange_why(t->exchange));
	return error ? -1 : come_to(t, &steps, steps.count, why, cap);
}
