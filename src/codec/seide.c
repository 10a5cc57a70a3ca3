/* seide: 1-bit SGD. Every element sends on which side of its column's split it lies, low or high, and is
 * worth the mean of that side (Seide et al., Interspeech 2014).
 *
 * A column is one output unit's weights: the packer's run. Several columns shorter than MIN_COLUMN are taken
 * as one, or their means would outweigh their bits. Packing passes over a column twice, once to add the
 * gradient and sum both sides, and once to write the bits and the residual; a split at the mean takes a third
 * pass between them.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "v16/v16.h"
#include <math.h>

enum { SPLIT }; /* the key */
enum { AT_ZERO, AT_MEAN };
enum { MIN_COLUMN = 64 };

static size_t column_of(size_t run, size_t n)
{
	if (run == 0 || run >= n)
		return n;
	const size_t column = run < MIN_COLUMN ? run * divide_up(MIN_COLUMN, run) : run;
	return column < n ? column : n;
}

static size_t bit_bytes(size_t m) { return 2 * divide_up(m, V16); }

/* The bits of each column begin at a multiple of two bytes. */
static size_t payload_bytes(size_t column, size_t n)
{
	const size_t whole = n / column, rest = n % column;
	return 8 + 8 * divide_up(n, column) + whole * bit_bytes(column) + bit_bytes(rest);
}

static size_t bound(const crumb_codec *codec, size_t n)
{
	(void)codec;
	const size_t columns = divide_up(n, MIN_COLUMN);
	return 8 + 8 * columns + bit_bytes(n) + 2 * columns;
}

/* Sums of the two sides of a column, each element minus center, times factor. */
struct sides {
	double low, high;
	size_t highs;
};

/* Sums of the two sides of a block, lane by lane. */
struct lane_sums {
	v16f low, high;
	unsigned highs;
};

/* Adds the elements of a group whose bit is set in here. */
V16_FN void sum_group(struct lane_sums *s, v16f x, v16f center, v16f factor, const uint16_t here)
{
	v16f y = v16_mul(v16_sub(x, center), factor);
	v16m up = v16_ge(x, center);
	if (here != 0xFFFF) {
		y = v16_and_mask(v16_mask(here), y);
		up = v16_both(up, v16_mask(here));
	}
	s->high = v16_add(s->high, v16_and_mask(up, y));
	s->low = v16_add(s->low, v16_pick(up, v16_set(0), y));
	s->highs += (unsigned)__builtin_popcount(v16_bits(up));
}

/* Sums the sides of r, after r += g if g is not NULL; elements below center are low. */
V16_FN struct sides sides_of(float *r, const void *g, const enum crumb_dtype type, size_t m, float center,
                             float factor)
{
	const v16f middle = v16_set(center), by = v16_set(factor);
	struct sides sum = {0, 0, 0};
	for (size_t i = 0; i < m;) {
		const size_t end = m - i < SUM_BLOCK ? m : i + SUM_BLOCK;
		struct lane_sums s = {v16_set(0), v16_set(0), 0};
		for (; i + V16 <= end; i += V16) {
			v16f x = v16_streamf(r + i);
			if (g) {
				x = v16_add(x, v16_stream(type, g, i));
				v16_storef(r + i, x);
			}
			sum_group(&s, x, middle, by, 0xFFFF);
		}
		if (i < end) {
			const size_t rest = end - i;
			v16f x = v16_loadf_partial(r + i, rest);
			if (g) {
				x = v16_add(x, v16_load_partial(type, g, i, rest));
				v16_storef_partial(r + i, x, rest);
			}
			sum_group(&s, x, middle, by, v16_first(rest));
			i = end;
		}
		sum.low += v16_sum_lanes(s.low);
		sum.high += v16_sum_lanes(s.high);
		sum.highs += s.highs;
	}
	return sum;
}

/* Two instances of the loop: constants for the usual case, variables for all others. */
static struct sides sides_at_zero(float *r, const float *g, size_t m)
{
	return sides_of(r, g, CRUMB_F32, m, 0, 1);
}
static struct sides sides_any(float *r, const void *g, enum crumb_dtype type, size_t m, float center,
                              float factor)
{
	return sides_of(r, g, type, m, center, factor);
}

struct levels {
	float split, low, high;
};

/* Adds g to a column of r, if it is not NULL, and returns where it splits and what its sides are worth.
 * factor: 1, or less where sums would overflow. */
