/* The loop of training.
 *
 * SPDX-License-Identifier: MIT */
#include "train.h"
#include "dump.h"
#include "init.h"
#include "optimizer.h"
#include "progress.h"
#include "random.h"
#include "split.h"
#include "stopwatch.h"
#include "worker.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <team.h>

enum {
	TEST_CHUNK = 256,        /* test samples a task */
	OPTIMIZER_CHUNK = 65536, /* parameters a task */
	LINE = 64
};

struct train {
	const struct train_setting *setting;
	const char *codec;
	struct worker **worker; /* one a thread */
	size_t workers;
	struct crumb_exchange *exchange;
	float *param, *velocity, *mean;
	float **grad;    /* one a learner */
	float *share;    /* of a batch, by learner */
	double *loss;    /* of a step, by learner */
	uint32_t *order; /* of the epoch's samples */
	struct progress progress;
	/* for the tasks of one step */
	const uint32_t *batch;
	float rate;
	size_t *errors; /* by chunk of the test set */
	bool *failed;   /* by thread */
};

static size_t steps_per_epoch(const struct train_setting *s)
{
	return s->data->train.count / s->options->batch;
}

static size_t test_chunks(const struct train_setting *s)
{
	return (s->data->test.count + TEST_CHUNK - 1) / TEST_CHUNK;
}

/* ---- memory ---- */

static float *floats(size_t n)
{
	if (n > (SIZE_MAX - LINE) / sizeof(float))
		return NULL;
	float *memory = aligned_alloc(LINE, (n * sizeof(float) + LINE - 1) / LINE * LINE);
	if (memory)
		memset(memory, 0, n * sizeof(float));
	return memory;
}

static void train_close(struct train *t)
{
	for (size_t i = 0; t->worker && i < t->workers; i++)
		worker_close(t->worker[i]);
	for (size_t l = 0; t->grad && l < t->setting->options->learners; l++)
		free(t->grad[l]);
	crumb_exchange_close(t->exchange);
	free(t->worker);
	free(t->param);
	free(t->velocity);
	free(t->mean);
	free(t->grad);
	free(t->share);
	free(t->loss);
	free(t->order);
	free(t->errors);
	free(t->failed);
}

static bool allocate(struct train *t)
{
	const struct train_setting *s = t->setting;
	const size_t learners = s->options->learners, n = s->net->parameters;
	t->workers = crumb_team_threads(s->team);
	t->worker = calloc(t->workers, sizeof *t->worker);
	t->failed = calloc(t->workers, sizeof *t->failed);
	t->grad = calloc(learners, sizeof *t->grad);
	t->share = calloc(learners, sizeof *t->share);
	t->loss = calloc(learners, sizeof *t->loss);
	t->order = calloc(s->data->train.count, sizeof *t->order);
	t->errors = calloc(test_chunks(s), sizeof *t->errors);
	t->param = floats(n);
	t->velocity = floats(n);
	t->mean = floats(n);
	if (!t->worker || !t->failed || !t->grad || !t->share || !t->loss || !t->order || !t->errors ||
	    !t->param || !t->velocity || !t->mean)
		return false;
	for (size_t i = 0; i < t->workers; i++)
		if (!(t->worker[i] = worker_open(s->net, s->data)))
			return false;
	for (size_t l = 0; l < learners; l++)
		if (!(t->grad[l] = floats(n)))
			return false;
	return true;
}

static int train_open(struct train *t, const struct train_setting *s, size_t codec, char *why, size_t cap)
{
	const struct options *o = s->options;
	*t = (struct train){.setting = s, .codec = o->codec[codec].text};
	if (!allocate(t)) {
		snprintf(why, cap, "out of memory for %zu learners of %zu parameters", o->learners,
		         s->net->parameters);
		return -1;
	}
	for (size_t l = 0; l < o->learners; l++)
		t->share[l] = (float)((double)split_size(o->batch, o->learners, l) / (double)o->batch);
	const struct crumb_exchange_config config = {
	        .slices = s->net->slice,
	        .slice_count = s->net->slice_count,
	        .policy = &o->codec[codec].policy,
	        .learners = o->learners,
	        .seed = random_stream(o->seed, RANDOM_PACKERS, 0).counter,
	        .team = s->team,
	};
	if (crumb_exchange_open(&t->exchange, &config, why, cap) < 0 ||
	    (o->dump_gradients && dump_open(o->dump_gradients, why, cap) < 0))
		return -1;
	init_parameters(s->net, o->seed, t->param);
	progress_begin(&t->progress, t->codec, o->batch, o->epochs, steps_per_epoch(s));
	return 0;
}

/* ---- tasks: what the team's threads do ---- */

static void gradient_task(void *arg, size_t l, unsigned thread)
{
	struct train *t = arg;
	const struct options *o = t->setting->options;
	const uint32_t *index = t->batch + split_first(o->batch, o->learners, l);
	const size_t n = split_size(o->batch, o->learners, l);
	if (worker_gradient(t->worker[thread], t->param, index, n, t->grad[l], &t->loss[l]) < 0)
		t->failed[thread] = true;
}

static void optimizer_task(void *arg, size_t chunk, unsigned thread)
{
	(void)thread;
	struct train *t = arg;
	const struct options *o = t->setting->options;
	const size_t at = chunk * OPTIMIZER_CHUNK, left = t->setting->net->parameters - at;
	optimizer_step(t->param + at, t->velocity + at, t->mean + at,
	               left < OPTIMIZER_CHUNK ? left : OPTIMIZER_CHUNK, t->rate, (float)o->momentum,
	               (float)o->weight_decay);
}

