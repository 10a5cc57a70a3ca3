/* Packs a gradient into a payload of levels: norms, rounding to levels at random, codes.
 *
 * SPDX-License-Identifier: MIT */
#include "payload/levels_codes.h"
#include "payload/levels.h"
#include "v16/rng.h"
#include "coding/blocks.h"
#include "v16/v16.h"
#include <math.h>

/* ---- levels --------------------------------------------------------------------------------- */

void levels_even(struct levels *levels, uint32_t count)
{
	levels_init(levels, LEVELS_EVEN, count);
	for (uint32_t k = 0; k < count; k++)
		levels->at[k] = (float)(2 * (int)k - (int)count + 1) / (float)(count - 1);
}

void levels_powers(struct levels *levels, uint32_t count, float p)
{
	levels_init(levels, LEVELS_POWERS, count);
	float power = 1;
	for (uint32_t k = 0; k < count / 2; k++, power *= p) {
		levels->at[k] = -power;
		levels->at[count - 1 - k] = power;
	}
	if (count % 2)
		levels->at[count / 2] = 0;
}

static uint8_t *put_levels(uint8_t *dst, uint32_t bucket, const struct levels *levels)
{
	dst = put_u32(put_u32(dst, bucket), levels->count | (uint32_t)levels->form << 16);
	if (levels->form == LEVELS_POWERS)
		dst = put_f32(dst, levels->at[levels->count - 2]);
	for (uint32_t k = 0; k < levels->count && levels->form == LEVELS_TABLE; k++)
		dst = put_f32(dst, levels->at[k]);
	return dst;
}

/* ---- norms ---------------------------------------------------------------------------------- */

/* An element divided by its bucket's norm is (v * lift) * inverse: lift, a power of two, keeps squares and
 * inverse in range. With a lift of 1 or more and an inverse of 1 or less both v * lift and lift * inverse are
 * exact, so that v * (lift * inverse) rounds the same product. */
struct scaling {
	float norm, lift, inverse;
};

/* Returns the largest magnitude; infinity if an element is not usable. */
V16_FN float max_magnitude(const void *grad, const enum crumb_dtype type, size_t first, size_t size)
{
	v16f even = v16_set(0), odd = even;
	size_t i = first;
	const size_t end = first + size;
	for (; i + 2 * V16 <= end; i += 2 * V16) {
		even = v16_max_abs_nan(v16_load(type, grad, i), even);
		odd = v16_max_abs_nan(v16_load(type, grad, i + V16), odd);
	}
	if (i + V16 <= end) {
		even = v16_max_abs_nan(v16_load(type, grad, i), even);
		i += V16;
	}
	if (i < end)
		odd = v16_max_abs_nan(v16_load_partial(type, grad, i, end - i), odd);
	const v16f max = v16_max_abs_nan(even, odd);
	return v16_usable(max) ? v16_max_lane(max) : INFINITY;
}

struct squares {
	double sum; /* of (v * lift)^2: f32 in blocks of SUM_BLOCK, double across */
	float max;  /* the largest |v|; infinity if an element is not usable */
	bool low;   /* a v other than 0 is below 2^-63; at 2^-63 it may be either, which changes no sum */
};

/* Sums and extremes lane by lane; min: the smallest magnitude but 0. */
struct square_lanes {
	v16f sum[2], max, min;
};

V16_FN void add_squares(struct square_lanes *l, const int sum, v16f v, v16f lift)
{
	const v16f x = v16_mul(v, lift);
	l->sum[sum] = v16_add(l->sum[sum], v16_mul(x, x));
	l->max = v16_max_abs_nan(v, l->max);
	l->min = v16_min_abs_nonzero(v, l->min);
}

