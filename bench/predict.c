/* The accuracy of predicted steps and of auto's choice on this network, in one run:
 *
 *    mpirun -n N predict MODEL MBIT DELAY_US      a line of CSV for each way to exchange
 *
 * Each rank is one learner with a batch of 32 drawn digits, and computes with one thread. The inputs of the
 * closed form are measured first: the link by crumb_probe, codecs by crumb_trial. Then the ways alternate, so
 * that disturbances of the machine meet all alike: MPI's all-reduce, auto's menu in the plans that it weighs,
 * and auto, which chooses before its first turn. A turn begins with the weights of the first step, but with
 * the residual of the turn before, and is a step to warm up and as many as TURN_SECONDS allow. Seconds of
 * computation are those of these steps: after an exchange, which evicts the caches, it takes longer than
 * alone.
 *
 * The line: model, its parameters, ranks, rate and delay as given, rate and latency as measured (Mbit/s, ms),
 * plan, policies of learners and of the mean, seconds of computation; of a step, as predicted and the median
 * as measured. auto's line has its choice, and no prediction.
 *
 * SPDX-License-Identifier: MIT */
#include "bench/ring.h"
#include "bench/training.h"
#include "exchange/auto/choose.h"
#include "exchange/auto/probe.h"
#include "exchange/auto/trial.h"
#include "exchange/auto/tuner.h"
#include "exchange/seconds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 3, CHOOSING = 6, STEPS = 8, MOST_WAYS = 7 }; /* auto also chooses once */
static const double TURN_SECONDS = 3;

/* One way to exchange, with its open exchange; NULL: MPI's all-reduce. */
struct way {
	struct crumb_exchange *x;
	struct crumb_tuner *tuner; /* auto's */
	struct crumb_auto_choice choice;
	const char *plan, *up, *down;
	double seconds[TURNS * STEPS], computing[TURNS * STEPS]; /* seconds of each counted step */
	size_t taken;
};

struct bench {
	struct training training;
	const char *mbit, *delay_us;
	size_t number; /* of the next step's samples */
	struct crumb_slice *part;
	size_t parts;
	struct crumb_auto_setting setting;
	struct crumb_auto_measured measured;
	struct way way[MOST_WAYS];
	size_t ways;
};

/* ---- a step --------------------------------------------------------------------------------- */

static void compute(struct bench *b) { training_compute(&b->training, b->number++, NULL); }

static void move(struct bench *b, const float *mean) { training_move(&b->training, mean, 0.001); }

static void begin(struct bench *b)
{
	training_begin(&b->training);
	b->number = 0;
}

/* Returns a step's seconds; *computing: those that are not the exchange's. */
static double take_step(struct bench *b, struct way *way, double *computing)
{
	const float *const grads[] = {b->training.grad};
	char why[CRUMB_EXCHANGE_WHY_MAX];
	const double start = crumb_seconds();

	compute(b);
	const double computed = crumb_seconds();
	if (way->tuner && crumb_tuner_step(way->tuner, grads, why, sizeof why) < 0)
		training_die(&b->training, why);
	if (!way->x)
		ring_mean(b->training.grad, b->training.model.parameters);
	else if (crumb_exchange_step(way->x, grads, b->training.share, b->training.mean) < 0)
		training_die(&b->training, crumb_exchange_why(way->x));
	const double exchanged = crumb_seconds();
	move(b, way->x ? b->training.mean : b->training.grad);
	const double end = crumb_seconds();
	*computing = end - start - (exchanged - computed);
	return end - start;
}

static void take_turn(struct bench *b, struct way *way)
{
	double computing;

	begin(b);
	ring_barrier();
	const double warm = ring_most(take_step(b, way, &computing));
	for (size_t i = 0; i < STEPS && (i == 0 || (double)(i + 1) * warm < TURN_SECONDS); i++, way->taken++)
		way->seconds[way->taken] = take_step(b, way, &way->computing[way->taken]);
}

