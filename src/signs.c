/* Signs, listed, on a map, or as gaps.
 *
 * SPDX-License-Identifier: MIT */
#include "signs.h"
#include "digits.h"

static bool signs_listed(size_t n, size_t count) { return 4 * count < signs_map_bytes(n) && n <= INT32_MAX; }

/* Lists what a word of 32 codes, not 0, shows, of elements from number i. */
static inline uint8_t *list_word(uint8_t *dst, uint64_t left, size_t i)
{
	do {
		const unsigned code = (unsigned)__builtin_ctzll(left) & ~1u;
		dst = put_u32(dst, ((uint32_t)i + code / 2) << 1 | (uint32_t)(left >> code & 1));
		left &= ~((uint64_t)3 << code);
	} while (left);
	return dst;
}

/* The list of what the map shows. The words that show something are found first, by a loop without a branch
 * that could be mispredicted. */
static void signs_list(uint8_t *dst, const uint8_t *map, size_t n)
{
	enum { CODES = 32, FEW = 512 };
	const size_t words = signs_map_bytes(n) / sizeof(uint64_t);
	uint64_t word;
	for (size_t first = 0; first < words; first += FEW) {
		const size_t size = words - first < FEW ? words - first : FEW;
		uint16_t shown[FEW];
		size_t count = 0;
		for (size_t w = 0; w < size; w++) {
			memcpy(&word, map + sizeof word * (first + w), sizeof word);
			shown[count] = (uint16_t)w;
			count += word != 0;
		}
		for (size_t k = 0; k < count; k++) {
			memcpy(&word, map + sizeof word * (first + shown[k]), sizeof word);
			dst = list_word(dst, word, CODES * (first + shown[k]));
		}
	}
	if (signs_map_bytes(n) % sizeof word) {
		const uint32_t last = get_u32(map + sizeof word * words);
		if (last)
			list_word(dst, last, CODES * words);
	}
}

size_t PER_ISA(signs_close)(uint8_t *dst, size_t n, size_t count, bool entropy, uint16_t *flags)
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

size_t PER_ISA(signs_close_list)(uint8_t *dst, const uint8_t *list, size_t n, size_t count, bool entropy,
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

bool PER_ISA(signs_check)(const uint8_t *src, size_t size, size_t n, unsigned form)
{
	if (form == SIGNS_GAPS)
		return crumb_gaps_check(src, size, n);
	if (form == SIGNS_MAP)
		return size == signs_map_bytes(n) && bits_clean(src, src + size) && bits_end(src, n);
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

void PER_ISA(signs_add)(const uint8_t *src, size_t size, size_t n, unsigned form, float plus, float minus,
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
	const float value[4] = {-0.0f, plus, minus}; /* -0 is what changes nothing, not even -0 */
	const v16t table = v16_table4(value);
	src += signs_map_bytes(first);
	for (size_t i = first; i < end; i += V16, src += 4) {
		const v16f x = bits_lookup(table, src);
		const size_t rest = end - i;
		if (rest < V16)
			v16_storef_few(acc + i, v16_add(v16_loadf_few(acc + i, rest), x), rest);
		else
			v16_storef(acc + i, v16_add(v16_streamf(acc + i), x));
	}
}