V16_FN struct squares sum_squares(const void *grad, const enum crumb_dtype type, size_t first, size_t size,
                                  float lift)
{
	const v16f zero = v16_set(0), by = v16_set(lift);
	double sum = 0;
	struct square_lanes l = {{zero, zero}, zero, v16_set(INFINITY)};
	size_t i = first;
	const size_t end = first + size;
	/* A block is summed in order, so that each addition waits for the one before: ILP is across two
	 * blocks. */
	for (; end - i >= 2 * SUM_BLOCK; i += 2 * SUM_BLOCK) {
		l.sum[0] = l.sum[1] = zero;
		for (size_t k = i; k < i + SUM_BLOCK; k += V16) {
			add_squares(&l, 0, v16_load(type, grad, k), by);
			add_squares(&l, 1, v16_load(type, grad, k + SUM_BLOCK), by);
		}
		sum += v16_sum_lanes(l.sum[0]);
		sum += v16_sum_lanes(l.sum[1]);
	}
	while (i < end) {
		const size_t stop = end - i < SUM_BLOCK ? end : i + SUM_BLOCK;
		l.sum[0] = zero;
		for (; i + V16 <= stop; i += V16)
			add_squares(&l, 0, v16_load(type, grad, i), by);
		if (i < stop)
			add_squares(&l, 0, v16_load_partial(type, grad, i, stop - i), by);
		i = stop;
		sum += v16_sum_lanes(l.sum[0]);
	}
	return (struct squares){sum, v16_usable(l.max) ? v16_max_lane(l.max) : INFINITY,
	                        v16_bits(v16_gt(v16_set(0x1p-63f), l.min)) != 0};
}

static __attribute__((noinline)) struct squares sum_squares_any_type(const void *grad, enum crumb_dtype type,
                                                                     size_t first, size_t size, float lift)
{
	return sum_squares(grad, type, first, size, lift);
}

/* 2^exponent, a normal number. */
static float power_of_two(int exponent) { return float_of_bits((uint32_t)(exponent + 127) << 23); }

/* The scaling of a bucket that holds an unusable element. */
static const struct scaling unusable = {INFINITY, 1, 0};

/* Squares are of lifted elements. If these and the squares of plain elements are normal numbers, all of them,
 * the plain sum differs by a factor only, and the gradient is read once; it is read again if not, which is
 * rare. */
static __attribute__((noinline)) struct scaling
bucket_scaling(const void *grad, enum crumb_dtype type, size_t first, size_t size, enum levels_norm norm)
{
	struct squares squares = {0};
	if (norm == LEVELS_MAX)
		squares.max = type == CRUMB_F32 ? max_magnitude(grad, CRUMB_F32, first, size)
		                                : max_magnitude(grad, type, first, size);
	else
		squares = type == CRUMB_F32 ? sum_squares(grad, CRUMB_F32, first, size, 1)
		                            : sum_squares_any_type(grad, type, first, size, 1);
	const float max = squares.max;
	if (max == INFINITY)
		return unusable;
	if (max == 0)
		return (struct scaling){0, 1, 0};
	const int exponent = max < 0x1p-100f ? -100 : (int)(bits_of_float(max) >> 23) - 127;
	const float lift = power_of_two(-exponent);
	if (norm != LEVELS_MAX && (exponent > 0 || squares.low))
		squares = sum_squares_any_type(grad, type, first, size, lift);
	else
		squares.sum *= (double)lift * (double)lift;
	const float lifted = norm == LEVELS_MAX ? max * lift : (float)sqrt(squares.sum);
	return (struct scaling){lifted * power_of_two(exponent), lift, 1 / lifted};
}

/* ---- rounding ------------------------------------------------------------------------------- */

/* HALVES are 0 and powers of two, which need no table. With short registers these are a TABLE, too, which
 * saves a loop. SEARCH is for more levels than a table has. */
enum rounding_kind { EVEN, HALVES, TABLE, SEARCH };

/* The constants of rounding to a set of levels. */
struct rounding {
	uint32_t count;
	float scale; /* 2^24 times the levels in [0, 1] (EVEN), or 1 / the smallest power (HALVES) */
	/* TABLE and SEARCH: the levels but the last, then 2s. The last entry is not looked up, but belongs to
	 * the table that starts at the second. */
	float from[LEVELS_MAX_COUNT + 1];
	float width[LEVELS_MAX_COUNT]; /* to the next level, times 2^-24 */
};