/* Returns the median over all ways' steps of the slowest rank's seconds of computation, for which the others
 * wait. */
static double computing(const struct bench *b)
{
	double seconds[MOST_WAYS * TURNS * STEPS];
	size_t count = 0;

	for (size_t w = 0; w < b->ways; w++)
		for (size_t i = 0; i < b->way[w].taken; i++)
			seconds[count++] = ring_most(b->way[w].computing[i]);
	return crumb_seconds_median(seconds, count);
}

/* ---- inputs of the predictions */

/* Tries codecs over as many steps as a way takes until the middle of its turns, because the residual decides
 * how much a codec sends. Takes medians, because there are more ranks than cores, and a rank that waits for a
 * core is slow. */
static void measure_codecs(struct bench *b, struct crumb_auto_measured *mine)
{
	enum { TURN = 1 + STEPS, MIDDLE = TURNS * TURN / 2 };
	_Static_assert((int)MIDDLE <= (int)TRIAL_MOST, "a trial has no room for so many steps");
	struct trial *trial =
	        crumb_trial_open(&b->setting, b->training.model.slice, b->training.model.slice_count);

	if (!trial)
		training_die(&b->training, "out of memory");
	for (size_t i = 0; i < MIDDLE; i++) {
		if (i % TURN == 0)
			begin(b);
		compute(b);
		crumb_trial_step(trial, b->training.grad);
		move(b, b->training.grad);
	}
	crumb_trial_prices(trial, mine);
	crumb_trial_close(trial);
}

static void measure(struct bench *b)
{
	struct crumb_auto_measured mine = {.threads = 1}, all[TRAINING_RANKS];
	const struct crumb_exchange_config config = training_config(&b->training);
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];

	if (crumb_exchange_start(&x, &config, why, sizeof why))
		training_die(&b->training, why);
	measure_codecs(b, &mine);
	if (crumb_probe(&mine.link, b->training.net, CRUMB_PROBE_ALL, NULL,
	                4.0 * (double)b->training.model.parameters))
		training_die(&b->training, b->training.net->why);
	if (crumb_exchange_tell(x, &mine, sizeof mine, all))
		training_die(&b->training, crumb_exchange_why(x));
	b->measured = crumb_auto_slowest(all, b->training.net->ranks);
	crumb_exchange_close(x);
}

/* ---- ways ----------------------------------------------------------------------------------- */

static struct way *add(struct bench *b, const struct way *way)
{
	b->way[b->ways] = *way;
	return &b->way[b->ways++];
}

static void add_fixed(struct bench *b, enum crumb_auto_way kind, size_t line)
{
	struct crumb_auto_choice choice = {.way = kind};
	struct crumb_exchange *x;
	struct policy up, down;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	bool exact;

	for (int k = 0; k < CRUMB_KINDS; k++)
		choice.menu[k] = (unsigned char)line;
	crumb_auto_policies(&b->setting, &choice, &up, &down, &exact);
	const struct plan *plan = crumb_auto_plan(&choice);
	struct crumb_exchange_config config = training_config(&b->training);
	if (plan->longest_slice) {
		config.slices = b->part;
		config.slice_count = b->parts;
	}
	config.plan = plan;
	config.policy = &up;
	config.down = exact ? NULL : &down;
	if (crumb_exchange_start(&x, &config, why, sizeof why) < 0)
		training_die(&b->training, why);
	add(b, &(struct way){.x = x,
	                     .plan = plan->name,
	                     .up = crumb_auto_menu(line),
	                     .down = exact ? "exact" : crumb_auto_menu(line),
	                     .choice = choice});
}

