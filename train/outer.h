/* Outer steps (DiLoCo: Douillard et al., arXiv 2311.08105, Algorithm 1). Between two exchanges each learner
 * steps alone, with weights and an optimizer of its own; then learners exchange by what their weights have
 * moved, an outer gradient, and stochastic gradient descent with Nesterov's momentum moves the shared weights
 * by its mean. A learner's optimizer goes on from where it was, and a gradient that is not finite is left
 * out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OUTER_H
#define OUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/update/optimizer.h"

struct train;

/* This is a learner's own. */
struct outer {
	float *param;
	float *moment[OPTIMIZER_MOST_MOMENTS];
	uint64_t moves; /* steps that were not left out */
};

/* Allocates the own learners' t->outer. Returns false without memory; outer_close may follow. */
bool outer_open(struct train *t);
void outer_close(struct train *t);

/* Moves own learner l's weights by its gradient. Returns false if that is not finite and left out. */
bool outer_move(struct train *t, size_t l);

/* Replaces own learner l's gradient by its outer gradient. */
void outer_gradient(struct train *t, size_t l);

/* Gives own learner l the shared weights. */
void outer_share(struct train *t, size_t l);

/* Returns how many exchanges the first so many steps of a run have: one after every local_steps steps of an
 * epoch and after its last one. */
size_t outer_exchanges(size_t step, size_t epoch_steps, size_t local_steps);

#endif
