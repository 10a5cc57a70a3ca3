/* Forward and backward through a network for a fixed batch size. One pass belongs to one thread at a time,
 * which does all of its computation.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASS_H
#define PASS_H

#include "nets/net.h"
#include "train/data/random.h"

struct pass;

/* Who is told, during backward, that the gradient is final from element `at` on: called with ever smaller
 * `at`, at last 0. */
struct pass_watch {
	void (*final)(void *arg, size_t at);
	void *arg;
};

/* Training applies net->dropout and takes batch normalisation's statistics from the batch; a test takes them
 * from the net->statistics floats after the parameters. */
enum pass_use { PASS_TRAIN, PASS_TEST };

/* Opens a pass. net must outlive it. NULL with a line in why. */
struct pass *pass_open(const struct net *net, size_t batch, enum pass_use use, char *why, size_t cap);
void pass_close(struct pass *pass);

/* Returns [batch][channels][height][width], for the caller to fill. */
float *pass_input(struct pass *pass);

/* Draws the dropout of a sample of the batch, in training; before that all is dropped. */
void pass_drop(struct pass *pass, size_t sample, struct random random);

/* Sets the first states of a sample's LSTMs, and returns the last ones, for a net that carries them:
 * net->states floats, layer by layer, h and then c. from: NULL for zeros. */
void pass_begin_state(struct pass *pass, size_t sample, const float *from);
void pass_end_state(const struct pass *pass, size_t sample, float *to);

/* Computes the logits from the input and net->parameters floats, in a test also the statistics after them. 0
 * or -1. */
int pass_forward(struct pass *pass, const float *param);
const float *pass_logits(const struct pass *pass); /* Returns the logits, [batch][places][classes]. */

/* Copies the batch's statistics, net->statistics floats, after pass_forward in training. */
void pass_statistics(const struct pass *pass, float *to);

/* Computes grad, net->parameters floats, overwritten, from the loss's gradient by the logits, which the
 * caller writes to pass_logits_gradient after pass_forward. watch may be NULL. 0 or -1. */
float *pass_logits_gradient(struct pass *pass);
int pass_backward(struct pass *pass, float *grad, const struct pass_watch *watch);

/* Returns a description of the failure. */
const char *pass_why(const struct pass *pass);

#endif