static void add_auto(struct bench *b)
{
	const struct crumb_exchange_config config = training_config(&b->training);
	static struct crumb_script script = {.measures = true};
	static char up[512];
	struct way *way = add(b, &(struct way){.plan = "auto", .up = up});
	char why[CRUMB_EXCHANGE_WHY_MAX];

	if (crumb_tuner_open(&way->tuner, &way->x, &config, &script, why, sizeof why) < 0)
		training_die(&b->training, why);
	double unused;
	begin(b);
	for (int i = 0; i < CHOOSING; i++)
		take_step(b, way, &unused);
	const struct crumb_tuned *tuned = crumb_tuner_tell(way->tuner);
	snprintf(up, sizeof up, "auto: %s %s", tuned->plan, tuned->up);
	way->down = tuned->down;
	if (b->training.net->rank == 0)
		fprintf(stderr, "%s\n", tuned->line);
}

static void open_ways(struct bench *b)
{
	static const struct {
		enum crumb_auto_way way;
		size_t line;
	} fixed[] = {{CRUMB_AUTO_SHARD, 0},
	             {CRUMB_AUTO_GATHER, 1},
	             {CRUMB_AUTO_SHARD, 2},
	             {CRUMB_AUTO_GATHER, 3},
	             {CRUMB_AUTO_SHARD_PACKED, 3}};

	measure(b);
	add(b, &(struct way){.plan = "all-reduce", .up = "raw", .down = "exact"});
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		add_fixed(b, fixed[i].way, fixed[i].line);
	add_auto(b);
}

/* Returns the predicted seconds of a step; 0 for auto. */
static double predict(const struct bench *b, const struct way *way)
{
	const struct crumb_auto_measured *m = &b->measured;

	if (way->tuner)
		return 0;
	if (way->x)
		return crumb_auto_predict(&b->setting, m, &way->choice);
	const struct crumb_load load =
	        crumb_cost_ring(b->training.net->ranks, 4.0 * (double)b->training.model.parameters);
	return m->compute + load.messages * m->link.latency +
	       load.bytes / crumb_link_rate(&m->link, load.bytes / load.messages);
}

static void print(const struct bench *b, struct way *way)
{
	const struct crumb_auto_measured *m = &b->measured;
	const double predicted = predict(b, way);

	printf("%s,%zu,%u,%s,%s,%.1f,%.3f,%s,\"%s\",\"%s\",%.6f,", b->training.model.model->name,
	       b->training.model.parameters, b->training.net->ranks, b->mbit, b->delay_us,
	       8e-6 * crumb_link_rate(&m->link, 4.0 * (double)b->training.model.parameters),
	       1e3 * m->link.latency, way->plan, way->up, way->down, m->compute);
	if (predicted > 0)
		printf("%.6f", predicted);
	printf(",%.6f\n", crumb_seconds_median(way->seconds, way->taken));
}

static void run_all(struct bench *b)
{
	open_ways(b);
	for (int turn = 0; turn < TURNS; turn++)
		for (size_t i = 0; i < b->ways; i++)
			take_turn(b, &b->way[i]);
	b->measured.compute = computing(b);
	for (size_t i = 0; i < b->ways && b->training.net->rank == 0; i++)
		print(b, &b->way[i]);
	for (size_t i = 0; i < b->ways; i++) {
		crumb_tuner_close(b->way[i].tuner);
		crumb_exchange_close(b->way[i].x);
	}
}

static void open_all(struct bench *b, char **argv)
{
	training_open(&b->training, argv[1]);
	b->part = training_cut(&b->training, crumb_plan_find("shard"), &b->parts);
	if (crumb_auto_setting(&b->setting, b->training.model.slice, b->training.model.slice_count, b->part,
	                       b->parts, b->training.net->ranks, b->training.net->ranks, NULL))
		training_die(&b->training, "out of memory");
}

int main(int argc, char **argv)
{
	static struct bench b;

	training_join(&b.training, "predict");
	if (argc != 4)
		training_die(&b.training, "usage: predict MODEL MBIT DELAY_US");
	b.mbit = argv[2];
	b.delay_us = argv[3];
	open_all(&b, argv);
	run_all(&b);
	training_close(&b.training);
	free(b.part);
	training_leave(&b.training);
	return 0;
}
