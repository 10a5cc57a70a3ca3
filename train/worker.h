/* One thread's passes and buffers, to compute a learner's gradient or the errors on a part of the test set.
 *
 * SPDX-License-Identifier: MIT */
#ifndef WORKER_H
#define WORKER_H

#include "train/data/data.h"
#include "train/layers/pass.h"
#include "nets/net.h"

struct worker;

/* Opens a worker. net and data must outlive it. NULL when out of memory. */
struct worker *worker_open(const struct net *net, const struct data *data);
void worker_close(struct worker *worker);

/* Sets the seed and epoch of augmentation and dropout; 0 and 0 before. */
void worker_epoch(struct worker *worker, uint64_t seed, uint64_t epoch);

/* The LSTMs' states of samples, [n][net->states], before and after. */
struct worker_states {
	const float *from;
	float *to;
};

/* Computes the gradient (net->parameters floats, overwritten) of the mean loss over these n training samples,
 * and that loss: a pure function of param, the samples, their states and worker_epoch's. states: NULL unless
 * the net carries them; for one that does, NULL means zeros. watch: of the whole gradient; may be NULL. 0, or
 * -1 and worker_why. */
int worker_gradient(struct worker *worker, const float *param, const uint32_t *index, size_t n,
                    const struct worker_states *states, float *grad, double *loss,
                    const struct pass_watch *watch);

/* Computes batch normalisation's statistics, net->statistics floats, over these n training samples: means
 * over parts of at most WORKER_MOST samples. 0, or -1 and worker_why. */
#define WORKER_MOST 32
int worker_statistics(struct worker *worker, const float *param, const uint32_t *index, size_t n,
                      float *statistics);

/* Tests n samples from `first` on: misjudged samples, or places of samples, and the sum of the losses. param:
 * net->parameters floats, then net->statistics. 0, or -1 and worker_why. */
struct worker_score {
	size_t errors;
	double loss;
};
int worker_test(struct worker *worker, const float *param, size_t first, size_t n,
                struct worker_score *score);

const char *worker_why(const struct worker *worker);

#endif
