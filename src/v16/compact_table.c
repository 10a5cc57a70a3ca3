/* The table is computed by the preprocessor, so it is constant data.
 *
 * SPDX-License-Identifier: MIT */
#include "v16/compact_table.h"

/* Lane k of the mask m, in the byte after the lanes before it; lane 0 adds nothing, since it is 0. */
#define LANE(m, k) ((uint64_t)((m) >> (k)&1 ? (k) : 0) << 8 * __builtin_popcount((m) & ((1 << (k)) - 1)))
#define L1(m)      (LANE(m, 1) | LANE(m, 2) | LANE(m, 3) | LANE(m, 4) | LANE(m, 5) | LANE(m, 6) | LANE(m, 7))
#define L4(m)      L1(m), L1((m) + 1), L1((m) + 2), L1((m) + 3)
#define L16(m)     L4(m), L4((m) + 4), L4((m) + 8), L4((m) + 12)
#define L64(m)     L16(m), L16((m) + 16), L16((m) + 32), L16((m) + 48)

const uint64_t crumb_compact_table[256] = {L64(0), L64(64), L64(128), L64(192)};
