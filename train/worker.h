/* What one thread needs to compute a learner's gradient, or errors on a part of the test set.
 *
 * SPDX-License-Identifier: MIT */
#ifndef WORKER_H
#define WORKER_H

#include "train/data/data.h"
#include "nets/net.h"

struct worker;

/* net and data must outlive it. NULL when out of memory. */
struct worker *worker_open(const struct net *net, const struct data *data);
void worker_close(struct worker *worker);

/* Of which seed and epoch samples are, where they are augmented or inputs dropped; until then of seed and
 * epoch 0. */
void worker_epoch(struct worker *worker, uint64_t seed, uint64_t epoch);

/* The gradient (net->parameters floats, overwritten) of the mean loss over these n training samples, and that
 * loss. A pure function of param, the samples and worker_epoch's. 0, or -1 and worker_why. */
int worker_gradient(struct worker *worker, const float *param, const uint32_t *index, size_t n, float *grad,
                    double *loss);

/* The statistics of batch normalisation, net->statistics floats, over these n training samples: means over
 * parts of at most WORKER_MOST samples. 0, or -1 and worker_why. */
#define WORKER_MOST 32
int worker_statistics(struct worker *worker, const float *param, const uint32_t *index, size_t n,
                      float *statistics);

/* param: net->parameters floats, and net->statistics after them. How many of the n test samples from first on
 * are misjudged, or of their places, and the sum of the losses there. 0, or -1 and worker_why. */
struct worker_score {
	size_t errors;
	double loss;
};
int worker_test(struct worker *worker, const float *param, size_t first, size_t n,
                struct worker_score *score);

const char *worker_why(const struct worker *worker);

#endif