static bool are_halves(const struct levels *levels)
{
	return levels->form == LEVELS_POWERS && levels->count % 2 && levels->count < V16 &&
	       levels->at[levels->count - 2] == 0.5f;
}

static struct rounding rounding_to(const struct levels *levels)
{
	struct rounding r = {.count = levels->count, .scale = (float)(levels->count - 1) * 0x1p23f};
	if (are_halves(levels))
		r.scale = 0x1p24f / levels->at[levels->count / 2 + 1];
	const uint32_t entries = levels->count > V16 ? LEVELS_MAX_COUNT : V16;
	for (uint32_t k = 0; k < entries && levels->form != LEVELS_EVEN; k++) {
		const bool last = k + 1 >= levels->count;
		r.from[k] = last ? 2 : levels->at[k];
		r.width[k] = last ? 0 : (levels->at[k + 1] - levels->at[k]) * 0x1p-24f;
	}
	return r;
}

/* Returns the codes of sixteen elements whose distance from the middle is at levels, up or down by y's sign;
 * at and u in units of 2^-24. at carries into the next level if its fraction exceeds u or, below zero, where
 * up is towards 1, too, 1 - u. */
V16_FN v16i round_at(v16f y, v16i at, v16i u, uint32_t count)
{
	const v16i middle = v16_seti(((count - 1) << 23) + (1u << 24) - 1);
	return v16_shr(v16_addi_signed(v16_subi(middle, u), at, y), 24);
}

/* Returns the codes of sixteen y in [-1, 1], up to rounding; u in units of 2^-24. In units of their distance
 * evenly spaced levels are integers, or lie half-way between integers. */
V16_FN v16i round_even(v16f y, v16i u, const struct rounding *r)
{
	const v16f at = v16_mul(v16_min_abs(y, v16_set(1)), v16_set(r->scale));
	const v16i to_level = r->count & 1
	                              ? v16_ceil(at)
	                              : v16_subi(v16_ceil(v16_add(at, v16_set(0x1p23f))), v16_seti(1u << 23));
	return round_at(y, to_level, u, r->count);
}

/* Rounds to 0 and powers of two: from the smallest power on, a float's exponent and mantissa say where it
 * lies between levels; below, levels are even. For y below zero the difference to the level below, which a
 * table takes, is a float, too, whose rounding may lose half a unit of u. */
V16_FN v16i round_halves(v16f y, v16i u, const struct rounding *r)
{
	const v16f unit = v16_set(0x1p24f), size = v16_min_abs(y, v16_set(1));
	const v16f even = v16_mul(size, v16_set(r->scale)), under = v16_sub(unit, v16_sub(unit, even));
	const v16i near = v16_ceil(v16_pick(v16_negative(y), under, even));
	const v16i far = v16_subi(v16_shl(v16_bits_of(size), 1), v16_seti((127 - r->count / 2) << 24));
	const v16f at = v16_pick(v16_ge(even, unit), v16_of_bits(far), v16_of_bits(near));
	return round_at(y, v16_bits_of(at), u, r->count);
}

V16_FN v16i round_table(v16f y, v16f u, const struct rounding *r)
{
	const v16t from = v16_table(r->from), width = v16_table(r->width);
	const uint32_t half = r->count > 8 ? 8 : 4;
	const v16m upper = v16_ge(y, v16_set(r->from[half]));
	const v16f quarter = v16_pick(upper, v16_set(r->from[half + half / 2]), v16_set(r->from[half / 2]));
	v16i k = v16_addi_where(v16_ge(y, quarter), v16_and_maski(upper, v16_seti(half)), v16_seti(half / 2));
	if (half == 8) {
		const v16i up = v16_ori(k, v16_seti(2));
		k = v16_bits_of(v16_pick(v16_ge(y, v16_lookup(from, up)), v16_of_bits(up), v16_of_bits(k)));
	}
	const v16t next = v16_table(r->from + 1);
	k = v16_addi_where(v16_ge(y, v16_lookup(next, k)), k, v16_seti(1));
	const v16f rest = v16_sub(y, v16_lookup(from, k));
	return v16_addi_where(v16_gt(rest, v16_mul(u, v16_lookup(width, k))), k, v16_seti(1));
}

