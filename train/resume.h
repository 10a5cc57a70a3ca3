/* Checkpoints of a training run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RESUME_H
#define RESUME_H

#include "train/state.h"

/* Writes a checkpoint if the options want one after the last epoch of *run. 0, or a negative error and a
 * reason in why. */
int train_save(struct train *t, const struct report *run, char *why, size_t cap);

/* Restores the newest checkpoint if the options say so, and *run; begins the log, or resumes it. Errors as
 * above. */
int train_resume(struct train *t, struct report *run, char *why, size_t cap);

#endif
