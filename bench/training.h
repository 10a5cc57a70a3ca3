/* A network in training, whose steps are timed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAINING_H
#define TRAINING_H

#include "exchange/exchange.h"
#include "exchange/transport.h"
#include "train/data/data.h"
#include "nets/net.h"
#include "train/worker.h"

enum { TRAINING_BATCH = 32 }; /* of a rank */

struct training {
	struct data data; /* drawn */
	struct net model;
	struct worker *worker;
	float *param, *velocity, *grad, *mean;
};

/* 0, or -1 with a line in why. */
int training_open(struct training *t, const char *model, char *why, size_t cap);
void training_close(struct training *t);

/* Of an exchange over net, a learner a rank; its plan and policies, and slices as the plan wants them cut,
 * are still to be said. */
struct crumb_exchange_config training_config(const struct training *t, struct transport *net);

/* Parameters as at first. */
void training_begin(struct training *t);

/* grad, of this rank's samples of the number-th step. 0, or -1: worker_why(t->worker). */
int training_compute(struct training *t, const struct transport *net, size_t number);

/* SGD with momentum. */
void training_move(struct training *t, const float *mean, double rate);

#endif
