/* A link, by the time of messages of each length: TCP takes a while to reach its rate, and on a busy machine
 * long messages have a better rate than short ones.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LINK_H
#define LINK_H

#include <stddef.h>

enum { LINK_FIRST = 1 << 16, LINK_LENGTHS = 6 };

struct crumb_link {
	double latency;            /* seconds of a swap of next to nothing */
	double wire[LINK_LENGTHS]; /* seconds more if LINK_FIRST x 4^i bytes pass each rank's port */
};

/* Returns a link of the same rate, in bytes a second, for all lengths; INFINITY: nothing is sent. */
struct crumb_link crumb_link_even(double rate, double latency);

/* Returns the slower of both for each length. */
struct crumb_link crumb_link_slower(const struct crumb_link *a, const struct crumb_link *b);

/* Returns the bytes a second through a rank's port in a swap of that length. */
double crumb_link_rate(const struct crumb_link *link, double bytes);

#endif
