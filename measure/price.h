/* What a codec costs on this machine, an element: measured on one thread, over a gradient like crumb bench's
 * that caches do not hold.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PRICE_H
#define PRICE_H

#include <crumb.h>
#include <stdbool.h>

struct price {
	double bytes;        /* of payload */
	double pack, unpack; /* seconds; what packs has been told that the gradient is finite */
	bool sums;           /* crumb_sum adds frames of different learners */
};

/* STATUS_OK, or STATUS_FAILED after a message. */
int price_measure(struct price *price, const crumb_codec *codec);

#endif
