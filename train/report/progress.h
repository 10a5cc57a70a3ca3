/* Progress on standard error: a line an epoch and, on a terminal, a bar.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PROGRESS_H
#define PROGRESS_H
#include "train/report/report.h"

#include <stdbool.h>
#include <stddef.h>

struct progress {
	bool quiet; /* another rank prints */
	const char *codec;
	size_t batch, epochs, steps; /* steps: of an epoch */
	size_t first, done;          /* steps before this run went on, and so far, over all epochs */
	double began, drawn;
};

void progress_begin(struct progress *progress, bool quiet, const char *codec, size_t batch, size_t epochs,
                    size_t steps);
void progress_step(struct progress *progress);
void progress_epoch(struct progress *progress, const struct report *epoch);

/* Prints a line of its own, and redraws the bar. */
void progress_note(struct progress *progress, const char *line);

#endif