V16_FN struct levels levels_of(float *r, const void *g, enum crumb_dtype type, size_t m, unsigned mode,
                               float factor)
{
	const double back = 1 / (double)factor;
	const struct sides s = g && type == CRUMB_F32 && factor == 1 ? sides_at_zero(r, g, m)
	                                                             : sides_any(r, g, type, m, 0, factor);
	if (mode == AT_ZERO) {
		const float low = s.highs < m ? (float)(s.low / (double)(m - s.highs) * back) : 0;
		return (struct levels){0, low, s.highs ? (float)(s.high / (double)s.highs * back) : 0};
	}
	const float mean = (float)((s.low + s.high) / (double)m * back);
	const struct sides d = sides_any(r, NULL, type, m, mean, factor);
	const float deviation = (float)((d.high - d.low) / (double)m * back);
	return (struct levels){mean, mean - deviation, mean + deviation};
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	(void)out;
	const size_t n = p->n, column = column_of((size_t)p->run, n);
	const unsigned mode = (unsigned)p->codec.value[SPLIT];
	float *r = packer_floats(p);
	const uint64_t carried = column;
	memcpy(dst, &carried, sizeof carried);
	uint8_t *level = dst + 8, *bit = level + 8 * divide_up(n, column);
	for (size_t first = 0; first < n; first += column) {
		const size_t m = n - first < column ? n - first : column;
		const void *g = (const uint8_t *)grad + v16_width(type) * first;
		struct levels l = levels_of(r + first, g, type, m, mode, 1);
		if (!isfinite(l.low) || !isfinite(l.high))
			l = levels_of(r + first, NULL, type, m, mode, 0x1p-32f);
		level = put_f32(put_f32(level, l.low), l.high);
		const v16f split = v16_set(l.split), low = v16_set(l.low), high = v16_set(l.high);
		size_t i = 0;
		for (; i + 2 * V16 <= m; i += 2 * V16, bit += 4) {
			v16m up[2];
			for (size_t k = 0; k < 2; k++) {
				float *const at = r + first + i + V16 * k;
				const v16f x = v16_streamf(at);
				up[k] = v16_ge(x, split);
				v16_storef(at, v16_sub(x, v16_pick(up[k], high, low)));
			}
			put_u32(bit, v16_bits_of_two(up[0], up[1]));
		}
		for (; i < m; i += V16, bit += 2) {
			float *const at = r + first + i;
			const v16f x = v16_loadf_some(at, m - i);
			const v16m up = v16_ge(x, split);
			put_u16(bit, (uint16_t)(v16_bits(up) & (m - i < V16 ? v16_first(m - i) : 0xFFFF)));
			v16_storef_some(at, v16_sub(x, v16_pick(up, high, low)), m - i);
		}
	}
	return (size_t)(bit - dst);
}

static uint64_t carried_column(const struct frame *frame)
{
	uint64_t column;
	memcpy(&column, frame->payload, sizeof column);
	return column;
}

static bool check(const struct frame *frame, struct part *part)
{
	if (frame->flags || frame->size < 8)
		return false;
	const uint64_t n = frame->n, column = carried_column(frame);
	if (column == 0 || column > n || frame->size != payload_bytes(column, n))
		return false;
	const size_t columns = divide_up(n, column), size = bit_bytes(column);
	const uint8_t *level = frame->payload + 8, *bit = level + 8 * columns;
	const struct units own = part_units(part, bit, size, columns);
	for (size_t c = own.first; c < own.end; c++) {
		const uint64_t m = n - c * column < column ? n - c * column : column;
		if (!isfinite(get_f32(level + 8 * c)) || !isfinite(get_f32(level + 8 * c + 4)) ||
		    (m % V16 && get_u16(bit + size * c + bit_bytes(m) - 2) >> m % V16))
			return false;
	}
	return true;
}

/* Adds elements i to m - 1 of a column; groups are counted from its first element. */
V16_FN void add_column(float *acc, const uint8_t *bits, size_t i, size_t m, float low, float high)
{
	for (; i < m && i % V16; i++)
		acc[i] += get_u16(bits + 2 * (i / V16)) >> i % V16 & 1 ? high : low;
	const v16f lows = v16_set(low), highs = v16_set(high);
	for (; i < m; i += V16) {
		const v16f value = v16_pick_bits(get_u16(bits + 2 * (i / V16)), highs, lows);
		v16_add_some(acc + i, value, m - i);
	}
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	const size_t n = frame->n, column = carried_column(frame);
	const uint8_t *bits = frame->payload + 8 + 8 * divide_up(n, column);
	for (size_t c = first / column, next; first < end; c++, first = next) {
		const size_t begin = c * column;
		next = end - begin < column ? end : begin + column;
		const uint8_t *level = frame->payload + 8 + 8 * c, *bit = bits + c * bit_bytes(column);
		add_column(acc + begin, bit, first - begin, next - begin, weight * get_f32(level),
		           weight * get_f32(level + 4));
	}
}

static void describe(const struct frame *frame, crumb_frame_info *out)
{
	const uint64_t n = frame->n, column = carried_column(frame);
	frame_fact(out, "column", (double)column);
	if (column == n) {
		frame_fact(out, "low", get_f32(frame->payload + 8));
		frame_fact(out, "high", get_f32(frame->payload + 12));
	}
	/* A side whose level is 0 sends nothing. */
	const uint8_t *level = frame->payload + 8, *bit = level + 8 * divide_up(n, column);
	for (uint64_t first = 0; first < n; first += column, level += 8) {
		const uint64_t m = n - first < column ? n - first : column;
		uint64_t highs = 0;
		for (uint64_t i = 0; i < m; i += V16, bit += 2)
			highs += (uint64_t)__builtin_popcount(get_u16(bit));
		out->sent += (get_f32(level) != 0 ? m - highs : 0) + (get_f32(level + 4) != 0 ? highs : 0);
	}
}

CODEC_INFO(seide, .id = 11, .flags = CRUMB_CODEC_RESIDUAL | CRUMB_CODEC_FIXED, .name = "seide",
           .brief = "one bit an element, worth the mean of its side of the column (Seide et al. 2014)",
           .keys = 2,
           .key = {{"split", "where a column's two sides meet", AT_ZERO, 0, 1, 1, CHOICES("zero", "mean")},
                   DECAY_KEY});

const struct codec PER_ISA(seide) = {
        .info = &crumb_info_seide,
        .floats = residual_floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .unpack_add = unpack_add,
        .describe = describe,
};
