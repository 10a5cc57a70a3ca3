/* How well steps are predicted, and how well auto chooses, on this network, in one run:
 *
 *   mpirun -n N predict MODEL MBIT DELAY_US STEPS     a line of CSV for each way to exchange
 *
 * Each rank is one learner with a batch of 32 drawn digits, and computes with one thread. First all that the
 * closed form wants is measured: computation, the link by crumb_probe, codecs by crumb_trial. Then each way
 * takes WARM and STEPS steps, one after another as in training: MPI's all-reduce, auto's menu in the plans
 * that it weighs, and auto.
 *
 * The line: model, its parameters, ranks, rate and delay as given, rate and latency as measured (Mbit/s, ms),
 * plan, policies of learners and of the mean, seconds of computation; of a step, as predicted and the median
 * as measured. auto's line has what it chose; nothing is predicted in it.
 *
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <auto.h>
#include <plan.h>
#include <probe.h>
#include <seconds.h>
#include <transport.h>
#include <trial.h>
#include <tuner.h>
#include "ring.h"
#include "training.h"

enum { WARM = 2, MOST_STEPS = 1000, MOST_RANKS = 64, AUTO_WARM = 6 };

struct bench {
	struct transport *net;
	struct training training;
	const char *mbit, *delay_us;
	size_t steps, number; /* of the next step's samples */
	float share[MOST_RANKS];
	struct crumb_slice *part;
	size_t parts;
	struct crumb_auto_setting setting;
	struct crumb_auto_measured measured;
};

static void die(const struct bench *b, const char *why)
{
	fprintf(stderr, "predict: rank %u: %s\n", b->net->rank, why);
	crumb_mpi_abort(b->net, 1);
}

/* ---- a step --------------------------------------------------------------------------------- */

static void compute(struct bench *b)
{
	if (training_compute(&b->training, b->net, b->number++) < 0)
		die(b, worker_why(b->training.worker));
}

static void move(struct bench *b, const float *mean) { training_move(&b->training, mean, 0.001); }

/* The median step of an exchange; x NULL: MPI's all-reduce. */
static double time_steps(struct bench *b, struct crumb_exchange *x, struct crumb_tuner *tuner)
{
	const float *const grads[] = {b->training.grad};
	const size_t warm = tuner ? AUTO_WARM : WARM;
	double seconds[MOST_STEPS];
	char why[CRUMB_WHY_MAX];

	ring_barrier();
	for (size_t i = 0; i < warm + b->steps; i++) {
		const double begin = crumb_seconds();
		compute(b);
		if (tuner && crumb_tuner_step(tuner, grads, why, sizeof why) < 0)
			die(b, why);
		if (!x)
			ring_mean(b->training.grad, b->training.model.parameters);
		else if (crumb_exchange_mean(x, grads, b->share, b->training.mean) < 0)
			die(b, crumb_exchange_why(x));
		move(b, x ? b->training.mean : b->training.grad);
		seconds[i < warm ? 0 : i - warm] = crumb_seconds() - begin;
	}
	return crumb_seconds_median(seconds, b->steps);
}

/* ---- what predictions rest on --------------------------------------------------------------- */

static void measure(struct bench *b)
{
	struct trial *trial =
	        crumb_trial_open(&b->setting, b->training.model.slice, b->training.model.slice_count);
	struct crumb_auto_measured mine = {.threads = 1}, all[MOST_RANKS];
	const struct crumb_exchange_config config = {.slices = b->training.model.slice,
	                                             .slice_count = b->training.model.slice_count,
	                                             .learners = b->net->ranks,
	                                             .seed = 1,
	                                             .net = b->net};
	struct crumb_exchange *x;
	struct crumb_link link;
	double seconds[TRIAL_STEPS];
	char why[CRUMB_WHY_MAX];

	if (!trial || crumb_exchange_open(&x, &config, why, sizeof why))
		die(b, "out of memory");
	compute(b);
	for (size_t i = 0; i < TRIAL_STEPS; i++) {
		ring_barrier();
		const double begin = crumb_seconds();
		compute(b);
		move(b, b->training.grad);
		seconds[i] = ring_most(crumb_seconds() - begin); /* the others wait for that rank */
		crumb_trial_step(trial, b->training.grad);
	}
	if (crumb_probe(&link, b->net, 4.0 * (double)b->training.model.parameters))
		die(b, b->net->why);
	mine.compute = crumb_seconds_median(seconds, TRIAL_STEPS);
	mine.link = link;
	crumb_trial_prices(trial, &mine);
	if (crumb_exchange_tell(x, &mine, sizeof mine, all))
		die(b, crumb_exchange_why(x));
	b->measured = crumb_auto_slowest(all, b->net->ranks);
	crumb_exchange_close(x);
	crumb_trial_close(trial);
}

static double predict_ring(const struct bench *b)
{
	const struct crumb_auto_measured *m = &b->measured;
	const struct crumb_load load =
	        crumb_load_ring(b->net->ranks, 4.0 * (double)b->training.model.parameters);

	return m->compute + load.messages * m->link.latency +
	       load.bytes / crumb_link_rate(&m->link, load.bytes / load.messages);
}

/* ---- ways ----------------------------------------------------------------------------------- */

