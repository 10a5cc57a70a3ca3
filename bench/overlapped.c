/* The time of a training step with the exchange after the gradient and with both at once, in one run:
 *
 *    mpirun -n N overlapped MODEL MBIT DELAY_US STEPS SETTING...      a line of CSV for each setting
 *
 * A setting is "PLAN UP", codecs as crumb-train takes them; the mean comes down without loss. Each rank is a
 * learner with a batch of 32 drawn images, and computes with one thread. Each step is taken twice, in turns
 * first without and first with overlap, and ends the run if the means differ in a bit. The first WARM steps
 * are not counted. MBIT and DELAY_US are for the record.
 *
 * Columns: model, its parameters, ranks, MBIT, delay in ms, plan, codec, steps; medians over the steps of the
 * maximum over the ranks, without and with: seconds of a step, from samples to the mean, and of its part
 * after the gradient; and by how much of the latter, without, the step is shorter with: the share that is
 * hidden.
 *
 * SPDX-License-Identifier: MIT */
#include "bench/ring.h"
#include "bench/training.h"
#include "exchange/policy.h"
#include "exchange/seconds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM = 10, MOST_STEPS = 1000, WAYS = 2 };

struct bench {
	struct training training;
	const char *mbit, *delay_us;
	size_t steps;
};

/* One of two ways to take a step, without overlap and with. */
struct way {
	struct crumb_exchange *x;
	bool overlaps;
	float *mean;
	double step[MOST_STEPS], wait[MOST_STEPS];
};

static void final(void *arg, size_t at) { crumb_exchange_final(arg, 0, at); }

static void take(struct bench *b, struct way *way, size_t number, double *step, double *wait)
{
	const float *const grads[] = {b->training.grad};
	const struct pass_watch watch = {final, way->x};

	ring_barrier();
	const double begin = crumb_seconds();
	if (way->overlaps && crumb_exchange_begin(way->x, grads, b->training.share, way->mean) < 0)
		training_die(&b->training, crumb_exchange_why(way->x));
	training_compute(&b->training, number, way->overlaps ? &watch : NULL);
	const double computed = crumb_seconds();
	if (crumb_exchange_step(way->x, grads, b->training.share, way->mean) < 0)
		training_die(&b->training, crumb_exchange_why(way->x));
	const double end = crumb_seconds();
	*step = ring_most(end - begin);
	*wait = ring_most(end - computed);
}

/* Opens both ways of a setting. Returns the slices, which the caller frees. */
static struct crumb_slice *open_ways(struct bench *b, const char *plan_name, const char *up_text,
                                     struct way way[WAYS])
{
	const struct net *net = &b->training.model;
	const struct plan *plan = plan_name ? crumb_plan_find(plan_name) : NULL;
	struct policy up;
	char why[CRUMB_EXCHANGE_WHY_MAX];

	if (!plan || !plan->mean || !up_text || crumb_policy_parse(&up, up_text, NULL))
		training_die(&b->training, "a setting is \"PLAN UP\"");
	struct crumb_exchange_config config = training_config(&b->training);
	struct crumb_slice *slice = training_cut(&b->training, plan, &config.slice_count);
	config.slices = slice;
	config.plan = plan;
	config.policy = &up;
	for (int w = 0; w < WAYS; w++) {
		way[w].overlaps = w > 0;
		config.overlap = way[w].overlaps;
		way[w].mean = calloc(net->parameters, sizeof *way[w].mean);
		if (!way[w].mean)
			training_die(&b->training, "out of memory");
		if (crumb_exchange_start(&way[w].x, &config, why, sizeof why) < 0)
			training_die(&b->training, why);
	}
	return slice;
}

static void run(struct bench *b, const char *setting, struct way way[WAYS])
{
	char text[256];
	double before[2];

	snprintf(text, sizeof text, "%s", setting);
	const char *plan = strtok(text, " "), *up = strtok(NULL, " ");
	struct crumb_slice *slice = open_ways(b, plan, up, way);
	training_begin(&b->training);
	for (size_t i = 0; i < WARM + b->steps; i++) {
		for (size_t k = 0; k < WAYS; k++) {
			struct way *next = &way[(i + k) % WAYS];
			const size_t at = i < WARM ? 0 : i - WARM;
			take(b, next, i, &next->step[at], &next->wait[at]);
		}
		if (memcmp(way[0].mean, way[1].mean, b->training.model.parameters * sizeof(float)) != 0)
			training_die(&b->training, "the means differ");
		training_move(&b->training, way[0].mean, 0.01);
	}
	for (int w = 0; w < WAYS; w++) {
		before[w] = crumb_seconds_median(way[w].step, b->steps);
		way[w].wait[0] = crumb_seconds_median(way[w].wait, b->steps);
		free(way[w].mean);
		crumb_exchange_close(way[w].x);
	}
	if (b->training.net->rank == 0)
		printf("%s,%zu,%u,%s,%g,%s,\"%s\",%zu,%.6f,%.6f,%.6f,%.6f,%.3f\n",
		       b->training.model.model->name, b->training.model.parameters, b->training.net->ranks,
		       b->mbit, atof(b->delay_us) * 1e-3, plan, up, b->steps, before[0], before[1],
		       way[0].wait[0], way[1].wait[0], (before[0] - before[1]) / way[0].wait[0]);
	fflush(stdout);
	free(slice);
}

int main(int argc, char **argv)
{
	static struct bench b;
	static struct way way[WAYS];

	training_join(&b.training, "overlapped");
	if (argc < 6 || atol(argv[4]) < 1 || atol(argv[4]) > MOST_STEPS)
		training_die(&b.training, "usage: overlapped MODEL MBIT DELAY_US STEPS SETTING...");
	b.mbit = argv[2];
	b.delay_us = argv[3];
	b.steps = (size_t)atol(argv[4]);
	training_open(&b.training, argv[1]);
	for (int i = 5; i < argc; i++)
		run(&b, argv[i], way);
	training_close(&b.training);
	training_leave(&b.training);
	return 0;
}
