/* The state of training a network with one codec.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STATE_H
#define STATE_H

#include "program/file_lock.h"
#include "train/report/progress.h"
#include "train/train.h"
#include "train/update/optimizer.h"

#include <stdbool.h>

enum {
	TEST_CHUNK = 256,       /* test samples a task */
	STATISTICS_CHUNK = 128, /* training samples a task, for batch normalisation's statistics */
	STATISTICS_CHUNKS =
	        8 /* most tasks whose samples give batch normalisation its statistics for a test */
};

/* One learner's part of an epoch's report, sent to all ranks; the first learner of a rank reports for the
 * rank. */
struct told {
	uint64_t told;           /* 1; 0: its rank has been given up (plans/async.h) */
	double loss, owed;       /* loss: sum over its steps; owed: squared norm of its residuals */
	uint64_t steps;          /* that were not skipped */
	uint64_t skipped;        /* with --local-steps or plan async: those that it left out by itself */
	double test_loss;        /* sum over its part of the test set */
	uint64_t errors, tested; /* samples of it */
	uint64_t dense[CRUMB_KINDS], bytes[CRUMB_KINDS], elements[CRUMB_KINDS], sent[CRUMB_KINDS];
	uint64_t down[CRUMB_KINDS]; /* with plan async */
};

struct train {
	const struct train_setting *setting;
	const char *codec;
	const struct policy *policy; /* of that text; NULL with --codec auto */
	char run[4096]; /* identifies the run: lines of what has to be the same on all ranks and when it goes
	                   on */
	struct worker **worker; /* one a thread */
	size_t workers;
	struct crumb_slice *slice; /* the network's slices, cut as the plan wants */
	size_t slices;
	struct crumb_exchange *exchange;
	struct crumb_tuner *tuner; /* of the exchange, with --codec auto; NULL otherwise */
	size_t first, own;         /* this rank's learners */
	float *param, *mean;
	float *moment[OPTIMIZER_MOST_MOMENTS]; /* the optimizer's; with --local-steps the outer one's */
	struct outer *outer;                   /* by own learner; NULL without --local-steps */
	float *average;                        /* of the parameters; NULL: none is wanted */
	float *tested;                         /* a test's parameters and statistics */
	float *statistics;                     /* by chunk */
	float *states[2];  /* of the own learners' samples: at this step's begin and end; NULL unless they are
	                      carried */
	float **grad;      /* by own learner */
	float *share;      /* of a batch, by learner of all */
	double *loss;      /* of a step, by own learner */
	struct told *mine; /* by own learner */
	struct told *all;  /* by learner of all */
	uint32_t *order;   /* of the epoch's samples */
	size_t step;       /* since the start of the run */
	unsigned lost;     /* ranks that have been given up, and are logged */
	uint64_t moves;    /* of the parameters: steps that were not skipped */
	struct file_lock lock; /* on this rank's checkpoints */
	struct progress progress;
	struct arrival *arrival;   /* NULL: nobody asked, or there are other ranks */
	struct layer_probe *probe; /* by layer; NULL: nobody asked, or the first learner is not here */
	/* for the tasks of one step */
	size_t part; /* of the first own learner: part p of an epoch is the batch of learner p % N in step p /
	                N */
	double rate;
	bool exchanging;            /* after this step */
	size_t chunk;               /* of the test set: the first of the task */
	struct worker_score *score; /* by chunk of the test set */
	bool *failed;               /* by thread */
};

/* Returns the steps of an epoch. */
size_t train_steps(const struct train_setting *setting);

/* Returns the tasks of a test. */
size_t train_test_chunks(const struct train_setting *setting);

/* ---- train.c ---- */

/* Returns the learning rate at a point of the run, in epochs. */
double train_rate(const struct train *train, double epoch);

/* Computes the gradients of parts t->part, t->part + 1, ... by the first `learners` own ones. 0, or -1 with a
 * line in why. */
int train_gradients(struct train *t, size_t learners, char *why, size_t cap);

/* Moves the shared weights by t->mean, at t->rate. Returns as above. */
int train_optimize(struct train *t, char *why, size_t cap);

/* ---- state.c ---- */

/* Opens the exchange, allocates, and initialises the parameters. 0, or -1 with a line in why. On any outcome
 * train_close may follow. */
int train_open(struct train *train, const struct train_setting *setting, size_t codec, char *why, size_t cap);
void train_close(struct train *train);

#endif
