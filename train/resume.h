/* Checkpoints of a training run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RESUME_H
#define RESUME_H

#include "train/state.h"

/* Writes one where the options say so, after the last epoch of *run. 0, or a negative error and a reason in
 * why. */
int train_save(struct train *t, const struct report *run, char *why, size_t cap);

/* Goes back to the newest one where the options say so, and *run to what it was then. Errors as above. */
int train_resume(struct train *t, struct report *run, char *why, size_t cap);

#endif
