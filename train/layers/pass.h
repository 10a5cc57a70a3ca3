/* Forward and backward through a network for a fixed batch size. One pass belongs to one thread at a time,
 * and everything it computes is computed by that thread.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASS_H
#define PASS_H

#include "nets/net.h"
#include "train/data/random.h"

struct pass;

/* To train, net->dropout applies, and batch normalisation takes its statistics from the batch; to test, from
 * net->statistics floats that lie behind the parameters. */
enum pass_use { PASS_TRAIN, PASS_TEST };

/* net must outlive it. NULL with a line in why. */
struct pass *pass_open(const struct net *net, size_t batch, enum pass_use use, char *why, size_t cap);
void pass_close(struct pass *pass);

/* [batch][channels][height][width], for the caller to fill. */
float *pass_input(struct pass *pass);

/* Draws what dropout takes from a sample of the batch, to train; until then it takes all. */
void pass_drop(struct pass *pass, size_t sample, struct random random);

/* Computes the logits from the input and net->parameters floats, and to test the statistics after them. 0 or
 * -1. */
int pass_forward(struct pass *pass, const float *param);
const float *pass_logits(const struct pass *pass); /* [batch][places][classes] */

/* After pass_forward to train: the batch's statistics, net->statistics floats. */
void pass_statistics(const struct pass *pass, float *to);

/* Computes grad, net->parameters floats, overwritten, from the loss's gradient by the logits, which the
 * caller has filled in after pass_forward, to train. 0 or -1. */
float *pass_logits_gradient(struct pass *pass);
int pass_backward(struct pass *pass, float *grad);

/* What failed. */
const char *pass_why(const struct pass *pass);

#endif
