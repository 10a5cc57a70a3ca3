/* Gaps, as they are written: one element after another.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GOLOMB_WRITE_H
#define GOLOMB_WRITE_H

#include "coding/golomb.h"
#include <string.h>

struct gaps_writer {
	uint8_t *at;
	uint64_t bits, next; /* bits that did not go out yet; the first element that may follow */
	unsigned count, k;   /* how many bits these are; the parameter */
};

/* Writes the head, with the parameter of so many of n elements. */
struct gaps_writer crumb_golomb_begin(uint8_t *dst, size_t n, size_t count);

/* Stores the bits, of which fewer than eight stay. Writes eight bytes, whatever there is. */
static inline void gaps_flush(struct gaps_writer *w)
{
	memcpy(w->at, &w->bits, sizeof w->bits);
	w->at += w->count / 8;
	w->bits >>= w->count & ~7u;
	w->count %= 8;
}

/* The quotient in zeros, a one, k bits of remainder, the sign. */
static inline void gaps_put(struct gaps_writer *w, uint64_t element, uint64_t negative)
{
	enum { ZEROS = 24 };
	const uint64_t gap = element - w->next, rest = gap & ((UINT64_C(1) << w->k) - 1);
	uint64_t zeros = gap >> w->k;
	w->next = element + 1;
	for (; zeros >= ZEROS; zeros -= ZEROS) {
		w->count += ZEROS;
		gaps_flush(w);
	}
	w->bits |= (1 | rest << 1 | negative << (w->k + 1)) << zeros << w->count;
	w->count += (unsigned)zeros + w->k + 2;
	gaps_flush(w);
}

static inline size_t gaps_end(const struct gaps_writer *w, const uint8_t *dst)
{
	return (size_t)(w->at - dst) + (w->count != 0);
}

#endif
