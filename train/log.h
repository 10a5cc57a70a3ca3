/* The trainer's log: one JSON object a line, flushed line by line.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LOG_H
#define LOG_H

#include <stdio.h>
#include "options.h"
#include "report.h"

/* What all events of one codec's run have in common. */
struct log {
	FILE *file; /* NULL: no log is wanted, and all calls succeed */
	const struct options *options;
};

/* All return 0, or -1 with a line in why, which names the file. */
int log_open(struct log *log, const struct options *options, char *why, size_t cap);
int log_epoch(struct log *log, const char *codec, const struct report *epoch, char *why, size_t cap);
int log_done(struct log *log, const char *codec, const struct report *run, char *why, size_t cap);
int log_close(struct log *log, char *why, size_t cap);

#endif
