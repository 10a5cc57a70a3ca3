/* Compaction with AVX2: the numbers of the lanes in a mask of eight.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMPACT_TABLE_H
#define COMPACT_TABLE_H

#include <stdint.h>

/* Indexed by mask: the numbers, a byte each, in ascending order from the lowest byte on; then zeros. */
extern const uint64_t crumb_compact_table[256];

#endif
