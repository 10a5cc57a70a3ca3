/* Splits n things into parts whose sizes differ by at most one, larger parts first.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SPLIT_H
#define SPLIT_H

#include <stddef.h>

static inline size_t split_size(size_t n, size_t parts, size_t i) { return n / parts + (i < n % parts); }

static inline size_t split_first(size_t n, size_t parts, size_t i)
{
	return i * (n / parts) + (i < n % parts ? i : n % parts);
}

#endif
