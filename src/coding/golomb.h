/* Gaps: the elements that a sparse tensor sends, each plus or minus, at nearly the entropy of where they are.
 *
 * What lies between one element and the next is a Golomb-Rice code, and the sign a bit (doc/FORMAT.md, 6).
 * Its parameter follows from the density alone, for which the code is at most 3 % longer than the entropy
 * while elements are sent independently.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GOLOMB_H
#define GOLOMB_H

#include "base/bytes.h"
#include "base/per_isa.h"

#define golomb_of_map PER_ISA(golomb_of_map)

enum { GOLOMB_HEAD = 5 }; /* the number of elements, and the parameter */

/* Room to write the gaps of any of n elements; what is written has at most 5 + ceil(n / 4) bytes. */
static inline size_t golomb_room(size_t n) { return 4 * divide_up(n, 16) + 16; }

/* All write the gaps of what another payload says and return their bytes. Fewer than 2^32 elements are sent.
 * map: two bits an element, 1 for plus, 2 for minus; it shows count elements; *minus becomes how many of
 * them are minus. */
size_t golomb_of_map(uint8_t *dst, const uint8_t *map, size_t n, size_t count, size_t *minus);
/* list: of each element its number times two, and 1 for plus. */
size_t crumb_golomb_of_list(uint8_t *dst, const uint8_t *list, size_t n, size_t count);
/* symbols, or 0 if there are more elements: size bytes of bins, a symbol of width bytes each (bins.h). Three
 * bytes behind them may be read. */
size_t crumb_golomb_of_bins(uint8_t *dst, const uint8_t *symbols, size_t size, size_t width, size_t bin,
                            size_t n);

/* A reader. One that stands after a payload's last element is at its end. */
struct golomb_reader {
	const uint8_t *bits;
	size_t size, bit; /* bytes; bits taken */
	uint64_t n, next; /* elements; the first that may follow */
	uint32_t left;    /* elements to come */
	unsigned k;
};
bool crumb_golomb_open(struct golomb_reader *g, const uint8_t *src, size_t size, uint64_t n);
/* The next elements, up to GOLOMB_ROUND: of each its number times two, and 1 for minus. 0 if there are none,
 * or one of them is not well-formed. */
enum { GOLOMB_ROUND = 64 };
size_t crumb_golomb_next(struct golomb_reader *g, uint64_t element[GOLOMB_ROUND]);

bool crumb_golomb_check(const uint8_t *src, size_t size, uint64_t n);
/* acc += plus or minus for elements first to end - 1, of a checked payload. */
void crumb_golomb_add(const uint8_t *src, size_t size, uint64_t n, float plus, float minus, float *acc,
                      size_t first, size_t end);

static inline uint64_t golomb_sent(const uint8_t *src) { return get_u32(src); }

#endif
