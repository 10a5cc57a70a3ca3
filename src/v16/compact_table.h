/* The numbers of the lanes in a mask of eight.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMPACT_TABLE_H
#define COMPACT_TABLE_H

#include <stdint.h>

/* By mask: a byte each, from the lowest byte on, in ascending order; then zeros. */
extern const uint64_t crumb_compact_table[256];

#endif
