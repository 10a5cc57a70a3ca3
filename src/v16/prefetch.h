/* Software prefetching, and from which size on it is worth it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREFETCH_H
#define PREFETCH_H

#include <stddef.h>
#include <stdint.h>

enum {
	PREFETCH_BYTES = 6144, /* distance ahead in a stream */
	L2_ELEMENTS = 1 << 16, /* a tensor of so many f32 and its residual fit L2 */
};

/* Distance for loops that the hardware prefetcher follows, too: PREFETCH_BYTES, or 0 on CPUs where software
 * prefetching slows them down (isa.c). */
extern size_t crumb_stream_prefetch;

/* Prefetches the cache line distance bytes after at, which may lie past the end of the array. */
static inline void prefetch(const void *at, size_t distance)
{
	__builtin_prefetch((const void *)((uintptr_t)at + distance));
}

#endif
