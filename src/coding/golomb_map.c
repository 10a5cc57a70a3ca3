/* The gaps of a map: its elements are listed and coded a turn at a time, with AVX2 and AVX-512 without a
 * branch that could be mispredicted, and what is left to do one after another is to join the codes.
 *
 * SPDX-License-Identifier: MIT */
#include "coding/golomb_write.h"
#include "v16/two_bits.h"

enum { TURN = 1024 /* elements */, ROOM = 56 /* bits of a word, behind seven at most, and one is left */ };

/* Lists those of n elements that the map shows, each its number times two, and 1 for minus; returns how many
 * there are. A group of their neighbours follows, so that all may be gone through by groups. */
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
	const size_t count = (size_t)(at - (uint8_t *)list) / 4;
	if (count)
		v16_storei(list + count, v16_addi(v16_seti(list[count - 1] + 2), bits_places()));
	return count;
}

/* Codes of a turn's elements but the first, two joined at a time, if they have room together. */
struct pairs {
	uint64_t code[TURN / 2 + V16];
	uint32_t bits[TURN / 2 + V16]; /* of each */
	uint32_t most;                 /* bits of the longest one */
};

static void pairs_of(struct pairs *pairs, const uint32_t *list, size_t count, unsigned k)
{
	const uint32_t *const next = list + 1;
	const uint32_t remainder = (UINT32_C(1) << k) - 1;
	const size_t end = divide_up(count - 1, V16) * V16;
	uint32_t code[TURN + V16], zeros[TURN + V16], most = 0;
	for (size_t i = 0; i < end; i++) {
		const uint32_t gap = (next[i] >> 1) - (list[i] >> 1) - 1;
		code[i] = 1 | (gap & remainder) << 1 | (next[i] & 1) << 1 << k;
		zeros[i] = gap >> k;
		most = zeros[i] > most ? zeros[i] : most;
	}
	pairs->most = most + k + 2;
	if (2 * pairs->most > ROOM)
		return;
	for (size_t i = 0; i < end / 2; i++) {
		const uint32_t before = zeros[2 * i], between = before + zeros[2 * i + 1] + k + 2;
		pairs->code[i] = (uint64_t)code[2 * i] << before | (uint64_t)code[2 * i + 1] << between;
		pairs->bits[i] = between + k + 2;
	}
}

/* Writes pairs from number i on, so many at once, if they have room; returns how far it got. */
static inline size_t put_pairs(struct gaps_writer *w, const struct pairs *pairs, size_t i, size_t end,
                               const unsigned together)
{
	if (2 * together * pairs->most > ROOM)
		return i;
	for (; i + together <= end; i += together) {
		for (size_t j = i; j < i + together; j++) {
			w->bits |= pairs->code[j] << w->count;
			w->count += pairs->bits[j];
		}
		gaps_flush(w);
	}
	return i;
}

/* Writes those of a turn that begins with element first, at least one. Returns how many are minus. */
static size_t put_turn(struct gaps_writer *writer, size_t first, const uint32_t *list, size_t count)
{
	struct gaps_writer w = *writer;
	struct pairs pairs;
	size_t i = 0, minus = 0;
	gaps_put(&w, first + (list[0] >> 1), list[0] & 1);
	pairs_of(&pairs, list, count, w.k);
	i = put_pairs(&w, &pairs, i, (count - 1) / 2, 2);
	i = 2 * put_pairs(&w, &pairs, i, (count - 1) / 2, 1);
	w.next = first + (list[i] >> 1) + 1;
	for (i++; i < count; i++)
		gaps_put(&w, first + (list[i] >> 1), list[i] & 1);
	*writer = w;
	for (i = 0; i < count; i++)
		minus += list[i] & 1;
	return minus;
}

size_t golomb_of_map(uint8_t *dst, const uint8_t *map, size_t n, size_t count, size_t *minus)
{
	struct gaps_writer w = crumb_golomb_begin(dst, n, count);
	*minus = 0;
	for (size_t i = 0; i < n; i += TURN, map += TURN / 4) {
		uint32_t list[TURN + V16];
		const size_t listed = list_turn(list, map, n - i < TURN ? n - i : TURN);
		if (listed)
			*minus += put_turn(&w, i, list, listed);
	}
	return gaps_end(&w, dst);
}
