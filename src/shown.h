/* A turn of packing in which few elements matter: r += g, and which are then great.
 *
 * Most groups of sixteen have none, and those that have are found by a loop without a branch that could be
 * mispredicted.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SHOWN_H
#define SHOWN_H

#include "codec.h"
#include "v16.h"

enum { SHOWN_TURN = 4096, SHOWN_GROUPS = SHOWN_TURN / V16 };

/* Which elements of a turn's groups are great, and the numbers of the groups in which some are. */
struct shown {
	size_t end;   /* of the turn */
	size_t great; /* elements */
	size_t count; /* groups in which some are */
	uint16_t bits[SHOWN_GROUPS];
	uint32_t group[SHOWN_GROUPS];
};

/* r += grad of elements first to n - 1 or less, a turn, and shows what is then of magnitude m > 0 or more.
 * The turn ends early where more than most are. cached: memory has not to be asked for any. */
void PER_ISA(shown_add)(float *r, const void *grad, enum crumb_dtype type, size_t first, size_t n, float m,
                        size_t most, bool cached, struct shown *shown);

#endif
