/* Samples go through the network in micro-batches, small enough that activations stay in cache.
 *
 * SPDX-License-Identifier: MIT */
#include "train/worker.h"
#include "train/layers/loss.h"
#include "train/layers/pass.h"
#include "train/data/random.h"
#include "train/split.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST        WORKER_MOST /* samples a micro-batch */
#define MOST_PLACES 2048        /* of a micro-batch of more than one sample */

struct worker {
	const struct net *net;
	const struct data *data;
	struct pass *pass[2][MOST + 1]; /* by use and batch size, made when first needed */
	float *part;                    /* the gradient of the second and later micro-batches */
	uint8_t *label;                 /* of a micro-batch, [MOST][net->places] */
	size_t most;                    /* samples a micro-batch */
	uint64_t seed, epoch;
	char why[160];
};

struct worker *worker_open(const struct net *net, const struct data *data)
{
	struct worker *worker = calloc(1, sizeof *worker);
	if (!worker)
		return NULL;
	worker->net = net;
	worker->data = data;
	const size_t most = MOST_PLACES / (size_t)net->places;
	worker->most = most < 1 ? 1 : most < MOST ? most : MOST;
	worker->part = malloc(net->parameters * sizeof *worker->part);
	worker->label = malloc(MOST * (size_t)net->places);
	if (!worker->part || !worker->label) {
		worker_close(worker);
		return NULL;
	}
	return worker;
}

void worker_close(struct worker *worker)
{
	if (!worker)
		return;
	for (size_t i = 0; i <= MOST; i++) {
		pass_close(worker->pass[PASS_TRAIN][i]);
		pass_close(worker->pass[PASS_TEST][i]);
	}
	free(worker->part);
	free(worker->label);
	free(worker);
}

void worker_epoch(struct worker *worker, uint64_t seed, uint64_t epoch)
{
	worker->seed = seed;
	worker->epoch = epoch;
}

const char *worker_why(const struct worker *worker) { return worker->why; }

/* Returns the pass, opened when first needed; one pass serves both uses if nothing depends on the use. */
static struct pass *pass_for(struct worker *worker, size_t batch, enum pass_use use)
{
	const bool differ = worker->net->statistics > 0 || worker->net->dropout > 0;
	const enum pass_use kind = differ ? use : PASS_TRAIN;
	struct pass **pass = &worker->pass[kind][batch];
	if (!*pass)
		*pass = pass_open(worker->net, batch, kind, worker->why, sizeof worker->why);
	return *pass;
}

static int failed(struct worker *worker, const struct pass *pass)
{
	snprintf(worker->why, sizeof worker->why, "%s", pass_why(pass));
	return -1;
}

/* Runs n samples forward, from these states; worker->label has their labels. NULL on failure. */
static struct pass *forward(struct worker *worker, enum pass_use use, const float *param,
                            const struct samples *from, const uint32_t *index, size_t n, const float *states)
{
	const size_t places = (size_t)worker->net->places;
	struct pass *pass = pass_for(worker, n, use);
	if (!pass)
		return NULL;
	data_batch(worker->data, from, index, n, worker->seed, worker->epoch, pass_input(pass));
	for (size_t i = 0; i < n; i++)
		memcpy(worker->label + i * places, from->label + index[i] * places, places);
	for (size_t i = 0; i < n && use == PASS_TRAIN; i++)
		pass_drop(pass, i,
		          random_stream(worker->seed, RANDOM_DROPOUT, worker->epoch << 32 | index[i]));
	for (size_t i = 0; i < n && worker->net->carries; i++)
		pass_begin_state(pass, i, states ? states + i * worker->net->states : NULL);
	if (pass_forward(pass, param) < 0) {
		failed(worker, pass);
		return NULL;
	}
	return pass;
}

/* The last micro-batch's gradient on its way to the whole one. */
struct adding {
	const float *part; /* NULL: it is the whole one */
	float *grad;
	size_t end; /* elements from here on have been added */
	const struct pass_watch *watch;
};

static void add_final(void *arg, size_t at)
{
	struct adding *a = arg;
	for (size_t i = at; a->part && i < a->end; i++)
		a->grad[i] += a->part[i];
	a->end = at;
	if (a->watch)
		a->watch->final(a->watch->arg, at);
}

int worker_gradient(struct worker *worker, const float *param, const uint32_t *index, size_t n,
                    const struct worker_states *states, float *grad, double *loss,
                    const struct pass_watch *watch)
{
	const size_t classes = (size_t)worker->net->classes, places = (size_t)worker->net->places;
	const size_t parts = (n + worker->most - 1) / worker->most;
	double sum = 0;
	for (size_t p = 0; p < parts; p++) {
		const size_t first = split_first(n, parts, p), size = split_size(n, parts, p);
		const size_t state = first * worker->net->states;
		struct pass *pass = forward(worker, PASS_TRAIN, param, &worker->data->train, index + first,
		                            size, states ? states->from + state : NULL);
		if (!pass)
			return -1;
		for (size_t i = 0; i < size && states; i++)
			pass_end_state(pass, i, states->to + state + i * worker->net->states);
		const float *logits = pass_logits(pass);
		sum += loss_sum(logits, worker->label, size * places, classes, NULL);
		loss_gradient(logits, worker->label, size * places, classes, 1.0f / (float)(n * places),
		              pass_logits_gradient(pass));
		struct adding adding = {p > 0 ? worker->part : NULL, grad, worker->net->parameters,
		                        p + 1 == parts ? watch : NULL};
		const struct pass_watch own = {add_final, &adding};
		if (pass_backward(pass, p == 0 ? grad : worker->part, &own) < 0)
			return failed(worker, pass);
	}
	*loss = sum / (double)(n * places);
	return 0;
}

int worker_statistics(struct worker *worker, const float *param, const uint32_t *index, size_t n,
                      float *statistics)
{
	const size_t parts = (n + worker->most - 1) / worker->most, floats = worker->net->statistics;
	memset(statistics, 0, floats * sizeof *statistics);
	for (size_t p = 0; p < parts; p++) {
		struct pass *pass = forward(worker, PASS_TRAIN, param, &worker->data->train,
		                            index + split_first(n, parts, p), split_size(n, parts, p), NULL);
		if (!pass)
			return -1;
		pass_statistics(pass, worker->part);
		for (size_t i = 0; i < floats; i++)
			statistics[i] += worker->part[i] / (float)parts;
	}
	return 0;
}

int worker_test(struct worker *worker, const float *param, size_t first, size_t n, struct worker_score *score)
{
	uint32_t index[MOST];
	*score = (struct worker_score){0};
	for (size_t done = 0, size; done < n; done += size) {
		size = n - done < worker->most ? n - done : worker->most;
		for (size_t i = 0; i < size; i++)
			index[i] = (uint32_t)(first + done + i);
		struct pass *pass = forward(worker, PASS_TEST, param, &worker->data->test, index, size, NULL);
		if (!pass)
			return -1;
		size_t wrong;
		score->loss += loss_sum(pass_logits(pass), worker->label, size * (size_t)worker->net->places,
		                        (size_t)worker->net->classes, &wrong);
		score->errors += wrong;
	}
	return 0;
}
