/* Signs: a sparse tensor in which every element that is sent is one of two values, one for plus and one for
 * minus.
 *
 * Few are listed, each in a word of 32 bits; many are drawn on a map of two bits an element, whichever is
 * shorter (doc/FORMAT.md, strom). A codec draws the map, 4 bytes a group, and signs_close makes the payload
 * of it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SIGNS_H
#define SIGNS_H

#include "codec.h"
#include "v16.h"

enum { SIGNS_MAP = 1 }; /* the flag */

static inline size_t signs_map_bytes(size_t n) { return 4 * divide_up(n, V16); }

/* Room for the payload of signs, in which the map is drawn before it is known whether a list is shorter. */
static inline size_t signs_bound(size_t n) { return 2 * signs_map_bytes(n); }

/* Where the codec draws: behind where the list may go. */
static inline uint8_t *signs_map(uint8_t *dst, size_t n) { return dst + signs_map_bytes(n); }

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
static inline size_t signs_close(uint8_t *dst, size_t n, size_t count, uint16_t *flags)
{
	if (signs_listed(n, count)) {
		signs_list(dst, signs_map(dst, n), n);
		return 4 * count;
	}
	*flags |= SIGNS_MAP;
	memmove(dst, signs_map(dst, n), signs_map_bytes(n));
	return signs_map_bytes(n);
}

/* Whether a payload is well-formed: the list ascends, or the map is whole. */
static inline bool signs_check(const uint8_t *src, size_t size, size_t n, bool map)
{
	if (map) {
		if (size != signs_map_bytes(n))
			return false;
		uint32_t bad = 0;
		for (size_t i = 0; i < size; i += 4)
			bad |= get_u32(src + i) & get_u32(src + i) >> 1 & 0x55555555u;
		return !bad && (n % V16 == 0 || !(get_u32(src + size - 4) >> 2 * (n % V16)));
	}
	if (size % 4)
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

/* acc += plus or minus where the payload says so. */
V16_FN void signs_add(const uint8_t *src, size_t size, size_t n, bool map, float plus, float minus,
                      float *acc)
{
	if (!map) {
		for (size_t i = 0; i < size; i += 4) {
			const uint32_t word = get_u32(src + i);
			acc[word >> 1] += word & 1 ? plus : minus;
		}
		return;
	}
	for (size_t i = 0; i < n; i += V16, src += 4)
		for (uint32_t left = get_u32(src), code; left; left &= ~(3u << code)) {
			code = (uint32_t)__builtin_ctz(left) & ~1u;
			acc[i + code / 2] += left >> code & 1 ? plus : minus;
		}
}

static inline uint64_t signs_sent(const uint8_t *src, size_t size, bool map)
{
	if (!map)
		return size / 4;
	uint64_t sent = 0;
	for (size_t i = 0; i < size; i += 4)
		sent += (uint64_t)__builtin_popcount(get_u32(src + i));
	return sent;
}

#endif
