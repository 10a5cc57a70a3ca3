/* The training that bench/emulated_exchange.c, bench/overlapped.c and bench/predict.c share.
 *
 * SPDX-License-Identifier: MIT */
#include "bench/training.h"
#include "train/layers/init.h"
#include "train/update/optimizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parameters, of which there are less than 64 bytes too much. */
static float *floats(const struct training *t)
{
	const size_t bytes = (t->model.parameters * sizeof(float) + 63) / 64 * 64;
	float *x = aligned_alloc(64, bytes);

	return x ? memset(x, 0, bytes) : NULL;
}

void training_die(const struct training *t, const char *why)
{
	fprintf(stderr, "%s: rank %u: %s\n", t->program, t->net->rank, why);
	crumb_mpi_abort(t->net, 1);
}

void training_join(struct training *t, const char *program)
{
	char why[512];

	t->program = program;
	if (crumb_mpi_open(&t->net, 60, why, sizeof why) < 0) {
		fprintf(stderr, "%s: %s\n", program, why);
		exit(1);
	}
	t->net->timeout = 300;
	if (t->net->ranks > TRAINING_RANKS)
		training_die(t, "too many ranks");
	for (unsigned r = 0; r < t->net->ranks; r++)
		t->share[r] = 1.0f / (float)t->net->ranks;
}

void training_leave(struct training *t) { crumb_mpi_close(&t->net); }

void training_open(struct training *t, const char *name)
{
	const struct model *model = model_find(name);
	const char *data = !model                       ? ""
	                   : model->input.width == 1    ? "text"
	                   : model->input.channels == 3 ? "colour-digits"
	                                                : "digits";
	char why[512];

	snprintf(why, sizeof why, "no network %s", name);
	if (!model || data_open(&t->data, data, model->input.height, why, sizeof why) < 0 ||
	    net_open(&t->model, model, t->data.shape, why, sizeof why) < 0)
		training_die(t, why);
	t->worker = worker_open(&t->model, &t->data);
	t->param = floats(t);
	t->velocity = floats(t);
	t->grad = floats(t);
	t->mean = floats(t);
	if (!t->worker || !t->param || !t->velocity || !t->grad || !t->mean)
		training_die(t, "out of memory");
}

void training_close(struct training *t)
{
	worker_close(t->worker);
	data_close(&t->data);
	free(t->param);
	free(t->velocity);
	free(t->grad);
	free(t->mean);
}

struct crumb_slice *training_cut(const struct training *t, const struct plan *plan, size_t *count)
{
	*count = crumb_slices_cut(t->model.slice, t->model.slice_count, plan->longest_slice, NULL);
	struct crumb_slice *slice = calloc(*count, sizeof *slice);

	if (!slice)
		training_die(t, "out of memory");
	crumb_slices_cut(t->model.slice, t->model.slice_count, plan->longest_slice, slice);
	return slice;
}

struct crumb_exchange_config training_config(const struct training *t)
{
	return (struct crumb_exchange_config){.slices = t->model.slice,
	                                      .slice_count = t->model.slice_count,
	                                      .learners = t->net->ranks,
	                                      .seed = 1,
	                                      .net = t->net};
}

void training_begin(struct training *t)
{
	init_parameters(&t->model, 1, t->param);
	memset(t->velocity, 0, t->model.parameters * sizeof *t->velocity);
}

void training_compute(struct training *t, size_t number, const struct pass_watch *watch)
{
	const size_t batch = t->model.places > 1 ? TRAINING_TEXTS : TRAINING_BATCH;
	uint32_t index[TRAINING_BATCH];
	double loss;

	for (size_t i = 0; i < batch; i++)
		index[i] = (uint32_t)(((number * t->net->ranks + t->net->rank) * batch + i) %
		                      t->data.train.count);
	if (worker_gradient(t->worker, t->param, index, batch, NULL, t->grad, &loss, watch) < 0)
		training_die(t, worker_why(t->worker));
}

void training_move(struct training *t, const float *mean, double rate)
{
	const struct optimizer sgd = {.type = OPTIMIZER_SGD};
	const struct optimizer_step step = {.rate = rate, .momentum = 0.9, .number = 1};
	float *const moment[OPTIMIZER_MOST_MOMENTS] = {t->velocity};

	optimizer_move(&sgd, &step, t->param, moment, mean, 0, t->model.parameters);
}
