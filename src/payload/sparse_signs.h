/* Signs: a sparse tensor in which every element that is sent is one of two values, one for plus and one for
 * minus.
 *
 * Few are listed, each in a word of 32 bits; many are drawn on a map of two bits an element, whichever is
 * shorter (doc/FORMAT.md, strom); or, entropy-coded, their gaps. A codec lists signs, or draws the map, 4
 * bytes a group.
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
static const char *const sparse_signs_codings[] = {"plain", "entropy", NULL};

static inline size_t sparse_signs_map_bytes(size_t n) { return 4 * divide_up(n, V16); }

/* Room for the payload of signs, in which the map is drawn before it is known whether list or gaps are
 * shorter. */
static inline size_t sparse_signs_bound(size_t n) { return golomb_room(n) + sparse_signs_map_bytes(n); }

/* Where the codec draws: behind where list or gaps may go. */
static inline uint8_t *sparse_signs_map(uint8_t *dst, size_t n) { return dst + golomb_room(n); }

/* The codes of 32 elements: 1 is plus, 2 is minus. */
V16_FN uint64_t sparse_signs_codes(uint32_t plus, uint32_t minus)
{
	return v16_spread(plus) | v16_spread(minus) << 1;
}

/* Signs on their way into a payload: a list that begins it, or once that would be longer than a map the map,
 * of which the payload is made. */
struct sparse_signs {
	uint8_t *payload, *map; /* map: where it is drawn, behind the payload */
	size_t n, count;        /* elements, of which so many are sent */
	bool listed, entropy;
};
static inline struct sparse_signs sparse_signs_open(uint8_t *dst, size_t n, bool listed, bool entropy)
{
	return (struct sparse_signs){dst, sparse_signs_map(dst, n), n, 0, listed, entropy};
}
/* Where the next count words of the list go, of elements first to end - 1. Or NULL: the list would be longer
 * than the map of the elements up to there; then what was listed is drawn on it, and what follows is to be.
 * first is a multiple of sixteen. */
uint8_t *sparse_signs_list(struct sparse_signs *signs, size_t first, size_t end, size_t count);
/* Makes the payload and returns its size. */
size_t sparse_signs_close(struct sparse_signs *signs, uint16_t *flags);
/* Makes the payload at dst of a list, no longer than the map, that stands where the map would. */
size_t sparse_signs_close_list(uint8_t *dst, const uint8_t *list, size_t n, size_t count, bool entropy,
                               uint16_t *flags);

/* Of the flags, those that say how signs stand in the payload. */
static inline unsigned sparse_signs_form(unsigned flags)
{
	return flags & (SPARSE_SIGNS_MAP | SPARSE_SIGNS_GAPS);
}

/* Whether the signs behind so many bytes of head are well-formed: the list ascends, the map is whole, or the
 * gaps are. */
bool sparse_signs_check(const struct frame *frame, const struct part *part, size_t head);
/* Whether of count words, shifted down, those in the part ascend, each beside the one before, and the last of
 * all is below n. */
bool sparse_signs_ascend(const struct part *part, const uint8_t *words, size_t count, unsigned shift,
                         uint64_t n);
/* acc += plus or minus where the payload says so, for elements first to end - 1. */
void sparse_signs_add(const uint8_t *src, size_t size, size_t n, unsigned form, float plus, float minus,
                      float *acc, size_t first, size_t end);

/* The first of count words that is not below least; they ascend. */
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
