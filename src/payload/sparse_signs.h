/* Sparse signs: a payload of the elements that are sent, each of which is plus or minus. Each side has one
 * value.
 *
 * A list has a word of 32 bits for each element that is sent, a map two bits for every element of the tensor;
 * the shorter one is written (doc/FORMAT.md, strom), or with entropy coding the gaps between elements
 * (coding/golomb.h). A codec that packs writes either the list, at the payload's beginning, or the map, 4
 * bytes a group, after the room for list and gaps; then sparse_signs_close makes the payload of what there
 * is.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SPARSE_SIGNS_H
#define SPARSE_SIGNS_H

#include "base/bytes.h"
#include "base/frame_view.h"
#include "base/per_isa.h"
#include "coding/golomb.h"
#include "v16/two_bits.h"

#define sparse_signs_list       PER_ISA(sparse_signs_list)
#define sparse_signs_close_list PER_ISA(sparse_signs_close_list)
#define sparse_signs_close      PER_ISA(sparse_signs_close)
#define sparse_signs_check      PER_ISA(sparse_signs_check)
#define sparse_signs_ascend     PER_ISA(sparse_signs_ascend)
#define sparse_signs_add        PER_ISA(sparse_signs_add)

enum { SPARSE_SIGNS_MAP = 1, SPARSE_SIGNS_GAPS = 4 }; /* the flags; 2 is topk's */
enum { SPARSE_SIGNS_PLAIN, SPARSE_SIGNS_ENTROPY };    /* the values of the codecs' key, coding */

static inline size_t sparse_signs_map_bytes(size_t n) { return 4 * divide_up(n, V16); }

/* Bytes that packing needs: for the payload, and behind it for the map, which is written before it is known
 * whether list or gaps are shorter. */
static inline size_t sparse_signs_bound(size_t n) { return golomb_room(n) + sparse_signs_map_bytes(n); }

/* Returns where the codec writes the map, or what it keeps there until the payload is made. */
static inline uint8_t *sparse_signs_map(uint8_t *dst, size_t n) { return dst + golomb_room(n); }

/* Returns the map's codes of 32 elements by their bitmasks: 1 is plus, 2 is minus. */
V16_FN uint64_t sparse_signs_codes(uint32_t plus, uint32_t minus)
{
	return v16_spread(plus) | v16_spread(minus) << 1;
}

/* A payload that is being made, of a list, or of a map once that is shorter. */
struct sparse_signs {
	uint8_t *payload, *map; /* where the list is written, and where the map */
	size_t n, count;        /* elements of the tensor, and those that are sent */
	bool listed, entropy;   /* listed: there is a list, no map */
};
static inline struct sparse_signs sparse_signs_open(uint8_t *dst, size_t n, bool listed, bool entropy)
{
	return (struct sparse_signs){dst, sparse_signs_map(dst, n), n, 0, listed, entropy};
}
/* Returns where the list's next count words have to be written, which are of elements first to end - 1. NULL
 * if the list would then be longer than the map of all elements before end: the list so far has been turned
 * into a map, and the caller goes on with that from element first. first is a multiple of 16. */
uint8_t *sparse_signs_list(struct sparse_signs *signs, size_t first, size_t end, size_t count);
/* Makes the payload; returns its size. */
size_t sparse_signs_close(struct sparse_signs *signs, uint16_t *flags);
/* Makes the payload at dst of a list, shorter than the map, that stands elsewhere. */
size_t sparse_signs_close_list(uint8_t *dst, const uint8_t *list, size_t n, size_t count, bool entropy,
                               uint16_t *flags);

/* Returns the flags that say which form the signs have; 0 is a list. */
static inline unsigned sparse_signs_form(unsigned flags)
{
	return flags & (SPARSE_SIGNS_MAP | SPARSE_SIGNS_GAPS);
}

/* Returns true if the part's share of the signs, which begin head bytes after the payload's beginning, is
 * well-formed. */
bool sparse_signs_check(const struct frame *frame, const struct part *part, size_t head);
/* Returns true if the part's share of count words >> shift is strictly increasing, the word before the share
 * included, and the last of all words is below n. */
bool sparse_signs_ascend(const struct part *part, const uint8_t *words, size_t count, unsigned shift,
                         uint64_t n);
/* acc += plus or minus for the elements from first to end - 1 that were sent. */
void sparse_signs_add(const uint8_t *src, size_t size, size_t n, unsigned form, float plus, float minus,
                      float *acc, size_t first, size_t end);

/* Returns the index of the first of count ascending words that is not below least. */
static inline size_t sparse_signs_search(const uint8_t *words, size_t count, uint64_t least)
{
	size_t from = 0;
	while (from < count) {
		const size_t middle = from + (count - from) / 2;
		if (get_u32(words + 4 * middle) < least)
			from = middle + 1;
		else
			count = middle;
	}
	return from;
}

/* Returns how many elements were sent. */
static inline uint64_t sparse_signs_sent(const uint8_t *src, size_t size, unsigned form)
{
	if (form == SPARSE_SIGNS_GAPS)
		return golomb_sent(src);
	if (!form)
		return size / 4;
	uint64_t sent = 0;
	for (size_t i = 0; i < size; i += 4)
		sent += (uint64_t)__builtin_popcount(get_u32(src + i));
	return sent;
}

#endif
