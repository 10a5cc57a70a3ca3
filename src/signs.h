/* Signs: a sparse tensor in which every element that is sent is one of two values, one for plus and one for
 * minus.
 *
 * Few are listed, each in a word of 32 bits; many are drawn on a map of two bits an element, whichever is
 * shorter (doc/FORMAT.md, strom); or, entropy-coded, their gaps. A codec draws the map, 4 bytes a group, and
 * signs_close makes the payload of it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SIGNS_H
#define SIGNS_H

#include "codec.h"
#include "gaps.h"
#include "v16.h"

enum { SIGNS_MAP = 1, SIGNS_GAPS = 4 }; /* the flags; 2 is topk's */
enum { SIGNS_PLAIN, SIGNS_ENTROPY };    /* the values of the codecs' key, coding */
static const char *const signs_codings[] = {"plain", "entropy", NULL};

static inline size_t signs_map_bytes(size_t n) { return 4 * divide_up(n, V16); }

/* Room for the payload of signs, in which the map is drawn before it is known whether list or gaps are
 * shorter. */
static inline size_t signs_bound(size_t n) { return gaps_room(n) + signs_map_bytes(n); }

/* Where the codec draws: behind where list or gaps may go. */
static inline uint8_t *signs_map(uint8_t *dst, size_t n) { return dst + gaps_room(n); }

/* The codes of a group: 1 is plus, 2 is minus. */
V16_FN uint32_t signs_code(uint16_t plus, uint16_t minus)
{
	return v16_spread(plus) | v16_spread(minus) << 1;
}

static inline bool signs_listed(size_t n, size_t count)
{
	return 4 * count < signs_map_bytes(n) && n <= INT32_MAX;
}

/* The list of what the map shows. */
static inline void signs_list(uint8_t *dst, const uint8_t *map, size_t n)
{
	for (size_t i = 0; i < n; i += V16, map += 4)
		for (uint32_t left = get_u32(map), code; left; left &= ~(3u << code)) {
			code = (uint32_t)__builtin_ctz(left) & ~1u;
			dst = put_u32(dst, ((uint32_t)i + code / 2) << 1 | (left >> code & 1));
		}
}

/* Makes the payload at dst of the map, which shows count elements, and returns its size. */
static inline size_t signs_close(uint8_t *dst, size_t n, size_t count, bool entropy, uint16_t *flags)
{
	const size_t plain = signs_listed(n, count) ? 4 * count : signs_map_bytes(n);
	if (entropy && count <= UINT32_MAX) {
		const size_t size = crumb_gaps_of_map(dst, signs_map(dst, n), n, count);
		if (size < plain) {
			*flags |= SIGNS_GAPS;
			return size;
		}
	}
	if (signs_listed(n, count)) {
		signs_list(dst, signs_map(dst, n), n);
		return plain;
	}
	*flags |= SIGNS_MAP;
	memmove(dst, signs_map(dst, n), plain);
	return plain;
}

/* The same of a list, no longer than the map, that stands where the map would. */
static inline size_t signs_close_list(uint8_t *dst, const uint8_t *list, size_t n, size_t count, bool entropy,
                                      uint16_t *flags)
{
	if (entropy) {
		const size_t size = crumb_gaps_of_list(dst, list, n, count);
		if (size < 4 * count) {
			*flags |= SIGNS_GAPS;
			return size;
		}
	}
	memcpy(dst, list, 4 * count);
	return 4 * count;
}

/* Of the flags, those that say how signs stand in the payload. */
static inline unsigned signs_form(unsigned flags) { return flags & (SIGNS_MAP | SIGNS_GAPS); }

/* Whether a payload is well-formed: the list ascends, the map is whole, or the gaps are. */
static inline bool signs_check(const uint8_t *src, size_t size, size_t n, unsigned form)
{
	if (form == SIGNS_GAPS)
		return crumb_gaps_check(src, size, n);
	if (form == SIGNS_MAP) {
		if (size != signs_map_bytes(n))
			return false;
		uint32_t bad = 0;
		for (size_t i = 0; i < size; i += 4)
			bad |= get_u32(src + i) & get_u32(src + i) >> 1 & 0x55555555u;
		return !bad && (n % V16 == 0 || !(get_u32(src + size - 4) >> 2 * (n % V16)));
	}
	if (form || size % 4)
		return false;
	uint64_t least = 0;
	for (size_t i = 0; i < size; i += 4) {
		const uint32_t at = get_u32(src + i) >> 1;
		if (at < least || at >= n)
			return false;
		least = (uint64_t)at + 1;
	}
	return true;
}

/* The first of count words that is not below least; they ascend. */
static inline size_t signs_search(const uint8_t *words, size_t count, uint64_t least)
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

/* acc += plus or minus where the payload says so, for elements first to end - 1. */
V16_FN void signs_add(const uint8_t *src, size_t size, size_t n, unsigned form, float plus, float minus,
                      float *acc, size_t first, size_t end)
{
	if (form == SIGNS_GAPS) {
		crumb_gaps_add(src, size, n, plus, minus, acc, first, end);
		return;
	}
	if (!form) {
		const size_t stop = signs_search(src, size / 4, (uint64_t)end << 1);
		for (size_t i = signs_search(src, stop, (uint64_t)first << 1); i < stop; i++) {
			const uint32_t word = get_u32(src + 4 * i);
			acc[word >> 1] += word & 1 ? plus : minus;
		}
		return;
	}
	src += signs_map_bytes(first);
	for (size_t i = first; i < end; i += V16, src += 4)
		for (uint32_t left = get_u32(src), code; left; left &= ~(3u << code)) {
			code = (uint32_t)__builtin_ctz(left) & ~1u;
			acc[i + code / 2] += left >> code & 1 ? plus : minus;
		}
}

static inline uint64_t signs_sent(const uint8_t *src, size_t size, unsigned form)
{
	if (form == SIGNS_GAPS)
		return gaps_sent(src);
	if (!form)
		return size / 4;
	uint64_t sent = 0;
	for (size_t i = 0; i < size; i += 4)
		sent += (uint64_t)__builtin_popcount(get_u32(src + i));
	return sent;
}

#endif