static void print(const struct bench *b, const char *plan, const char *up, const char *down, double predicted,
                  double measured)
{
	const struct crumb_auto_measured *m = &b->measured;

	if (b->net->rank > 0)
		return;
	printf("%s,%zu,%u,%s,%s,%.1f,%.3f,%s,\"%s\",\"%s\",%.6f,", b->training.model.model->name,
	       b->training.model.parameters, b->net->ranks, b->mbit, b->delay_us,
	       8e-6 * crumb_link_rate(&m->link, 4.0 * (double)b->training.model.parameters),
	       1e3 * m->link.latency, plan, up, down, m->compute);
	if (predicted > 0)
		printf("%.6f", predicted);
	printf(",%.6f\n", measured);
	fflush(stdout);
}

static void begin(struct bench *b)
{
	training_begin(&b->training);
	b->number = 0;
}

static void run_fixed(struct bench *b, enum crumb_auto_way way, size_t line)
{
	struct crumb_auto_choice choice = {.way = way};
	struct crumb_exchange *x;
	struct policy up, down;
	char why[CRUMB_WHY_MAX];
	bool exact;

	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		choice.menu[kind] = (unsigned char)line;
	crumb_auto_policies(&b->setting, &choice, &up, &down, &exact);
	const struct plan *plan = crumb_auto_plan(&choice);
	const struct crumb_exchange_config config = {
	        .slices = plan->longest ? b->part : b->training.model.slice,
	        .slice_count = plan->longest ? b->parts : b->training.model.slice_count,
	        .plan = plan,
	        .policy = &up,
	        .down = exact ? NULL : &down,
	        .learners = b->net->ranks,
	        .seed = 1,
	        .net = b->net};
	if (crumb_exchange_open(&x, &config, why, sizeof why) < 0)
		die(b, why);
	begin(b);
	const double measured = time_steps(b, x, NULL);
	print(b, plan->name, crumb_auto_menu(line), exact ? "exact" : crumb_auto_menu(line),
	      crumb_auto_predict(&b->setting, &b->measured, &choice), measured);
	crumb_exchange_close(x);
}

static void run_auto(struct bench *b)
{
	const struct crumb_exchange_config config = {.slices = b->training.model.slice,
	                                             .slice_count = b->training.model.slice_count,
	                                             .learners = b->net->ranks,
	                                             .seed = 1,
	                                             .net = b->net};
	static struct crumb_script script = {.measures = true};
	struct crumb_exchange *x;
	struct crumb_tuner *tuner;
	char why[CRUMB_WHY_MAX];

	if (crumb_tuner_open(&tuner, &x, &config, &script, why, sizeof why) < 0)
		die(b, why);
	begin(b);
	const double measured = time_steps(b, x, tuner);
	const struct crumb_tuned *tuned = crumb_tuner_tell(tuner);
	char up[512];
	snprintf(up, sizeof up, "auto: %s %s", tuned->plan, tuned->up);
	print(b, "auto", up, tuned->down, 0, measured);
	if (b->net->rank == 0)
		fprintf(stderr, "%s\n", tuned->line);
	crumb_tuner_close(tuner);
	crumb_exchange_close(x);
}

static void run_all(struct bench *b)
{
	static const struct {
		enum crumb_auto_way way;
		size_t line;
	} ways[] = {{CRUMB_AUTO_SHARD, 0},
	            {CRUMB_AUTO_GATHER, 1},
	            {CRUMB_AUTO_SHARD, 2},
	            {CRUMB_AUTO_GATHER, 3},
	            {CRUMB_AUTO_SHARD_PACKED, 3}};

	begin(b);
	measure(b);
	begin(b);
	const double ring = time_steps(b, NULL, NULL);
	print(b, "all-reduce", "raw", "exact", predict_ring(b), ring);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		run_fixed(b, ways[i].way, ways[i].line);
	run_auto(b);
}

static void open_all(struct bench *b, char **argv)
{
	const size_t longest = crumb_plan_find("shard")->longest;
	char why[512];

	if (training_open(&b->training, argv[1], why, sizeof why) < 0)
		die(b, why);
	b->parts = crumb_slices_cut(b->training.model.slice, b->training.model.slice_count, longest, NULL);
	b->part = calloc(b->parts, sizeof *b->part);
	if (!b->part)
		die(b, "out of memory");
	crumb_slices_cut(b->training.model.slice, b->training.model.slice_count, longest, b->part);
	if (crumb_auto_setting(&b->setting, b->training.model.slice, b->training.model.slice_count, b->part,
	                       b->parts, b->net->ranks, b->net->ranks))
		die(b, "out of memory");
	for (unsigned r = 0; r < b->net->ranks; r++)
		b->share[r] = 1.0f / (float)b->net->ranks;
}

int main(int argc, char **argv)
{
	static struct bench b;
	char why[512];

	if (crumb_mpi_open(&b.net, 60, why, sizeof why) < 0) {
		fprintf(stderr, "predict: %s\n", why);
		return 1;
	}
	b.net->timeout = 300;
	b.steps = argc == 5 ? (size_t)atol(argv[4]) : 0;
	if (b.steps < 1 || b.steps > MOST_STEPS || b.net->ranks > MOST_RANKS)
		die(&b, "usage: predict MODEL MBIT DELAY_US STEPS");
	b.mbit = argv[2];
	b.delay_us = argv[3];
	open_all(&b, argv);
	run_all(&b);
	training_close(&b.training);
	free(b.part);
	crumb_mpi_close(&b.net);
	return 0;
}