static void test_task(void *arg, size_t chunk, unsigned thread)
{
	struct train *t = arg;
	const size_t first = chunk * TEST_CHUNK, left = t->setting->data->test.count - first;
	if (worker_errors(t->worker[thread], t->param, first, left < TEST_CHUNK ? left : TEST_CHUNK,
	                  &t->errors[chunk]) < 0)
		t->failed[thread] = true;
}

static int run_tasks(struct train *t, void (*task)(void *, size_t, unsigned), size_t count, char *why,
                     size_t cap)
{
	crumb_team_run(t->setting->team, task, t, count);
	for (size_t i = 0; i < t->workers; i++)
		if (t->failed[i]) {
			snprintf(why, cap, "%s", worker_why(t->worker[i]));
			return -1;
		}
	return 0;
}

/* ---- step, epoch, run ---- */

/* One step on the batch at t->batch. */
static int step(struct train *t, double epoch, struct report *report, double *loss, char *why, size_t cap)
{
	const struct options *o = t->setting->options;
	const size_t chunks = (t->setting->net->parameters + OPTIMIZER_CHUNK - 1) / OPTIMIZER_CHUNK;
	const double begin = stopwatch_now();
	if (run_tasks(t, gradient_task, o->learners, why, cap) < 0)
		return -1;
	const double computed = stopwatch_now();
	const int error = crumb_exchange_mean(t->exchange, (const float *const *)t->grad, t->share, t->mean);
	const double exchanged = stopwatch_now();
	report->compute_seconds += computed - begin;
	if (error == CRUMB_ENONFINITE)
		return 0;
	if (error < 0) {
		snprintf(why, cap, "%s: %s", t->codec, crumb_exchange_why(t->exchange));
		return -1;
	}
	t->rate = (float)schedule_rate(&o->schedule, o->lr, epoch, (double)o->epochs);
	if (run_tasks(t, optimizer_task, chunks, why, cap) < 0)
		return -1;
	report->compute_seconds += stopwatch_now() - exchanged;
	for (size_t l = 0; l < o->learners; l++)
		*loss += (double)t->share[l] * t->loss[l];
	return 0;
}

/* The first learner's gradient, where the options want it: of the first step, and of an epoch's last. */
static int dump(const struct train *t, size_t step, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	const char *folder = s->options->dump_gradients;
	if (!folder || (step > 1 && step % steps_per_epoch(s) > 0))
		return 0;
	return dump_gradient(folder, s->net, t->grad[0], step, why, cap);
}

static int test(struct train *t, double *error, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	if (run_tasks(t, test_task, test_chunks(s), why, cap) < 0)
		return -1;
	size_t errors = 0;
	for (size_t i = 0; i < test_chunks(s); i++)
		errors += t->errors[i];
	*error = (double)errors / (double)s->data->test.count;
	return 0;
}

static int train_epoch(struct train *t, size_t epoch, struct report *report, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	const size_t steps = steps_per_epoch(s);
	const double begin = stopwatch_now();
	double loss = 0;
	*report = (struct report){.epoch = epoch};
	struct random random = random_stream(s->options->seed, RANDOM_SHUFFLE, epoch);
	random_order(&random, t->order, s->data->train.count);
	crumb_exchange_reset_stats(t->exchange);
	for (size_t i = 0; i < steps; i++) {
		t->batch = t->order + i * s->options->batch;
		const double now = (double)(epoch - 1) + (double)i / (double)steps;
		if (step(t, now, report, &loss, why, cap) < 0)
			return -1;
		if (dump(t, (epoch - 1) * steps + i + 1, why, cap) < 0)
			return -1;
		progress_step(&t->progress);
	}
	if (test(t, &report->error, why, cap) < 0)
		return -1;
	crumb_exchange_stats(t->exchange, &report->stats);
	report->loss = loss / (double)report->stats.steps; /* 0 / 0 where all were skipped */
	report->residual_norm = crumb_exchange_residual_norm(t->exchange);
	report->wall_seconds = stopwatch_now() - begin;
	return 0;
}

static void add_epoch(struct report *run, const struct report *epoch)
{
	struct report sum = *epoch;
	sum.stats = run->stats;
	report_add(&sum.stats, &epoch->stats);
	sum.bytes = run->bytes + report_bytes(&epoch->stats);
	sum.compute_seconds += run->compute_seconds;
	sum.wall_seconds += run->wall_seconds;
	*run = sum;
}

static int run_epochs(struct train *t, struct report *run, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	*run = (struct report){0};
	for (size_t e = 1; e <= s->options->epochs; e++) {
		struct report epoch;
		if (train_epoch(t, e, &epoch, why, cap) < 0)
			return -1;
		if (epoch.stats.skipped > 0 && run->stats.skipped == 0)
			progress_note(&t->progress,
			              "a gradient is not finite: its step is skipped, as all such are");
		add_epoch(run, &epoch);
		epoch.bytes = run->bytes;
		progress_epoch(&t->progress, &epoch);
		if (log_epoch(s->log, t->codec, &epoch, why, cap) < 0)
			return -1;
		if (epoch.stats.steps == 0) {
			snprintf(
			        why, cap,
			        "%s: every step of epoch %zu was skipped, as no gradient was finite; try a smaller --lr",
			        t->codec, e);
			return -1;
		}
	}
	return log_done(s->log, t->codec, run, why, cap);
}

int train_run(const struct train_setting *setting, size_t codec, struct report *run, char *why, size_t cap)
{
	struct train t;
	int result = train_open(&t, setting, codec, why, cap);
	if (result == 0)
		result = run_epochs(&t, run, why, cap);
	train_close(&t);
	return result;
}
