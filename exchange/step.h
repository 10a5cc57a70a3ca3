/* A step: one call of crumb_exchange_step. Its value is handed down from there to the tasks of threads: a
 * back trace has the gradient all the way. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STEP_H
#define STEP_H

#include <stdbool.h>
#include "exchange/exchange_state.h"

struct step {
	struct crumb_exchange *x; /* tasks get one pointer */
	const float *const *grad; /* [own learner] */
	const float *weight;      /* [learner of all] */
	float *mean;
	bool even;                /* all weights are equal */
	size_t own;               /* this rank's learners that take part: the first ones */
	bool count_sent;          /* statistics of this step count the elements sent */
	size_t due;               /* floats that each learner agrees on, over all slices */
	struct message_head head; /* begins every message of this step */
	float **sum;              /* [own learner]: what grad is after a change; NULL: it is the caller's */
};

/* Begins a step, whose gradients are grad. weight, mean: NULL if there are none. */
struct step crumb_step_begin(struct crumb_exchange *x, const float *const *grad, const float *weight,
                             float *mean);

/* Adds a step that succeeded to the statistics. */
void crumb_step_count(const struct step *step);

/* Adds the wall time since the last call to *seconds. */
void crumb_step_lap(struct crumb_exchange *x, double *seconds);

/* Returns error. Writes a line to x->why, after step and rank, unless an earlier reason is there. */
int crumb_step_fail(struct crumb_exchange *x, int error, const char *format, ...);

/* ---- reconfigure.c: the step after a change ---- */

/* Adds the residuals of before the change to the gradients: step->grad is then step->sum. 0 or
 * CRUMB_EMEMORY. */
int crumb_reconfigure_begin(struct step *step);

/* Frees the sums, and after a step that was not skipped what the exchange was before the change. */
void crumb_reconfigure_end(struct step *step, int error);

#endif
