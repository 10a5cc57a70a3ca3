/* The cost of a codec on this machine by element, measured on one thread over 16 MiB of a gradient like crumb
 * bench's.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PRICE_H
#define PRICE_H

#include <crumb.h>
#include <stdbool.h>

struct price {
	double bytes;        /* of payload */
	double pack, unpack; /* seconds; pack looks for what is not finite */
	bool sums;           /* crumb_sum adds frames of different learners */
};

/* STATUS_OK, or STATUS_FAILED after a message. */
int price_measure(struct price *price, const crumb_codec *codec);

#endif
