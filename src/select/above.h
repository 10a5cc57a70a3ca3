/* Sparse selection, chunk by chunk: r += g with a bitmask of the elements that are large then, and compaction
 * of that bitmask while the chunk is in L1.
 *
 * Few elements are large and most groups of sixteen have none, so the first loop tests none of them. The
 * second one compacts the numbers of the groups that have some, without a branch on the bits, which would be
 * mispredicted; its caller goes through the bits of these groups alone.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ABOVE_H
#define ABOVE_H

#include "base/bytes.h"
#include "base/per_isa.h"
#include "v16/v16.h"

#define above_add PER_ISA(above_add)

enum { ABOVE_CHUNK = 1024, ABOVE_GROUPS = ABOVE_CHUNK / V16 };

/* Bitmask of the elements of one chunk with magnitude >= t, a word a group. */
struct above {
	size_t end;   /* first element after the chunk */
	size_t count; /* bits that are set */
	size_t groups;
	uint16_t bits[ABOVE_GROUPS];
};

/* r += grad for the chunk that begins at element first of n; its elements that then have magnitude >= t > 0
 * are marked in above. */
void above_add(float *r, const void *grad, enum crumb_dtype type, size_t first, size_t n, float t,
               struct above *above);

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
