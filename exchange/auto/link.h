/* What a link does. TCP takes its time to reach a rate, and on a busy machine a long message has a better one
 * than a short message, so the time of a message is measured by length.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LINK_H
#define LINK_H

#include <stddef.h>

enum { LINK_FIRST = 1 << 16, LINK_LENGTHS = 6 };

struct crumb_link {
	double latency;            /* seconds of a swap of next to nothing */
	double wire[LINK_LENGTHS]; /* seconds that LINK_FIRST x 4^i bytes through each rank's port add */
};

/* The same rate, in bytes a second, for all lengths; INFINITY: nothing is sent. */
struct crumb_link crumb_link_even(double rate, double latency);

/* The slower of both in everything. */
struct crumb_link crumb_link_slower(const struct crumb_link *a, const struct crumb_link *b);

/* Bytes a second through a rank's port in a swap of so many bytes through it. */
double crumb_link_rate(const struct crumb_link *link, double bytes);

#endif
