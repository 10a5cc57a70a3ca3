/* Options that contradict each other.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CRUMB_TRAIN_OPTIONS_REFUSALS_H
#define CRUMB_TRAIN_OPTIONS_REFUSALS_H

#include "train/options/options.h"

/* Returns 0, or -1 if options, each within its range, cannot go together; standard error then says which,
 * and why. */
int options_refuse(const struct options *options);

#endif
