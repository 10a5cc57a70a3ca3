/* The gaps of a map: its elements are listed and coded a turn at a time, without a branch that could be
 * mispredicted, and what is left to do one after another is to join the codes.
 *
 * SPDX-License-Identifier: MIT */
#include "digits.h"
#include "gaps_write.h"
#include "v16.h"

enum { TURN = 512 /* elements */ };

/* Lists those of n elements that the map shows, each its number times two, and 1 for minus; returns how many
 * there are. */
static size_t list_turn(uint32_t list[TURN + V16], const uint8_t *map, size_t n)
{
	uint8_t *at = (uint8_t *)list;
	for (uint32_t i = 0; i < n; i += V16, map += 4) {
#ifdef P_HAS_LIST
		const v16i digit = bits_get(map), number = v16_addi(v16_seti(2 * i), bits_places());
		at = v16_list(at, v16_lti(v16_seti(0), digit), v16_addi(number, v16_shr(digit, 1)));
#else
		for (uint32_t bits = get_u32(map); bits; bits &= bits - 1)
			at = put_u32(at, 2 * i + v16_first_bit(bits));
#endif
	}
	return (size_t)(at - (uint8_t *)list) / 4;
}

/* Writes those of a turn that begins with element first, at least one. Where no code is long, two go out
 * together, behind seven bits at most: there are no zeros where k > 8, as a turn has no gap of 512. Returns
 * how many are minus. */
static size_t put_turn(struct gaps_writer *writer, size_t first, const uint32_t *list, size_t count)
{
	enum { LONG_K = 27, LONG_ZEROS = 16 };
	uint32_t code[TURN], zeros[TURN], any = 0, minus = 0;
	struct gaps_writer w = *writer;
	const unsigned k = w.k;
	const uint32_t rest = (UINT32_C(1) << k) - 1;
	for (size_t i = 1; i < count && k < LONG_K; i++) {
		const uint32_t gap = (list[i] >> 1) - (list[i - 1] >> 1) - 1;
		code[i] = 1 | (gap & rest) << 1 | (list[i] & 1) << (k + 1);
		zeros[i] = gap >> k;
		any |= zeros[i];
	}
	gaps_put(&w, first + (list[0] >> 1), list[0] & 1);
	size_t i = 1;
	for (; i + 2 <= count && k < LONG_K && any < LONG_ZEROS; i += 2) {
		for (size_t j = i; j < i + 2; j++) {
			w.bits |= (uint64_t)code[j] << (w.count + zeros[j]);
			w.count += zeros[j] + k + 2;
		}
		gaps_flush(&w);
		w.next = first + (list[i + 1] >> 1) + 1;
	}
	for (; i < count; i++)
		gaps_put(&w, first + (list[i] >> 1), list[i] & 1);
	*writer = w;
	for (i = 0; i < count; i++)
		minus += list[i] & 1;
	return minus;
}

size_t PER_ISA(gaps_of_map)(uint8_t *dst, const uint8_t *map, size_t n, size_t count, size_t *minus)
{
	struct gaps_writer w = crumb_gaps_begin(dst, n, count);
	*minus = 0;
	for (size_t i = 0; i < n; i += TURN, map += TURN / 4) {
		uint32_t list[TURN + V16];
		const size_t listed = list_turn(list, map, n - i < TURN ? n - i : TURN);
		if (listed)
			*minus += put_turn(&w, i, list, listed);
	}
	return gaps_end(&w, dst);
}
