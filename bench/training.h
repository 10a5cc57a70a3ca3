/* A network in training, whose steps are timed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAINING_H
#define TRAINING_H

#include "exchange/exchange.h"
#include "exchange/plan.h"
#include "exchange/transport.h"
#include "train/data/data.h"
#include "nets/net.h"
#include "train/worker.h"

enum { TRAINING_BATCH = 32, TRAINING_TEXTS = 8 }; /* of a rank: images, or pieces of text */
enum { TRAINING_RANKS = 64 };

struct training {
	const char *program;
	struct crumb_exchange_net *net;
	float share[TRAINING_RANKS]; /* all alike */
	struct data data;            /* drawn */
	struct net model;
	struct worker *worker;
	float *param, *velocity, *grad, *mean;
};

/* Prints why, and ends all ranks. */
void training_die(const struct training *t, const char *why);

/* Joins the ranks; ends the program where it cannot. Every rank calls training_leave in the end. */
void training_join(struct training *t, const char *program);
void training_leave(struct training *t);

/* Opens the network, or ends all ranks. */
void training_open(struct training *t, const char *model);
void training_close(struct training *t);

/* Returns the network's slices, cut as the plan wants them, which the caller frees. */
struct crumb_slice *training_cut(const struct training *t, const struct plan *plan, size_t *count);

/* Returns an exchange's configuration, a learner a rank; plan, policies, and slices cut as the plan wants
 * them, are for the caller to set. */
struct crumb_exchange_config training_config(const struct training *t);

/* Resets the parameters to their first values. */
void training_begin(struct training *t);

/* Computes grad on this rank's samples of step `number`, or ends all ranks; watch may be NULL. */
void training_compute(struct training *t, size_t number, const struct pass_watch *watch);

/* Takes a step of SGD with momentum. */
void training_move(struct training *t, const float *mean, double rate);

#endif
