/* A turn of packing in which few elements matter: r += g, and which are then great.
 *
 * Most runs of 32 have none, and those that have are found by a loop without a branch that could be
 * mispredicted.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SHOWN_H
#define SHOWN_H

#include "codec.h"

enum { SHOWN_TURN = 1024, SHOWN_RUN = 32 };

/* Of a turn, the runs in which some are great, and which these are. */
struct shown {
	size_t count;
	uint16_t from[SHOWN_TURN / SHOWN_RUN]; /* the turn's first element on */
	uint32_t bits[SHOWN_TURN / SHOWN_RUN];
};

/* r += grad of elements first to end - 1, a turn, and shows what is then of magnitude m > 0 or more; returns
 * how many elements these are. cached: memory has not to be asked for any. */
size_t PER_ISA(shown_add)(float *r, const void *grad, enum crumb_dtype type, size_t first, size_t end,
                          float m, bool cached, struct shown *shown);

#endif
