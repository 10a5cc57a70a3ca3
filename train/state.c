/* Memory and exchange of a training run.
 *
 * SPDX-License-Identifier: MIT */
#include "train/state.h"
#include "train/data/random.h"
#include "train/layers/init.h"
#include "train/outer.h"
#include "train/report/arrival.h"
#include "train/split.h"
#include "train/worker.h"

#include "exchange/auto/tuner.h"
#include "exchange/team.h"
#include "exchange/transport.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

size_t train_steps(const struct train_setting *s) { return s->data->train.count / s->options->batch; }

size_t train_test_chunks(const struct train_setting *s)
{
	return (s->data->test.count + TEST_CHUNK - 1) / TEST_CHUNK;
}

/* Returns the samples of a batch that this rank's learners have. */
static size_t own_samples(const struct train *t)
{
	const struct options *o = t->setting->options;
	return split_first(o->batch, o->learners, t->first + t->own) -
	       split_first(o->batch, o->learners, t->first);
}

static float *floats(size_t n)
{
	float *memory = n <= SIZE_MAX / sizeof *memory ? crumb_exchange_alloc(n * sizeof *memory) : NULL;
	if (memory)
		memset(memory, 0, n * sizeof(float));
	return memory;
}

void train_close(struct train *t)
{
	for (size_t i = 0; t->worker && i < t->workers; i++)
		worker_close(t->worker[i]);
	crumb_tuner_close(t->tuner);
	arrival_close(t->arrival);
	free(t->probe);
	crumb_exchange_close(t->exchange); /* before the gradients, which its thread may read till then */
	for (size_t l = 0; t->grad && l < t->own; l++)
		free(t->grad[l]);
	free(t->worker);
	free(t->param);
	for (size_t i = 0; i < OPTIMIZER_MOST_MOMENTS; i++)
		free(t->moment[i]);
	outer_close(t);
	free(t->average);
	for (size_t i = 0; i < 2; i++)
		free(t->states[i]);
	free(t->tested);
	free(t->statistics);
	free(t->mean);
	free(t->grad);
	free(t->share);
	free(t->loss);
	free(t->mine);
	free(t->all);
	free(t->slice);
	free(t->order);
	free(t->score);
	free(t->failed);
	file_lock_release(&t->lock);
}

static bool allocate(struct train *t)
{
	const struct train_setting *s = t->setting;
	const size_t learners = s->options->learners, n = s->net->parameters;
	t->workers = crumb_team_threads(s->team);
	t->worker = calloc(t->workers, sizeof *t->worker);
	t->failed = calloc(t->workers, sizeof *t->failed);
	t->grad = calloc(t->own + 1, sizeof *t->grad);
	t->share = calloc(learners, sizeof *t->share);
	t->loss = calloc(t->own + 1, sizeof *t->loss);
	t->mine = calloc(t->own + 1, sizeof *t->mine);
	t->all = calloc(learners, sizeof *t->all);
	t->order = calloc(s->data->train.count, sizeof *t->order);
	t->score = calloc(train_test_chunks(s), sizeof *t->score);
	t->param = floats(n);
	t->mean = floats(n);
	if (!t->worker || !t->failed || !t->grad || !t->share || !t->loss || !t->mine || !t->all ||
	    !t->order || !t->score || !t->param || !t->mean)
		return false;
	const size_t moments = s->options->local_steps ? 1 : optimizer_moments(&s->options->optimizer);
	for (size_t i = 0; i < moments; i++)
		if (!(t->moment[i] = floats(n)))
			return false;
	t->tested = floats(n + s->net->statistics);
	t->statistics = floats(STATISTICS_CHUNKS * s->net->statistics);
	if (!t->tested || !t->statistics)
		return false;
	if (s->options->local_steps && !outer_open(t))
		return false;
	if (s->options->average > 0 && !(t->average = floats(n)))
		return false;
	for (size_t i = 0; i < 2 && s->net->carries; i++)
		if (!(t->states[i] = floats(own_samples(t) * s->net->states + 1)))
			return false;
	for (size_t i = 0; i < t->workers; i++)
		if (!(t->worker[i] = worker_open(s->net, s->data)))
			return false;
	for (size_t l = 0; l < t->own; l++)
		if (!(t->grad[l] = floats(n)))
			return false;
	return true;
}

