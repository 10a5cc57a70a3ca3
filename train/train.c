/* The loop of training.
 *
 * SPDX-License-Identifier: MIT */
#include "train/train.h"
#include "exchange/auto/tuner.h"
#include "exchange/plans/async.h"
#include "exchange/seconds.h"
#include "exchange/team.h"
#include "exchange/transport.h"
#include "train/async_steps.h"
#include "train/data/random.h"
#include "train/data/text.h"
#include "train/report/arrival.h"
#include "train/report/dump.h"
#include "train/report/layer_probe.h"
#include "train/report/live_page.h"
#include "train/outer.h"
#include "train/resume.h"
#include "train/split.h"
#include "train/state.h"
#include "train/update/optimizer.h"
#include "train/worker.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTIMIZER_CHUNK = 65536 /* parameters a task */
};

/* ---- tasks: what the team's threads do ---- */

/* A learner's gradient that is being computed. */
struct arriving {
	struct train *t;
	size_t l, end; /* elements from `end` on are final */
	const float *param;
};

static void arrive(void *arg, size_t at)
{
	struct arriving *a = arg;
	const struct options *o = a->t->setting->options;
	if (o->decay_first)
		optimizer_decay(a->t->grad[a->l] + at, a->param + at, a->end - at, (float)o->weight_decay);
	a->end = at;
	if (o->overlap)
		crumb_exchange_final(a->t->exchange, a->l, at);
}

static void gradient_task(void *arg, size_t l, unsigned thread)
{
	struct train *t = arg;
	const struct options *o = t->setting->options;
	const size_t part = t->part + l, learner = part % o->learners;
	const size_t first = split_first(o->batch, o->learners, learner);
	const size_t n = split_size(o->batch, o->learners, learner);
	const uint32_t *batch = t->order + part / o->learners * o->batch;
	const float *param = t->outer ? t->outer[l].param : t->param;
	struct worker_states states;
	if (t->states[0]) {
		const size_t at =
		        (first - split_first(o->batch, o->learners, t->first)) * t->setting->net->states;
		states = (struct worker_states){t->states[0] + at, t->states[1] + at};
	}
	struct arriving arriving = {t, l, t->setting->net->parameters, param};
	const struct pass_watch watch = {arrive, &arriving};
	if (worker_gradient(t->worker[thread], param, batch + first, n, t->states[0] ? &states : NULL,
	                    t->grad[l], &t->loss[l], &watch) < 0)
		t->failed[thread] = true;
	if (o->clip_norm > 0)
		optimizer_clip(t->grad[l], t->setting->net->parameters, o->clip_norm);
	if (t->outer && !outer_move(t, l) && t->states[0])
		memcpy(states.to, states.from, n * t->setting->net->states * sizeof *states.to);
	if (t->outer && t->exchanging)
		outer_gradient(t, l);
}

/* Moves n parameters from number at on by the mean. With packed the mean has had momentum in the packers. */
static void move_by_mean(struct train *t, size_t at, size_t n, bool packed)
{
	const struct options *o = t->setting->options;
	const double decay = o->decay_first ? 0 : o->weight_decay;
	const struct optimizer_step step = {t->rate, packed ? 0 : o->momentum, decay, t->moves};
	if (t->outer)
		optimizer_nesterov(t->param + at, t->moment[0] + at, t->mean + at, n, (float)o->outer_lr,
		                   packed ? 0 : (float)o->outer_momentum);
	else
		optimizer_move_net(&o->optimizer, &step, t->setting->net, t->param, t->moment, t->mean, at,
		                   n);
}

static bool packed_with_momentum(const struct train *t, const struct crumb_slice *slice)
{
	const struct policy *policy = t->tuner ? crumb_tuner_policy(t->tuner) : t->policy;
	crumb_codec codec = crumb_policy_choose(policy, slice->kind, slice->n);
	const float *momentum = crumb_policy_momentum(&codec);
	return momentum && *momentum > 0;
}

static void optimizer_task(void *arg, size_t chunk, unsigned thread)
{
	(void)thread;
	struct train *t = arg;
	const struct options *o = t->setting->options;
	const size_t at = chunk * OPTIMIZER_CHUNK, left = t->setting->net->parameters - at;
	const size_t n = left < OPTIMIZER_CHUNK ? left : OPTIMIZER_CHUNK;
	for (size_t s = 0; s < t->slices; s++) {
		const struct crumb_slice *slice = &t->slice[s];
		const size_t from = slice->at > at ? slice->at : at;
		const size_t end = slice->at + slice->n < at + n ? slice->at + slice->n : at + n;
		if (from < end)
			move_by_mean(t, from, end - from, packed_with_momentum(t, slice));
	}
	if (t->average)
		optimizer_average(t->average + at, t->param + at, n, (float)o->average);
}

