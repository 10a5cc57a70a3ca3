/* A turn of packing in which few elements matter: r += g, and which are then great.
 *
 * Most groups have none, and those that have are found by a loop without a branch that could be mispredicted.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ABOVE_H
#define ABOVE_H

#include "base/bytes.h"
#include "base/per_isa.h"
#include "v16/v16.h"

#define above_add PER_ISA(above_add)

enum { ABOVE_CHUNK = 4096, ABOVE_GROUPS = ABOVE_CHUNK / V16 /* numbered in bytes */ };

/* Which elements of a turn's groups are great. */
struct above {
	size_t end;                      /* of the turn */
	size_t count;                    /* elements */
	size_t groups;                   /* the last one may be short */
	uint16_t bits[ABOVE_GROUPS + 1]; /* and behind the last group's none */
};

/* r += grad of elements first to n - 1 or less, a turn, and shows what is then of magnitude m > 0 or more.
 * The turn ends early where more than most are. cached: memory has not to be asked for any. */
void above_add(float *r, const void *grad, enum crumb_dtype type, size_t first, size_t n, float m,
               size_t most, bool cached, struct above *above);

/* Compacts the numbers of the groups whose bitmask is not 0; returns how many there are. */
static inline size_t above_groups(const struct above *above, uint8_t number[ABOVE_GROUPS + V16])
{
	uint8_t *at = number;
	size_t i = 0;
#ifdef P_HAS_LIST
	for (; i + V16 <= above->groups; i += V16)
		at = v16_list_numbers(at, v16_load_u16(above->bits + i), (unsigned)i);
#endif
	for (; i < above->groups; i++) { /* no branch that could be mispredicted */
		*at = (uint8_t)i;
		at += above->bits[i] != 0;
	}
	return (size_t)(at - number);
}

#endif
