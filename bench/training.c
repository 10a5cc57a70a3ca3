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

int training_open(struct training *t, const char *name, char *why, size_t cap)
{
	const struct model *model = model_find(name);
	const char *data = !model                       ? ""
	                   : model->input.width == 1    ? "text"
	                   : model->input.channels == 3 ? "colour-digits"
	                                                : "digits";

	snprintf(why, cap, "no network %s", name);
	if (!model || data_open(&t->data, data, model->input.height, why, cap) < 0 ||
	    net_open(&t->model, model, t->data.shape, why, cap) < 0)
		return -1;
	t->worker = worker_open(&t->model, &t->data);
	t->param = floats(t);
	t->velocity = floats(t);
	t->grad = floats(t);
	t->mean = floats(t);
	snprintf(why, cap, "out of memory");
	return t->worker && t->param && t->velocity && t->grad && t->mean ? 0 : -1;
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

struct crumb_exchange_config training_config(const struct training *t, struct crumb_exchange_net *net)
{
	return (struct crumb_exchange_config){.slices = t->model.slice,
	                                      .slice_count = t->model.slice_count,
	                                      .learners = net->ranks,
	                                      .seed = 1,
	                                      .net = net};
}

void training_begin(struct training *t)
{
	init_parameters(&t->model, 1, t->param);
	memset(t->velocity, 0, t->model.parameters * sizeof *t->velocity);
}

int training_compute(struct training *t, const struct crumb_exchange_net *net, size_t number,
                     const struct pass_watch *watch)
{
	const size_t batch = t->model.places > 1 ? TRAINING_TEXTS : TRAINING_BATCH;
	uint32_t index[TRAINING_BATCH];
	double loss;

	for (size_t i = 0; i < batch; i++)
		index[i] = (uint32_t)(((number * net->ranks + net->rank) * batch + i) % t->data.train.count);
	return worker_gradient(t->worker, t->param, index, batch, NULL, t->grad, &loss, watch);
}

void training_move(struct training *t, const float *mean, double rate)
{
	const struct optimizer sgd = {.type = OPTIMIZER_SGD};
	const struct optimizer_step step = {.rate = rate, .momentum = 0.9, .number = 1};
	float *const moment[OPTIMIZER_MOST_MOMENTS] = {t->velocity};

	optimizer_move(&sgd, &step, t->param, moment, mean, 0, t->model.parameters);
}
