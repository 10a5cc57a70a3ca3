/* The time of an exchange and of a whole step on this network, crumb's beside MPI's all-reduce of float32, in
 * one run:
 *
 *    mpirun -n N exchange MODEL MBIT DELAY_US STEPS SETTING...      a line of CSV for each setting
 *    mpirun -n N exchange transfer BYTES                            rate and round trip from rank 0 to rank 1
 *
 * A setting is "ring", or "PLAN UP DOWN" as crumb-train takes them. Each rank is one learner with a batch of
 * 32 drawn digits, or 8 pieces of written text, and computes with one thread. All settings begin with the
 * same parameters; the first WARM steps are not counted, or those of the first WARM_SECONDS, so that
 * residuals are as in training (the ring has none; one step of it is not counted). The network's MBIT and
 * DELAY_US are for the closed form of the ring, 2 (N - 1) (bytes / N / rate + delay), and for the record.
 *
 * Columns: model, its parameters, ranks, MBIT, delay in ms, plan, codec up and down, steps; medians over the
 * steps of the maximum over the ranks: seconds of an exchange, and of a whole step; the closed form; of rank
 * 0, by step: bytes of its messages, and bytes that left its host's interface; seconds of check and pack, of
 * swaps, of unpacking.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "bench/ring.h"
#include "bench/training.h"
#include "exchange/policy.h"
#include "exchange/seconds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM = 30, WARM_RING = 1, MOST_STEPS = 1000 };
static const double WARM_SECONDS = 20;

struct bench {
	struct training training;
	double mbit, delay_us;
	size_t steps;
};

struct seconds {
	double exchange[MOST_STEPS], step[MOST_STEPS];
};

/* Returns the bytes that have left this machine's eth0, headers included; 0 without one. */
static double interface_bytes(void)
{
	FILE *file = fopen("/proc/net/dev", "r");
	char line[512];
	double out = 0;

	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, " eth0: %*f %*f %*f %*f %*f %*f %*f %*f %lf", &out) == 1)
			break;
	if (file)
		fclose(file);
	return out;
}

/* ---- a setting ------------------------------------------------------------------------------ */

struct setting {
	char text[256];
	const char *plan, *up, *down; /* substrings of text; plan "ring": MPI's */
	struct crumb_slice *slice;
	struct crumb_exchange *x; /* NULL: MPI's */
};

static void setting_open(struct bench *b, struct setting *s, const char *text)
{
	static const char blank[] = " ";
	char why[CRUMB_EXCHANGE_WHY_MAX];
	struct policy up, down;

	*s = (struct setting){0};
	snprintf(s->text, sizeof s->text, "%s", text);
	s->plan = strtok(s->text, blank);
	s->up = strtok(NULL, blank);
	s->down = strtok(NULL, blank);
	if (s->plan && !strcmp(s->plan, "ring")) {
		s->up = s->down = "raw";
		return;
	}
	const struct plan *plan = s->plan ? crumb_plan_find(s->plan) : NULL;
	const bool exact = s->down && !strcmp(s->down, "exact");
	if (!plan || !s->down || crumb_policy_parse(&up, s->up, NULL) ||
	    (!exact && crumb_policy_parse(&down, s->down, NULL)))
		training_die(&b->training, "a setting is \"ring\" or \"PLAN UP DOWN\"");
	struct crumb_exchange_config config = training_config(&b->training);
	config.slices = s->slice = training_cut(&b->training, plan, &config.slice_count);
	config.plan = plan;
	config.policy = &up;
	config.down = exact ? NULL : &down;
	if (crumb_exchange_start(&s->x, &config, why, sizeof why) < 0)
		training_die(&b->training, why);
}

