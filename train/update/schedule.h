/* The learning rate over the course of a training: constant, step, poly or cosine.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

enum schedule_type { SCHEDULE_CONSTANT, SCHEDULE_STEP, SCHEDULE_POLY, SCHEDULE_COSINE };

struct schedule {
	enum schedule_type type;
	double every, factor; /* step: multiplied by factor every `every` epochs */
	double power;         /* poly: (1 - progress) to this power */
};

/* Parses "constant", "step:every=E,factor=F", "poly:power=P" or "cosine"; keys not named take their defaults.
 * 0, or -1 with *bad at the first offending character. */
int schedule_parse(struct schedule *schedule, const char *text, const char **bad);

/* Writes a text that schedule_parse makes the same of. */
void schedule_write(const struct schedule *schedule, char *text, size_t cap);

/* Returns the rate at `epoch` (0 at the start, with a fraction within an epoch) of `epochs`. */
double schedule_rate(const struct schedule *schedule, double initial, double epoch, double epochs);

/* Returns true if the rate depends on `epochs`. */
bool schedule_has_end(const struct schedule *schedule);

/* Returns the factor of the rate during warm-up (Goyal et al., arXiv 1706.02677): the share of the warm-up
 * epochs that are over at the end of the step. */
double schedule_warmup(double warmup, double epoch);

#endif
