/* Memory is asked for ahead of a loop that goes through it. In a stream the CPU's own prefetcher does so,
 * too: a Zen 5's leaves up to half of what memory gives to be had, an Emerald Rapids's up to a quarter;
 * beside a Zen 4's ours costs up to a sixth.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREFETCH_H
#define PREFETCH_H

#include <stddef.h>
#include <stdint.h>

enum { AHEAD = 6144 /* bytes */, CACHED = 1 << 16 /* elements: the second cache holds a slice of so many */ };

/* isa.c: AHEAD where that is faster in a stream, else 0, which asks for what is read at once. */
extern size_t crumb_stream_prefetch;

/* The cache line so many bytes after at, which may lie past all that may be read. */
static inline void prefetch(const void *at, size_t ahead)
{
	__builtin_prefetch((const void *)((uintptr_t)at + ahead));
}

#endif
