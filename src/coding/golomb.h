/* Gaps: the sent elements of a sparse tensor as Golomb-Rice codes of the gaps between them, each followed by
 * a sign bit, or by the bits of a code that says what the element is worth (doc/FORMAT.md, 6).
 *
 * The Rice parameter k follows from the density alone. If elements are sent independently of each other, the
 * codes are at most 3 % longer than their entropy.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GOLOMB_H
#define GOLOMB_H

#include "base/bytes.h"

enum { GOLOMB_HEAD = 5 }; /* bytes of the number of sent elements, and of k */

/* Returns the room in which the gaps of any of n elements can be written, of which they take at most
 * 5 + ceil(n / 4) bytes. */
static inline size_t golomb_room(size_t n) { return 4 * divide_up(n, 16) + 16; }

/* Returns the number of sent elements of a payload. */
static inline uint64_t golomb_sent(const uint8_t *src) { return get_u32(src); }

/* These write the gaps of another payload of n elements and return their bytes. Fewer than 2^32 elements are
 * sent.
 *
 * map: two bits an element, 1 for plus and 2 for minus; count of them are sent. */
size_t crumb_golomb_of_map(uint8_t *dst, const uint8_t *map, size_t n, size_t count);
/* list: words of two times the element's number, plus 1 if its sign is plus. */
size_t crumb_golomb_of_list(uint8_t *dst, const uint8_t *list, size_t n, size_t count);
/* symbols: size bytes of bins' symbols of width bytes each (bins.h); three bytes after them may be read.
 * Returns 0 if 2^32 elements or more are sent. */
size_t crumb_golomb_of_bins(uint8_t *dst, const uint8_t *symbols, size_t size, size_t width, size_t bin,
                            size_t n);
/* codes: elements in order and the code of each, width bits, 1 to 32. n < 2^32. Up to eight bytes past the
 * gaps may be written. */
size_t crumb_golomb_of_codes(uint8_t *dst, const uint8_t *elements, const uint8_t *codes, unsigned width,
                             size_t n, size_t count);
/* Returns the most bytes that crumb_golomb_of_codes writes for at most this many of n elements. */
size_t crumb_golomb_codes_room(size_t n, size_t count, unsigned width);

struct golomb_reader {
	const uint8_t *bits;
	size_t size, bit; /* bytes of the codes; bits read */
	uint64_t n, next; /* elements of the tensor; the first that the next gap may lead to */
	uint32_t left;    /* sent elements not read yet */
	unsigned k;
};

/* Returns false if the head is not well-formed. */
bool crumb_golomb_open(struct golomb_reader *g, const uint8_t *src, size_t size, uint64_t n);

/* Reads up to GOLOMB_ROUND elements, as two times the number, plus 1 if the sign is minus. Returns how many;
 * 0 if there are none left, or one of them is not well-formed. */
enum { GOLOMB_ROUND = 64 };
size_t crumb_golomb_next(struct golomb_reader *g, uint64_t element[GOLOMB_ROUND]);

/* Returns true if the codes end where the last element that was read does, and unused bits are 0. */
bool crumb_golomb_ended(const struct golomb_reader *g);

/* Gaps with codes of width bits: an element that is sent is worth the level with its code's number or, with
 * width GOLOMB_EXACT, the f32 with its code's bits. n < 2^(64 - width). */
enum { GOLOMB_EXACT = 32 };
struct golomb_values {
	const uint8_t *src;
	size_t size;
	uint64_t n;
	unsigned width;
};

/* Returns true if the payload is well-formed, and all values that it holds are finite. */
bool crumb_golomb_check_values(const struct golomb_values *v);

/* Adds level[code], or weight times an exact value, to acc[i] for the sent elements first <= i < end of a
 * checked payload. */
void crumb_golomb_add_values(const struct golomb_values *v, const float *level, float weight, float *acc,
                             size_t first, size_t end);

/* A payload of signs is one of codes of width 1; its elements are worth plus or minus. */
static inline bool crumb_golomb_check(const uint8_t *src, size_t size, uint64_t n)
{
	return crumb_golomb_check_values(&(struct golomb_values){src, size, n, 1});
}
static inline void crumb_golomb_add(const uint8_t *src, size_t size, uint64_t n, float plus, float minus,
                                    float *acc, size_t first, size_t end)
{
	const float level[] = {plus, minus};
	crumb_golomb_add_values(&(struct golomb_values){src, size, n, 1}, level, 1, acc, first, end);
}

/* Returns how many elements of a checked payload are worth something other than 0. */
uint64_t crumb_golomb_sent_values(const struct golomb_values *v, const float *level);

#endif
