/* The k-th greatest magnitude of many floats, and how many reach one. Few are compared, each pass
 * with a value in the range in which it lies; many are counted by the digits of their bits.
 *
 * SPDX-License-Identifier: MIT */
#ifndef KTH_H
#define KTH_H

#include "base/bytes.h"
#include "v16/v16.h"
#include <math.h>

#define LEAST 0x1p-149f /* of the magnitudes that are not 0 */

/* Floats one after another; or, of those at x, the ones with these numbers. */
struct floats {
	const uint8_t *x, *number;
	size_t count;
};

enum { SOME = 1024 };

/* How many there are from number first on, SOME at most. */
static size_t some(const struct floats *f, size_t first)
{
	return f->count - first < SOME ? f->count - first : SOME;
}

/* These: where they stand, or taken to room. */
static __attribute__((noinline)) const uint8_t *take(const struct floats *f, size_t first, float room[SOME])
{
	enum { PREFETCH_ELEMENTS = 64 };
	const size_t last = f->count - 1;
	if (!f->number)
		return f->x + 4 * first;
	for (size_t j = 0; j < some(f, first); j++) {
		const size_t ahead =
		        first + j + PREFETCH_ELEMENTS < last ? first + j + PREFETCH_ELEMENTS : last;
		__builtin_prefetch(f->x + 4 * (size_t)get_u32(f->number + 4 * ahead));
		room[j] = get_f32(f->x + 4 * (size_t)get_u32(f->number + 4 * (first + j)));
	}
	return (const uint8_t *)room;
}

enum { DIGIT = 12 /* bits */ };

/* Of the floats' magnitudes, as bits less base, whose bits above shift + width are those of prefix, counts
 * the next width bits. */
static void count_digits(const struct floats *f, uint32_t base, uint32_t prefix, unsigned shift,
                         unsigned width, size_t count[1 << DIGIT])
{
	float room[SOME];
	memset(count, 0, sizeof *count << width);
	for (size_t first = 0; first < f->count; first += SOME) {
		const uint8_t *const x = take(f, first, room);
		for (size_t i = 0; i < some(f, first); i++) {
			const uint32_t bits = (get_u32(x + 4 * i) & 0x7FFFFFFF) - base;
			if (bits >> shift >> width == prefix)
				count[bits >> shift & ((1u << width) - 1)]++;
		}
	}
}

/* Magnitudes are ordered as their bits: digit after digit, from the top, the one in which the k-th greatest
 * lies. None is below base; 0 if the k-th greatest is 2^bits or more above it. */
static float greatest_above(const struct floats *f, size_t k, uint32_t base, unsigned bits)
{
	size_t count[1 << DIGIT];
	uint32_t found = 0;
	for (unsigned shift = bits; shift;) {
		const unsigned width = shift < DIGIT ? shift : DIGIT;
		uint32_t digit = 1u << width;
		shift -= width;
		count_digits(f, base, found, shift, width, count);
		if (shift + width == bits) {
			size_t greater = f->count;
			for (uint32_t d = 0; d < digit; d++)
				greater -= count[d];
			if (greater >= k)
				return 0;
			k -= greater;
		}
		while (k > count[--digit])
			k -= count[digit];
		found = found << width | digit;
	}
	return float_of_bits(base + found);
}

/* Of candidates, which are from a magnitude on, it is mostly within an octave or two of that. Zeros, too, are
 * from LEAST on where subnormal numbers are taken for zeros. */
static float greatest_of_many(const struct floats *f, size_t k, float from)
{
	const float near = from > LEAST ? greatest_above(f, k, bits_of_float(from), 2 * DIGIT) : 0;
	return near > 0 ? near : greatest_above(f, k, 0, 31);
}

V16_FN v16f sizes(const uint8_t *x, size_t i, size_t n)
{
	return v16_abs(n - i < V16 ? v16_load_partial(CRUMB_F32, x, i, n - i) : v16_load(CRUMB_F32, x, i));
}

/* How many floats are of magnitude m > 0 or more. */
static __attribute__((noinline)) size_t count_from(const struct floats *f, float m)
{
	const v16f from = v16_set(m);
	size_t count = 0;
	float room[SOME];
	for (size_t first = 0; first < f->count; first += SOME) {
		const uint8_t *const x = take(f, first, room);
		const size_t n = some(f, first);
		size_t i = 0;
		for (; i + 2 * V16 <= n; i += 2 * V16) {
			const v16m in = v16_ge(sizes(x, i, n), from),
			           next = v16_ge(sizes(x, i + V16, n), from);
			count += (size_t)__builtin_popcount(v16_bits_of_two(in, next));
		}
		for (; i < n; i += V16)
			count += (size_t)__builtin_popcount(v16_bits(v16_ge(sizes(x, i, n), from)));
	}
	return count;
}

/* The same, with the least of these, and the greatest of all. */
struct range {
	size_t count;
	float least, most;
};

static __attribute__((noinline)) struct range range_from(const struct floats *f, float m)
{
	const v16f from = v16_set(m), none = v16_set(INFINITY);
	v16f least = none, most = v16_set(0);
	float room[SOME];
	size_t count = 0;
	for (size_t first = 0; first < f->count; first += SOME) {
		const uint8_t *const x = take(f, first, room);
		const size_t n = some(f, first);
		for (size_t i = 0; i < n; i += V16) {
			const v16f size = sizes(x, i, n);
			const v16m in = v16_ge(size, from);
			count += (size_t)__builtin_popcount(v16_bits(in));
			least = v16_min(v16_pick(in, size, none), least);
			most = v16_max(size, most);
		}
	}
	return (struct range){count, fabsf(v16_max_lane(v16_sub(v16_set(0), least))), v16_max_lane(most)};
}

/* A pass of comparisons narrows the range in which it lies: to half, or, every other time, where it would be
 * if magnitudes were evenly spread. */
static float greatest_of_few(const struct floats *f, size_t k, size_t most)
{
	const struct range all = range_from(f, LEAST);
	uint32_t low = bits_of_float(all.least), high = bits_of_float(all.most) + 1;
	size_t from_low = all.count, from_high = 0;
	if (from_low < k)
		return 0;
	for (unsigned pass = 0; from_low > most && high - low > 1; pass++) {
		const uint32_t range = high - low;
		const uint32_t part =
		        pass % 2 ? range / 2
		                 : (uint32_t)((uint64_t)range * (from_low - k) / (from_low - from_high));
		const uint32_t middle = low + (part ? part : 1);
		const size_t count = count_from(f, float_of_bits(middle));
		if (count < k) {
			high = middle;
			from_high = count;
		} else {
			low = middle;
			from_low = count;
		}
	}
	return range_from(f, float_of_bits(low)).least;
}

/* The k-th greatest magnitude, or one below it that no more than most reach. None is below from. */
static __attribute__((noinline)) float greatest(const struct floats *f, size_t k, size_t most, float from)
{
	enum { FEW = 4096 };
	return f->count <= FEW ? greatest_of_few(f, k, most) : greatest_of_many(f, k, from);
}

/* How many are of magnitude m or more, and how many above it. */
static void rank(const struct floats *f, float m, size_t *least, size_t *above)
{
	float room[SOME];
	*least = *above = 0;
	for (size_t first = 0; first < f->count; first += SOME) {
		const uint8_t *const x = take(f, first, room);
		uint32_t not_below = 0, greater = 0;
		for (size_t i = 0; i < some(f, first); i++) {
			const float size = fabsf(get_f32(x + 4 * i));
			not_below += size >= m;
			greater += size > m;
		}
		*least += not_below;
		*above += greater;
	}
}

#endif