static int open_exchange(struct train *t, size_t codec, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	const struct options *o = s->options;
	const struct net *net = s->net;
	t->slices = crumb_slices_cut(net->slice, net->slice_count, o->plan->longest_slice, NULL);
	t->slice = calloc(t->slices + 1, sizeof *t->slice);
	if (!t->slice) {
		snprintf(why, cap, "out of memory");
		return -1;
	}
	crumb_slices_cut(net->slice, net->slice_count, o->plan->longest_slice, t->slice);
	const bool tuned = crumb_script_meant(t->codec);
	t->policy = tuned ? NULL : &o->codec[codec].policy;
	const struct crumb_exchange_config config = {
	        .slices = tuned ? net->slice : t->slice,
	        .slice_count = tuned ? net->slice_count : t->slices,
	        .policy = &o->codec[codec].policy,
	        .down = o->down_exact ? NULL : &o->down,
	        .plan = o->plan,
	        .node_size = (unsigned)o->node_size,
	        .staleness = o->staleness,
	        .model = t->run,
	        .overlap = o->overlap,
	        .learners = o->learners,
	        .seed = random_stream(o->seed, RANDOM_PACKERS, 0).counter,
	        .net = s->ranks,
	        .team = s->team,
	};
	static struct crumb_script script;
	const char *bad;
	if (tuned)
		crumb_script_parse(&script, t->codec, &bad); /* the options have checked it */
	if ((tuned ? crumb_tuner_open(&t->tuner, &t->exchange, &config, &script, why, cap)
	           : crumb_exchange_start(&t->exchange, &config, why, cap)) < 0)
		return -1;
	crumb_exchange_learners(t->exchange, &t->first, &t->own);
	return 0;
}

int train_open(struct train *t, const struct train_setting *s, size_t codec, char *why, size_t cap)
{
	const struct options *o = s->options;
	*t = (struct train){.setting = s, .codec = o->codec[codec].text};
	t->lost = s->ranks ? s->ranks->losses : 0;
	if (s->net->statistics > 0 && s->data->train.count < STATISTICS_CHUNK) {
		snprintf(why, cap, "%s wants at least %d training samples", o->model->name, STATISTICS_CHUNK);
		return -1;
	}
	if (o->plan->between && s->ranks && s->ranks->ranks > o->learners) {
		snprintf(why, cap, "--plan %s wants a learner on each of %u ranks", o->plan->name,
		         s->ranks->ranks);
		return -1;
	}
	size_t length = options_describe(o, codec, t->run, sizeof t->run);
	if (length < sizeof t->run)
		length += (size_t)snprintf(t->run + length, sizeof t->run - length,
		                           "%zu training samples, %zu test samples, checksum %08" PRIx32 "\n",
		                           s->data->train.count, s->data->test.count, s->data->checksum);
	if (length >= sizeof t->run && o->checkpoint) {
		snprintf(why, cap, "the options are too long, %zu characters, for --checkpoint", length);
		return -1;
	}
	if (open_exchange(t, codec, why, cap) < 0)
		return -1;
	if (!allocate(t)) {
		snprintf(why, cap, "out of memory for %zu learners of %zu parameters", t->own,
		         s->net->parameters);
		return -1;
	}
	for (size_t l = 0; l < o->learners; l++)
		t->share[l] = (float)((double)split_size(o->batch, o->learners, l) / (double)o->batch);
	init_parameters(s->net, o->seed, t->param);
	if (t->average)
		memcpy(t->average, t->param, s->net->parameters * sizeof *t->param);
	for (size_t l = 0; t->outer && l < t->own; l++)
		outer_share(t, l);
	progress_begin(&t->progress, s->ranks && s->ranks->rank > 0, t->codec, o->batch, o->epochs,
	               train_steps(s));
	return 0;
}
