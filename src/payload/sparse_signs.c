/* Sparse signs: list, map or gaps.
 *
 * SPDX-License-Identifier: MIT */
#include "payload/sparse_signs.h"
#include "payload/trits.h"

/* Returns true if a list of count elements is shorter than a map, and 31 bits number all elements. */
static bool list_is_shorter(size_t n, size_t count)
{
	return 4 * count < sparse_signs_map_bytes(n) && n <= INT32_MAX;
}

/* Writes the list of the map's elements. */
static void list_of_map(struct sparse_signs *s)
{
	uint8_t *dst = s->payload;
	for (size_t i = 0; i < s->n; i += V16)
		for (uint32_t left = get_u32(s->map + sparse_signs_map_bytes(i)); left; left &= left - 1)
			dst = put_u32(dst, ((uint32_t)(2 * i) + (uint32_t)__builtin_ctz(left)) ^ 1);
}

uint8_t *sparse_signs_list(struct sparse_signs *s, size_t first, size_t end, size_t count)
{
	uint8_t *const list = s->payload + 4 * s->count;
	s->listed = s->n <= INT32_MAX && list_is_shorter(end, s->count + count);
	if (s->listed) {
		s->count += count;
		return list;
	}
	memset(s->map, 0, sparse_signs_map_bytes(first));
	for (const uint8_t *word = s->payload; word < list; word += 4) {
		const uint32_t x = get_u32(word);
		s->map[x >> 3] |= (uint8_t)((2 - (x & 1)) << (x & 6));
	}
	return NULL;
}

size_t sparse_signs_close(struct sparse_signs *s, uint16_t *flags)
{
	if (s->listed && !s->entropy)
		return 4 * s->count;
	if (s->listed) {
		memcpy(s->map, s->payload, 4 * s->count);
		return sparse_signs_close_list(s->payload, s->map, s->n, s->count, true, flags);
	}
	const bool list = list_is_shorter(s->n, s->count);
	const size_t plain = list ? 4 * s->count : sparse_signs_map_bytes(s->n);
	if (s->entropy && s->count <= UINT32_MAX) {
		const size_t size = crumb_golomb_of_map(s->payload, s->map, s->n, s->count);
		if (size < plain) {
			*flags |= SPARSE_SIGNS_GAPS;
			return size;
		}
	}
	if (list) {
		list_of_map(s);
		return plain;
	}
	*flags |= SPARSE_SIGNS_MAP;
	memmove(s->payload, s->map, plain);
	return plain;
}

size_t sparse_signs_close_list(uint8_t *dst, const uint8_t *list, size_t n, size_t count, bool entropy,
                               uint16_t *flags)
{
	if (entropy) {
		const size_t size = crumb_golomb_of_list(dst, list, n, count);
		if (size < 4 * count) {
			*flags |= SPARSE_SIGNS_GAPS;
			return size;
		}
	}
	memcpy(dst, list, 4 * count);
	return 4 * count;
}

bool sparse_signs_ascend(const struct part *part, const uint8_t *words, size_t count, unsigned shift,
                         uint64_t n)
{
	const struct units own = part_units(part, words, 4, count);
	uint32_t bad = count && get_u32(words + 4 * count - 4) >> shift >= n;
	for (size_t i = own.first ? own.first : 1; i < own.end; i++)
		bad |= get_u32(words + 4 * i) >> shift <= get_u32(words + 4 * i - 4) >> shift;
	return !bad;
}

bool sparse_signs_check(const struct frame *frame, const struct part *part, size_t head)
{
	const uint8_t *const src = frame->payload + head;
	const size_t n = frame->n, size = frame->size - head;
	const unsigned form = sparse_signs_form(frame->flags);
	if (form == SPARSE_SIGNS_GAPS)
		return !part_leads(part, frame) || crumb_golomb_check(src, size, n);
	if (form == SPARSE_SIGNS_MAP) {
		const struct units own = part_units(part, src, 4, size / 4);
		return size == sparse_signs_map_bytes(n) &&
		       bits_clean(src + 4 * own.first, src + 4 * own.end) && bits_end(src, n);
	}
	return !form && size % 4 == 0 && sparse_signs_ascend(part, src, size / 4, 1, n);
}

void sparse_signs_add(const uint8_t *src, size_t size, size_t n, unsigned form, float plus, float minus,
                      float *acc, size_t first, size_t end)
{
	if (form == SPARSE_SIGNS_GAPS) {
		crumb_golomb_add(src, size, n, plus, minus, acc, first, end);
		return;
	}
	if (!form) {
		const size_t stop = sparse_signs_search(src, size / 4, (uint64_t)end << 1);
		for (size_t i = sparse_signs_search(src, stop, (uint64_t)first << 1); i < stop; i++) {
			const uint32_t word = get_u32(src + 4 * i);
			acc[word >> 1] += word & 1 ? plus : minus;
		}
		return;
	}
	const float value[4] = {-0.0f, plus, minus}; /* adding -0 changes no float */
	const v16t table = v16_table4(value);
	src += sparse_signs_map_bytes(first);
	for (size_t i = first; i < end; i += V16, src += 4)
		v16_add_some(acc + i, bits_lookup(table, src), end - i);
}