static void setting_close(struct setting *s)
{
	crumb_exchange_close(s->x);
	free(s->slice);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void exchange(struct bench *b, struct setting *s)
{
	struct training *t = &b->training;
	const float *const grads[] = {t->grad};

	if (!s->x)
		ring_mean(t->grad, t->model.parameters);
	else if (crumb_exchange_step(s->x, grads, t->share, t->mean) < 0)
		training_die(t, crumb_exchange_why(s->x));
}

/* Waits for all ranks before the exchange, so that another rank's computation is not measured. */
static void step(struct bench *b, struct setting *s, size_t number, double *exchange_seconds,
                 double *step_seconds)
{
	ring_barrier();
	const double begin = crumb_seconds();
	training_compute(&b->training, number, NULL);
	ring_barrier();
	const double computed = crumb_seconds();
	exchange(b, s);
	const double exchanged = crumb_seconds();
	training_move(&b->training, s->x ? b->training.mean : b->training.grad, 0.01);
	*step_seconds = ring_most(crumb_seconds() - begin);
	*exchange_seconds = ring_most(exchanged - computed);
}

static void run(struct bench *b, const char *text, struct seconds *seconds)
{
	const double ranks = b->training.net->ranks, bytes = 4.0 * (double)b->training.model.parameters;
	const double byte_seconds = b->mbit > 0 ? 8e-6 / b->mbit : 0;
	const double closed = 2 * (ranks - 1) * (bytes / ranks * byte_seconds + 1e-6 * b->delay_us);
	struct exchange_stats stats = {0};
	struct setting s;

	setting_open(b, &s, text);
	training_begin(&b->training);
	const size_t warm = s.x ? WARM : WARM_RING;
	double warmed = 0;
	size_t number = 0;
	while (number < warm && warmed < WARM_SECONDS) {
		step(b, &s, number++, &seconds->exchange[0], &seconds->step[0]);
		warmed += seconds->step[0];
	}
	const double before = interface_bytes();
	if (s.x)
		crumb_exchange_reset_stats(s.x);
	for (size_t i = 0; i < b->steps; i++)
		step(b, &s, number++, &seconds->exchange[i], &seconds->step[i]);
	const double out = (interface_bytes() - before) / (double)b->steps;
	if (s.x)
		crumb_exchange_read_stats(s.x, &stats);
	const double own = s.x ? (double)stats.link_out / (double)b->steps : 2 * (ranks - 1) / ranks * bytes;
	if (b->training.net->rank == 0) {
		const double steps = (double)b->steps;
		printf("%s,%zu,%u,%g,%g,%s,\"%s\",\"%s\",%zu,%.6f,%.6f,%.6f,%.0f,%.0f,%.6f,%.6f,%.6f\n",
		       b->training.model.model->name, b->training.model.parameters, b->training.net->ranks,
		       b->mbit, b->delay_us * 1e-3, s.plan, s.up, s.down, b->steps,
		       crumb_seconds_median(seconds->exchange, b->steps),
		       crumb_seconds_median(seconds->step, b->steps), closed, own, out,
		       (stats.check_seconds + stats.pack_seconds) / steps, stats.swap_seconds / steps,
		       stats.unpack_seconds / steps);
		fflush(stdout);
	}
	setting_close(&s);
}

static void transfer(const struct bench *b, size_t bytes)
{
	double best = 1e9, trip = 1e9;

	ring_transfer(bytes);
	for (int i = 0; i < 5; i++) {
		const double took = ring_transfer(bytes), empty = ring_transfer(1);
		best = took < best ? took : best;
		trip = empty < trip ? empty : trip;
	}
	if (b->training.net->rank == 0)
		printf("%.1f Mbit/s, %.3f ms\n", 8e-6 * (double)bytes / (best - trip / 2), 1e3 * trip);
}

int main(int argc, char **argv)
{
	static struct bench b;
	static struct seconds seconds;

	training_join(&b.training, "exchange");
	if (argc == 3 && !strcmp(argv[1], "transfer")) {
		transfer(&b, (size_t)atol(argv[2]));
	} else {
		if (argc < 6 || atol(argv[4]) < 1 || atol(argv[4]) > MOST_STEPS)
			training_die(
			        &b.training,
			        "usage: exchange MODEL MBIT DELAY_US STEPS SETTING... | exchange transfer BYTES");
		b.mbit = atof(argv[2]);
		b.delay_us = atof(argv[3]);
		b.steps = (size_t)atol(argv[4]);
		training_open(&b.training, argv[1]);
		for (int i = 5; i < argc; i++)
			run(&b, argv[i], &seconds);
		training_close(&b.training);
	}
	training_leave(&b.training);
	return 0;
}
