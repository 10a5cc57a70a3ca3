/* The cost of a codec on this machine by element, measured on one thread over a gradient like crumb bench's
 * that is larger than the caches.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PRICE_H
#define PRICE_H

#include <crumb.h>
#include <stdbool.h>

struct price {
	double bytes;        /* of payload */
	double pack, unpack; /* seconds; pack is with CRUMB_KNOWN_FINITE */
	bool sums;           /* crumb_sum adds frames of different learners */
};

/* STATUS_OK, or STATUS_FAILED after a message. */
int price_measure(struct price *price, const crumb_codec *codec);

#endif
