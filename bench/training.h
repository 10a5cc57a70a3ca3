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

enum { TRAINING_BATCH = 32, TRAINING_TEXTS = 8 }; /* of a rank: images, or pieces of text */

struct training {
	struct data data; /* drawn */
	struct net model;
	struct worker *worker;
	float *param, *velocity, *grad, *mean;
};

/* Opens the network. 0, or -1 with a line in why. */
int training_open(struct training *t, const char *model, char *why, size_t cap);
void training_close(struct training *t);

/* Returns an exchange's configuration over net, a learner a rank; plan, policies, and slices cut as the plan
 * wants them, are for the caller to set. */
struct crumb_exchange_config training_config(const struct training *t, struct crumb_exchange_net *net);

/* Resets the parameters to their first values. */
void training_begin(struct training *t);

/* Computes grad on this rank's samples of step `number`; watch may be NULL. 0, or -1: worker_why(t->worker).
 */
int training_compute(struct training *t, const struct crumb_exchange_net *net, size_t number,
                     const struct pass_watch *watch);

/* Takes a step of SGD with momentum. */
void training_move(struct training *t, const float *mean, double rate);

#endif
