/* An epoch with plan async, in which rank 0 has the optimizer and the others compute gradients
 * (plans/async.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASYNC_STEPS_H
#define ASYNC_STEPS_H

#include "train/state.h"

/* Takes the steps of an epoch, on the samples in t->order. 0, or -1 with a line in why. */
int async_steps(struct train *t, size_t epoch, struct report *report, char *why, size_t cap);

#endif
