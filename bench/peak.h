/* How much a CPU computes where there is no memory: the arithmetic's side of the roofline.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PEAK_H
#define PEAK_H

#include <stdbool.h>
#include <stddef.h>

/* Each carries instructions of that set out, as many as stand for bytes bytes, independent of each other;
 * false if the set has none. */
typedef bool peak_function(const char *isa, size_t bytes);

/* An addition of vectors for sixteen elements of f32: what more of a CPU's units do than anything else. */
peak_function peak_operation;
/* What folds a checksum: two carry-less products for a vector. */
peak_function peak_fold;
/* The instruction of the checksum's CRC. */
peak_function peak_crc;

#endif