V16_FN v16i round_search(v16f y, v16f u, const struct rounding *r)
{
	v16i k = v16_seti(0);
	for (uint32_t step = 1u << (bit_width(r->count - 1) - 1); step; step /= 2) {
		const v16i up = v16_ori(k, v16_seti(step));
		k = v16_bits_of(
		        v16_pick(v16_ge(y, v16_gather(r->from, up)), v16_of_bits(up), v16_of_bits(k)));
	}
	const v16f rest = v16_sub(y, v16_gather(r->from, k));
	return v16_addi_where(v16_gt(rest, v16_mul(u, v16_gather(r->width, k))), k, v16_seti(1));
}

/* Not inlined: it is rare. */
static __attribute__((noinline)) void lift_block(float block[LEVELS_BLOCK], float lift)
{
	for (size_t k = 0; k < LEVELS_BLOCK; k++)
		block[k] *= lift;
}

/* A block of elements, to be multiplied by inverse; and the place that is prefetched meanwhile: the byte of
 * the gradient at ahead, and width bytes more for each element. */
struct block_source {
	const float *at;
	v16f inverse;
	const void *grad;
	size_t ahead, width;
};

/* Rounds the elements of a block and joins their codes. wide: codes have more than four bits. */
V16_FN void round_block(struct codes_out *codes, const struct block_source *s, rng *random,
                        const struct rounding *r, const enum rounding_kind kind, const bool wide)
{
	for (size_t i = 0; i < LEVELS_BLOCK; i += V16) {
		prefetch(s->grad, s->ahead + s->width * i);
		const v16f y = v16_mul(v16_loadf(s->at + i), s->inverse);
		const v16i u = rng_bits(random);
		codes_join(codes,
		           kind == EVEN     ? round_even(y, u, r)
		           : kind == HALVES ? round_halves(y, u, r)
		           : kind == TABLE  ? round_table(y, v16_float_of(u), r)
		                            : round_search(y, v16_float_of(u), r),
		           i / V16, wide);
	}
}

V16_FN void pack_buckets(struct crumb_packer *p, const void *grad, enum crumb_dtype type,
                         const struct rounding *r, const enum rounding_kind kind, enum levels_norm norm,
                         uint8_t *norms, struct codes_out codes)
{
	const size_t n = p->n, bucket = (size_t)p->codec.value[LEVELS_BUCKET], width = v16_width(type);
	/* The norm of a short bucket is computed before the bucket ahead of it is packed, so that the sum's
	 * and the root's latency overlaps with packing. */
	const bool early = bucket <= 2048;
	/* Prefetching goes beyond the elements whose norm is computed next. */
	const size_t ahead = width * bucket * (1 + early) + (early ? PREFETCH_BYTES : PREFETCH_BYTES / 4);
	float block[LEVELS_BLOCK];
	rng random = rng_at(p->seed, p->step, 0);
	struct scaling next = {0, 1, 0};
	for (size_t first = 0, end; first < n; first = end) {
		end = n - first < bucket ? n : first + bucket;
		const struct scaling s =
		        early && first ? next : bucket_scaling(grad, type, first, end - first, norm);
		if (early && end < n)
			next = bucket_scaling(grad, type, end, n - end < bucket ? n - end : bucket, norm);
		const bool lifts = s.lift < 1 || s.inverse > 1;
		const v16f inverse = v16_set(lifts ? s.inverse : s.lift * s.inverse);
		norms = put_f32(norms, s.norm);
		for (size_t i = first; i < end; i += LEVELS_BLOCK) {
			const size_t count = end - i < LEVELS_BLOCK ? end - i : LEVELS_BLOCK;
			const float *at = block;
			if (type == CRUMB_F32 && count == LEVELS_BLOCK && !lifts)
				at = (const float *)grad + i;
			else
				v16_widen(block, LEVELS_BLOCK, type, grad, i, count);
			if (lifts)
				lift_block(block, s.lift);
			if (i % SUM_BLOCK == 0)
				random = rng_at(p->seed, p->step, i);
			const struct block_source source = {at, inverse, grad, width * i + ahead, width};
			if (kind != HALVES && codes.bits > 4)
				round_block(&codes, &source, &random, r, kind == TABLE ? SEARCH : kind, true);
			else
				round_block(&codes, &source, &random, r, kind, false);
			codes_store(&codes, count);
		}
	}
}

