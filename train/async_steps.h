/* An epoch with plan async, in which rank 0 has the optimizer and the others compute gradients
 * (plans/async.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASYNC_STEPS_H
#define ASYNC_STEPS_H

#include "train/state.h"

/* On rank 0, says and logs which ranks have been given up since the last call. 0, or -1 with a line in why.
 */
int async_note_lost(struct train *t, size_t epoch, char *why, size_t cap);

/* Takes the steps of an epoch, on the samples in t->order. 0, or -1 with a line in why. */
int async_steps(struct train *t, size_t epoch, struct report *report, char *why, size_t cap);

#endif