static void share_task(void *arg, size_t l, unsigned thread)
{
	(void)thread;
	outer_share(arg, l);
}

/* Returns the number of test chunks that belong to learners before this one. */
static size_t chunks_before(const struct train *t, size_t learner)
{
	return split_first(train_test_chunks(t->setting), t->setting->options->learners, learner);
}

static void test_task(void *arg, size_t i, unsigned thread)
{
	struct train *t = arg;
	const size_t chunk = t->chunk + i;
	const size_t first = chunk * TEST_CHUNK, left = t->setting->data->test.count - first;
	if (worker_test(t->worker[thread], t->tested, first, left < TEST_CHUNK ? left : TEST_CHUNK,
	                &t->score[chunk]) < 0)
		t->failed[thread] = true;
}

static void statistics_task(void *arg, size_t chunk, unsigned thread)
{
	struct train *t = arg;
	if (worker_statistics(t->worker[thread], t->tested, t->order + chunk * STATISTICS_CHUNK,
	                      STATISTICS_CHUNK, t->statistics + chunk * t->setting->net->statistics) < 0)
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

int train_gradients(struct train *t, size_t learners, char *why, size_t cap)
{
	return run_tasks(t, gradient_task, learners, why, cap);
}

int train_optimize(struct train *t, char *why, size_t cap)
{
	const size_t chunks = (t->setting->net->parameters + OPTIMIZER_CHUNK - 1) / OPTIMIZER_CHUNK;
	return run_tasks(t, optimizer_task, chunks, why, cap);
}

/* ---- step, epoch, run ---- */

double train_rate(const struct train *t, double epoch)
{
	const struct options *o = t->setting->options;
	return schedule_rate(&o->schedule, o->lr, epoch, (double)o->epochs) *
	       schedule_warmup(o->warmup, epoch + 1 / (double)train_steps(t->setting));
}

/* Shows the tuner this step's gradients; it may change the exchange. */
static int tune(struct train *t, char *why, size_t cap)
{
	char reason[CRUMB_EXCHANGE_WHY_MAX];
	const int chosen =
	        t->tuner ? crumb_tuner_step(t->tuner, (const float *const *)t->grad, reason, sizeof reason)
	                 : 0;
	if (chosen < 0)
		snprintf(why, cap, "%s: %s", t->codec, reason);
	if (chosen <= 0)
		return chosen;
	progress_note(&t->progress, crumb_tuner_tell(t->tuner)->line);
	return log_choice(t->setting->log, t->codec, crumb_tuner_tell(t->tuner), why, cap);
}

/* Makes the states in which this step ended those of the next one. */
static void carry(struct train *t)
{
	float *ended = t->states[1];
	t->states[1] = t->states[0];
	t->states[0] = ended;
}

/* Moves the shared parameters by the mean; learners that stepped alone take them over, also from a skipped
 * step. */
static int move(struct train *t, bool skipped, char *why, size_t cap)
{
	t->moves += !skipped;
	if (!skipped || t->outer)
		carry(t);
	if (!skipped && train_optimize(t, why, cap) < 0)
		return -1;
	if (t->outer)
		return run_tasks(t, share_task, t->own, why, cap);
	for (size_t l = 0; l < t->own && !skipped; l++) {
		t->mine[l].loss += t->loss[l];
		t->mine[l].steps++;
	}
	return 0;
}

/* Returns the number of exchanges in the first so many steps of the run. */
static size_t exchanges(const struct train *t, size_t step)
{
	const size_t local = t->setting->options->local_steps;
	return outer_exchanges(step, train_steps(t->setting), local > 0 ? local : 1);
}

/* Shows the exchange the gradients of the next mini-batches, too, if codecs agree in this step. */
static int measure(struct train *t, char *why, size_t cap)
{
	const struct options *o = t->setting->options;
	const size_t part = t->part, steps = train_steps(t->setting), parts = steps * o->learners;
	for (size_t k = 1; k < o->measure && k < steps && crumb_exchange_due(t->exchange); k++) {
		t->part = (part + k * o->learners) % parts; /* the last ones are followed by the first */
		if (train_gradients(t, t->own, why, cap) < 0)
			return -1;
		crumb_exchange_measure(t->exchange, (const float *const *)t->grad);
	}
	t->part = part;
	return 0;
}

static int exchange_failed(const struct train *t, char *why, size_t cap)
{
	snprintf(why, cap, "%s: %s", t->codec, crumb_exchange_why(t->exchange));
	return -1;
}

/* Takes one step on the parts from t->part on, and an exchange if t->exchanging. */
static int step(struct train *t, double epoch, struct report *report, char *why, size_t cap)
{
	const double begin = crumb_seconds();
	t->rate = train_rate(t, epoch);
	if (measure(t, why, cap) < 0)
		return -1;
	int error =
	        t->setting->options->overlap
	                ? crumb_exchange_begin(t->exchange, (const float *const *)t->grad, t->share, t->mean)
	                : 0;
	if (error)
		return exchange_failed(t, why, cap);
	if (train_gradients(t, t->own, why, cap) < 0 || (t->exchanging && tune(t, why, cap) < 0))
		return -1;
	const double computed = crumb_seconds();
	report->compute_seconds += computed - begin;
	if (!t->exchanging) {
		carry(t);
		return 0;
	}
	error = crumb_exchange_step(t->exchange, (const float *const *)t->grad, t->share, t->mean);
	const double exchanged = crumb_seconds();
	report->wait_seconds += exchanged - computed;
	const bool skipped = error == CRUMB_ENONFINITE;
	if (error < 0 && !skipped)
		return exchange_failed(t, why, cap);
	if (t->arrival && !skipped)
		arrival_step(t->arrival, (const float *const *)t->grad, t->mean);
	if (move(t, skipped, why, cap) < 0)
		return -1;
	report->compute_seconds += crumb_seconds() - exchanged;
	return 0;
}

/* Dumps the first learner's gradient, if the options want it: of the first exchange, and of an epoch's last.
 */
static int dump(const struct train *t, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	const char *folder = s->options->dump_gradients;
	if (!folder || t->first > 0 || t->own == 0 ||
	    (exchanges(t, t->step) > 1 && t->step % train_steps(s) > 0))
		return 0;
	return dump_gradient(folder, s->net, t->grad[0], t->step, why, cap);
}

/* Logs the probes of the last steps, and of the layers if the last step was not skipped. */
static int probe(struct train *t, size_t epoch, bool skipped, char *why, size_t cap)
{
	const struct net *net = t->setting->net;
	struct arrived arrived;
	size_t layers = 0;
	if (!t->probe || exchanges(t, t->step) % t->setting->options->probe > 0)
		return 0;
	for (size_t s = 0; s < net->slice_count && !skipped; s++) {
		if (!layer_probe_wants(&net->slice[s]))
			continue;
		struct layer_probe *seen = &t->probe[layers++];
		const int error =
		        layer_probe(seen, t->exchange, t->slice, t->slices, s, &net->slice[s], t->grad[0]);
		if (error < 0) {
			snprintf(why, cap, "--probe: %s", crumb_strerror(error));
			return -1;
		}
	}
	if (t->arrival)
		arrived = arrival_read(t->arrival);
	return log_probe(t->setting->log, t->codec, epoch, t->step, t->arrival ? &arrived : NULL, t->probe,
	                 layers, why, cap);
}

/* Prepares a test's parameters, or their average, and batch normalisation's statistics with these on the
 * samples with which the epoch began. */
static int prepare_test(struct train *t, char *why, size_t cap)
{
	const struct net *net = t->setting->net;
	const size_t chunks = t->setting->data->train.count / STATISTICS_CHUNK;
	const size_t used = chunks < STATISTICS_CHUNKS ? chunks : STATISTICS_CHUNKS;
	memcpy(t->tested, t->average ? t->average : t->param, net->parameters * sizeof *t->tested);
	if (net->statistics == 0)
		return 0;
	if (run_tasks(t, statistics_task, used, why, cap) < 0)
		return -1;
	for (size_t i = 0; i < net->statistics; i++) {
		double sum = 0;
		for (size_t chunk = 0; chunk < used; chunk++)
			sum += (double)t->statistics[chunk * net->statistics + i];
		t->tested[net->parameters + i] = (float)(sum / (double)used);
	}
	return 0;
}

/* Tests some learners' part of the test set; sums are by learner, so that they do not depend on ranks. */
static int test_part(struct train *t, size_t first, size_t count, struct told *told, char *why, size_t cap)
{
	const size_t samples = t->setting->data->test.count, end = chunks_before(t, first + count);
	t->chunk = chunks_before(t, first);
	if (run_tasks(t, test_task, end - t->chunk, why, cap) < 0)
		return -1;
	for (size_t l = 0; l < count; l++)
		for (size_t i = chunks_before(t, first + l); i < chunks_before(t, first + l + 1); i++) {
			const size_t left = samples - i * TEST_CHUNK;
			told[l].errors += t->score[i].errors;
			told[l].test_loss += t->score[i].loss;
			told[l].tested += left < TEST_CHUNK ? left : TEST_CHUNK;
		}
	return 0;
}

/* Tests this rank's part, and on the server of plan async those of ranks that it has given up. */
static int test(struct train *t, char *why, size_t cap)
{
	const struct crumb_exchange_net *ranks = t->setting->ranks;
	int result = prepare_test(t, why, cap);
	if (result == 0)
		result = test_part(t, t->first, t->own, t->mine, why, cap);
	for (unsigned k = 0; ranks && ranks->rank == 0 && k < ranks->losses && result == 0; k++) {
		size_t first, count;
		crumb_async_learners(t->exchange, ranks->lost[k], &first, &count);
		result = test_part(t, first, count, t->all + first, why, cap);
	}
	return result;
}

static void add(uint64_t *total, const uint64_t *part)
{
	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		total[kind] += part[kind];
}

/* Exchanges the ranks' reports of an epoch and adds them up. */
static int tell(struct train *t, struct report *report, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	const bool serves = s->options->plan->serves;
	uint64_t down[CRUMB_KINDS] = {0};
	struct exchange_stats *stats = &report->stats;
	uint64_t errors = 0, tested = 0, taken = 0;
	double loss = 0, share = 0, test_loss = 0, owed = 0;
	crumb_exchange_read_stats(t->exchange, stats);
	memset(t->all, 0, s->options->learners * sizeof *t->all);
	if (test(t, why, cap) < 0)
		return -1;
	for (size_t l = 0; l < t->own; l++) {
		t->mine[l].told = 1;
		t->mine[l].owed = crumb_exchange_owed(t->exchange, l);
	}
	add(t->mine[0].dense, stats->dense);
	add(t->mine[0].bytes, stats->bytes);
	add(t->mine[0].elements, stats->elements);
	add(t->mine[0].sent, stats->sent);
	add(t->mine[0].down, stats->down);
	if (crumb_exchange_tell(t->exchange, t->mine, sizeof *t->mine, t->all) < 0)
		return exchange_failed(t, why, cap);
	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		stats->dense[kind] = stats->bytes[kind] = stats->elements[kind] = stats->sent[kind] = 0;
	const uint64_t workers =
	        serves && s->ranks && s->ranks->ranks > 1 ? s->ranks->ranks - 1 - s->ranks->losses : 1;
	for (size_t l = 0; l < s->options->learners; l++) {
		const struct told *told = &t->all[l];
		if (told->told) {
			loss += (double)t->share[l] * told->loss /
			        (double)told->steps; /* 0 / 0 if all were skipped */
			share += (double)t->share[l];
		}
		stats->skipped += told->skipped;
		taken += told->steps;
		owed += told->owed;
		errors += told->errors;
		tested += told->tested;
		test_loss += told->test_loss;
		add(stats->dense, told->dense);
		add(stats->bytes, told->bytes);
		add(stats->elements, told->elements);
		add(stats->sent, told->sent);
		add(down, told->down);
	}
	for (int kind = 0; kind < CRUMB_KINDS && serves; kind++)
		stats->down[kind] = down[kind] / workers;
	report->loss = s->ranks && s->ranks->losses > 0 ? loss / share : loss;
	if (serves) /* ranks take different numbers of steps */
		stats->steps = (taken + s->options->learners - 1) / s->options->learners;
	if (taken == 0)
		stats->steps = 0; /* what was exchanged is no step */
	const double judged = (double)tested * s->net->places;
	report->error = (double)errors / judged;
	report->test_loss = test_loss / judged;
	const size_t debtors = crumb_exchange_debtor(t->exchange, s->options->learners - 1) + 1;
	report->residual_norm = sqrt(owed / (double)debtors);
	return 0;
}

/* Takes the steps of an epoch, in which all ranks keep step. */
static int take_steps(struct train *t, size_t epoch, struct report *report, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	const size_t steps = train_steps(s);
	for (size_t i = 0; i < steps; i++) {
		const uint64_t moves = t->moves;
		t->exchanging = exchanges(t, t->step + 1) > exchanges(t, t->step);
		t->part = i * s->options->learners + t->first;
		if (log_step(s->log, t->codec, epoch, t->step, why, cap) < 0 ||
		    step(t, (double)(epoch - 1) + (double)i / (double)steps, report, why, cap) < 0)
			return -1;
		t->step++;
		if (t->exchanging &&
		    (dump(t, why, cap) < 0 || probe(t, epoch, t->moves == moves, why, cap) < 0))
			return -1;
		progress_step(&t->progress);
	}
	return 0;
}

static int train_epoch(struct train *t, size_t epoch, struct report *report, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	const double begin = crumb_seconds();
	*report = (struct report){.epoch = epoch};
	struct random random = random_stream(s->options->seed, RANDOM_SHUFFLE, epoch);
	if (s->net->carries)
		text_order(t->order, s->data->train.count, s->options->batch);
	else
		random_order(&random, t->order, s->data->train.count);
	for (size_t i = 0; i < t->workers; i++)
		worker_epoch(t->worker[i], s->options->seed, epoch);
	crumb_exchange_reset_stats(t->exchange);
	memset(t->mine, 0, (t->own + 1) * sizeof *t->mine);
	if ((s->options->plan->serves ? async_steps : take_steps)(t, epoch, report, why, cap) < 0 ||
	    tell(t, report, why, cap) < 0 || async_note_lost(t, epoch, why, cap) < 0)
		return -1;
	report->wall_seconds = crumb_seconds() - begin;
	return 0;
}

static void add_epoch(struct report *run, const struct report *epoch, size_t learners)
{
	struct report sum = *epoch;
	sum.stats = run->stats;
	report_add(&sum.stats, &epoch->stats);
	sum.bytes = run->bytes + report_bytes(&epoch->stats, learners);
	sum.down_bytes = run->down_bytes + report_down_bytes(&epoch->stats);
	sum.compute_seconds += run->compute_seconds;
	sum.wait_seconds += run->wait_seconds;
	sum.wall_seconds += run->wall_seconds;
	*run = sum;
}

static int open_probe(struct train *t, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	const bool alone = !s->ranks || s->ranks->ranks == 1;
	if (!s->options->probe || t->first > 0 || t->own == 0)
		return 0;
	t->probe = calloc(s->net->slice_count, sizeof *t->probe);
	if (alone)
		t->arrival =
		        arrival_open(t->exchange, t->slice, t->slices, t->own, t->share, s->net->parameters);
	if (t->probe && (t->arrival || !alone))
		return 0;
	snprintf(why, cap, "out of memory");
	return -1;
}

static int run_epochs(struct train *t, struct report *run, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	for (size_t e = run->epoch + 1; e <= s->options->epochs; e++) {
		struct report epoch;
		if (train_epoch(t, e, &epoch, why, cap) < 0)
			return -1;
		if (epoch.stats.skipped > 0 && run->stats.skipped == 0)
			progress_note(&t->progress,
			              "a gradient is not finite: its step is skipped, as all such are");
		add_epoch(run, &epoch, s->options->learners);
		epoch.bytes = run->bytes;
		epoch.down_bytes = run->down_bytes;
		progress_epoch(&t->progress, &epoch);
		if (log_epoch(s->log, t->codec, &epoch, why, cap) < 0)
			return -1;
		if (s->page)
			live_page_update(s->page);
		if (epoch.stats.steps ==
		    0) { /* without a checkpoint, which a resumed run would take for a success */
			snprintf(why, cap,
			         "%s: every step of epoch %zu was skipped, as no gradient was finite; "
			         "try a smaller --lr",
			         t->codec, e);
			run->diverged = true;
			log_failed(s->log, t->codec, t->step, why);
			return 0;
		}
		if (train_save(t, run, why, cap) < 0)
			return -1;
	}
	return log_done(s->log, t->codec, run, why, cap);
}

int train_run(const struct train_setting *setting, size_t codec, struct report *run, char *why, size_t cap)
{
	struct train t;
	int result = train_open(&t, setting, codec, why, cap);
	*run = (struct report){0};
	if (result == 0)
		result = train_resume(&t, run, why, cap);
	if (result == 0)
		result = open_probe(&t, why, cap);
	if (result == 0)
		result = run_epochs(&t, run, why, cap);
	if (result < 0)
		log_failed(setting->log, t.codec, t.step, why);
	train_close(&t);
	return result;
}