void levels_walk(const void *grad, enum crumb_dtype type, size_t n, size_t bucket, enum levels_norm norm,
                 levels_visit *visit, void *arg)
{
	for (size_t first = 0; first < n; first += bucket) {
		const size_t end = n - first < bucket ? n : first + bucket;
		const struct scaling s = bucket_scaling(grad, type, first, end - first, norm);
		if (s.norm == INFINITY)
			return;
		for (size_t i = first; i < end; i += LEVELS_BLOCK) {
			const size_t count = end - i < LEVELS_BLOCK ? end - i : LEVELS_BLOCK;
			float y[LEVELS_BLOCK];
			for (size_t g = 0; g < count; g += V16) {
				prefetch(grad, v16_width(type) * (i + g + bucket) + PREFETCH_BYTES / 4);
				const v16f v = count - g < V16
				                       ? v16_load_partial(type, grad, i + g, count - g)
				                       : v16_load(type, grad, i + g);
				v16_storef(y + g, v16_mul(v16_mul(v, v16_set(s.lift)), v16_set(s.inverse)));
			}
			visit(arg, i / LEVELS_BLOCK, i == first, s.norm, y, count);
		}
	}
}

struct block_code levels_codes(uint32_t count) { return levels_block_code(count); }

size_t levels_pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type,
                   const struct levels *levels, enum levels_norm norm, uint8_t *dst, struct packed *out)
{
	const size_t n = p->n, bucket = (size_t)p->codec.value[LEVELS_BUCKET];
	const struct rounding r = rounding_to(levels);
	const enum rounding_kind kind = levels->form == LEVELS_EVEN            ? EVEN
	                                : V16_LANES >= 8 && are_halves(levels) ? HALVES
	                                                                       : TABLE;
	const unsigned bits = bit_width(levels->count - 1), coding = (unsigned)p->codec.value[LEVELS_CODING];
	const struct block_code code = levels_block_code(levels->count);
	uint8_t *norms = put_levels(dst, (uint32_t)bucket, levels);
	uint8_t *const first = norms + 4 * divide_up(n, bucket);
	uint8_t *low = first;
	if (coding != LEVELS_FIXED) {
		low += blocks_marks(&code, symbol_count(n));
		memset(low + blocks_fixed(&code, symbol_count(n)) - V16 * bits, 0, V16 * bits);
	}
	const struct codes_out codes = {bits, low, low + plane_bytes(4, n), v16_seti(0), v16_seti(0)};
	out->flags = (uint16_t)coding;
#define PACK(KIND) pack_buckets(p, grad, type, &r, KIND, norm, norms, codes)
	if (kind == EVEN)
		PACK(EVEN);
	else if (kind == HALVES)
		PACK(HALVES);
	else
		PACK(TABLE);
	if (!no_infinity(norms, divide_up(n, bucket)))
		return UNUSABLE;
	return (size_t)(first - dst) + (coding == LEVELS_FIXED ? fixed_bytes(bits, n)
	                                                       : blocks_encode(first, low, symbol_count(n),
	                                                                       &code, levels_coder(coding)));
}

size_t levels_bound(const crumb_codec *codec, size_t n, enum levels_form form)
{
	const unsigned bits = (unsigned)codec->value[LEVELS_BITS];
	const struct block_code code = levels_block_code(1u << bits);
	return LEVELS_HEAD +
	       (form == LEVELS_TABLE    ? (size_t)4 << bits
	        : form == LEVELS_POWERS ? 4
	                                : 0) +
	       4 * divide_up(n, (size_t)codec->value[LEVELS_BUCKET]) +
	       (codec->value[LEVELS_CODING] == LEVELS_FIXED ? fixed_bytes(bits, n)
	                                                    : blocks_bound(&code, symbol_count(n)));
}
