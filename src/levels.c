/* Quantisation to levels, as it is and not where: buckets, norms, rounding at random, codes.
 *
 * SPDX-License-Identifier: MIT */
#include "levels.h"
#include "rng.h"
#include "v16.h"
#include <math.h>

enum { GROUPS = LEVELS_BLOCK / V16, HEAD = 8 };

/* ---- levels --------------------------------------------------------------------------------- */

void PER_ISA(levels_even)(struct levels *levels, uint32_t count)
{
	*levels = (struct levels){.form = LEVELS_EVEN, .count = count};
	for (uint32_t k = 0; k < count; k++)
		levels->at[k] = (float)(2 * (int)k - (int)count + 1) / (float)(count - 1);
}

void PER_ISA(levels_powers)(struct levels *levels, uint32_t count, float p)
{
	*levels = (struct levels){.form = LEVELS_POWERS, .count = count};
	float power = 1;
	for (uint32_t k = 0; k < count / 2; k++, power *= p) {
		levels->at[k] = -power;
		levels->at[count - 1 - k] = power;
	}
}

static bool ascending(const struct levels *levels)
{
	bool good = levels->at[0] == -1 && levels->at[levels->count - 1] == 1;
	for (uint32_t k = 1; k < levels->count; k++)
		good = good && levels->at[k - 1] < levels->at[k];
	return good;
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

/* ---- codes ---------------------------------------------------------------------------------- */

/* How many bits a number above 0 has. */
static unsigned bits_of(uint32_t x) { return 32u - (unsigned)__builtin_clz(x); }

/* Bytes of n codes of at most four bits: blocks of 128, each lane's eight codes together. */
static size_t plane_bytes(unsigned bits, size_t n) { return V16 * divide_up(bits * divide_up(n, V16), 8); }

/* Codes of more than four bits are written in two parts, the low four bits of all first. */
static size_t code_bytes(unsigned bits, size_t n)
{
	return bits <= 4 ? plane_bytes(bits, n) : plane_bytes(4, n) + plane_bytes(bits - 4, n);
}

V16_FN uint8_t *put_planes(uint8_t *dst, const v16i *code, size_t groups, unsigned shift, const unsigned bits)
{
	const v16i mask = v16_seti((1u << bits) - 1);
	v16i x = v16_seti(0);
	for (size_t g = groups; g-- > 0;)
		x = v16_ori(v16_shl(x, (int)bits), v16_andi(v16_shr(code[g], (int)shift), mask));
	const size_t planes = divide_up(bits * groups, 8);
	for (size_t j = 0; j < planes; j++, dst += V16)
		v16_store_u8(dst, v16_andi(v16_shr(x, (int)(8 * j)), v16_seti(255)));
	return dst;
}

static uint8_t *put_codes(uint8_t *dst, const v16i *code, size_t groups, unsigned shift, unsigned bits)
{
	switch (bits) {
	case 1:
		return put_planes(dst, code, groups, shift, 1);
	case 2:
		return put_planes(dst, code, groups, shift, 2);
	case 3:
		return put_planes(dst, code, groups, shift, 3);
	default:
		return put_planes(dst, code, groups, shift, 4);
	}
}

V16_FN const uint8_t *get_planes(const uint8_t *src, v16i *code, size_t groups, const unsigned bits)
{
	const size_t planes = divide_up(bits * groups, 8);
	v16i x = v16_seti(0);
	for (size_t j = 0; j < planes; j++, src += V16)
		x = v16_ori(x, v16_shl(v16_load_u8(src), (int)(8 * j)));
	for (size_t g = 0; g < GROUPS; g++, x = v16_shr(x, (int)bits))
		code[g] = v16_andi(x, v16_seti((1u << bits) - 1));
	return src;
}

static const uint8_t *get_codes(const uint8_t *src, v16i code[GROUPS], size_t groups, unsigned bits)
{
	switch (bits) {
	case 1:
		return get_planes(src, code, groups, 1);
	case 2:
		return get_planes(src, code, groups, 2);
	case 3:
		return get_planes(src, code, groups, 3);
	default:
		return get_planes(src, code, groups, 4);
	}
}

/* Where codes are written to or read from. */
struct codes {
	unsigned bits;
	uint8_t *low, *high;
};

static void codes_put(struct codes *c, const v16i *code, size_t groups)
{
	c->low = put_codes(c->low, code, groups, 0, c->bits < 4 ? c->bits : 4);
	if (c->bits > 4)
		c->high = put_codes(c->high, code, groups, 4, c->bits - 4);
}

struct coded {
	unsigned bits;
	const uint8_t *low, *high;
};

static void coded_get(struct coded *c, v16i code[GROUPS], size_t groups)
{
	c->low = get_codes(c->low, code, groups, c->bits < 4 ? c->bits : 4);
	if (c->bits > 4) {
		v16i more[GROUPS];
		c->high = get_codes(c->high, more, groups, c->bits - 4);
		for (size_t g = 0; g < groups; g++)
			code[g] = v16_ori(code[g], v16_shl(more[g], 4));
	}
}

/* ---- norms ---------------------------------------------------------------------------------- */

/* An element in units of its bucket's norm is (v * lift) * inverse: lift, a power of two, keeps squares and
 * inverse in range. */
struct unit {
	float norm, lift, inverse;
};

V16_FN float top_of(const void *grad, const enum crumb_dtype type, size_t first, size_t size)
{
	v16f top[4] = {v16_set(0), v16_set(0), v16_set(0), v16_set(0)};
	size_t i = first, end = first + size;
	for (; i + 4 * V16 <= end; i += 4 * V16)
		for (size_t k = 0; k < 4; k++)
			top[k] = v16_max(top[k], v16_abs(v16_load(type, grad, i + k * V16)));
	for (; i + V16 <= end; i += V16)
		top[0] = v16_max(top[0], v16_abs(v16_load(type, grad, i)));
	if (i < end)
		top[1] = v16_max(top[1], v16_abs(v16_load_few(type, grad, i, end - i)));
	return v16_top(v16_max(v16_max(top[0], top[1]), v16_max(top[2], top[3])));
}

/* The sum of the squares of v * lift: f32 in blocks of 4,096, double across. */
V16_FN double squares_of(const void *grad, const enum crumb_dtype type, size_t first, size_t size, float lift)
{
	double sum = 0;
	for (size_t i = first, end = first + size; i < end;) {
		const size_t stop = end - i < RNG_BLOCK ? end : i + RNG_BLOCK;
		v16f s = v16_set(0);
		for (; i + V16 <= stop; i += V16) {
			const v16f x = v16_mul(v16_load(type, grad, i), v16_set(lift));
			s = v16_add(s, v16_mul(x, x));
		}
		if (i < stop) {
			const v16f x = v16_mul(v16_load_few(type, grad, i, stop - i), v16_set(lift));
			s = v16_add(s, v16_mul(x, x));
			i = stop;
		}
		sum += v16_fold(s);
	}
	return sum;
}

/* 2^exponent, a normal number. */
static float power_of_two(int exponent)
{
	const uint32_t bits = (uint32_t)(exponent + 127) << 23;
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

V16_FN struct unit unit_of(const void *grad, const enum crumb_dtype type, size_t first, size_t size,
                           enum levels_norm norm)
{
	const float top = top_of(grad, type, first, size);
	if (top == 0)
		return (struct unit){0, 1, 0};
	uint32_t bits;
	memcpy(&bits, &top, sizeof bits);
	const int exponent = top < 0x1p-100f ? -100 : (int)(bits >> 23) - 127;
	const float lift = power_of_two(-exponent);
	const float lifted =
	        norm == LEVELS_MAX ? top * lift : (float)sqrt(squares_of(grad, type, first, size, lift));
	return (struct unit){lifted * power_of_two(exponent), lift, 1 / lifted};
}

/* ---- rounding ------------------------------------------------------------------------------- */

/* What it takes to round to levels. */
struct rounding {
	uint32_t count;
	float half;       /* even: levels in the half interval */
	float from[V16];  /* table: the levels but for the last, and 2 for what is not one */
	float width[V16]; /* to the next level, times 2^-24 */
};

static struct rounding rounding_to(const struct levels *levels)
{
	struct rounding r = {.count = levels->count, .half = (float)(levels->count - 1) / 2};
	for (uint32_t k = 0; k < V16 && levels->form != LEVELS_EVEN; k++) {
		const bool last = k + 1 >= levels->count;
		r.from[k] = last ? 2 : levels->at[k];
		r.width[k] = last ? 0 : (levels->at[k + 1] - levels->at[k]) * 0x1p-24f;
	}
	return r;
}

/* The codes of sixteen y in [-1, 1], up to rounding; u in units of 2^-24. Evenly spaced levels are integers,
 * or lie half-way between them, in units of their distance. */
V16_FN v16i round_even(v16f y, v16f u, const struct rounding *r)
{
	const uint32_t middle = r->count / 2, odd = r->count & 1;
	const v16f size = v16_min(v16_abs(y), v16_set(1));
	const v16f at = v16_add(v16_mul(size, v16_set(r->half)), v16_set(odd ? 0 : 0.5f));
	const v16i below = v16_trunc(at);
	const v16f rest = v16_mul(v16_sub(at, v16_float_of(below)), v16_set(0x1p24f));
	const v16m negative = v16_negative(y);
	u = v16_pick(negative, v16_sub(v16_set(0x1p24f - 1), u), u); /* up is towards 1 for these, too */
	const v16i q = v16_addi(below, v16_keepi(v16_gt(rest, u), v16_seti(1)));
	const v16i up = v16_addi(q, v16_seti(middle - !odd)), down = v16_subi(v16_seti(middle), q);
	return v16_bits_of(v16_pick(negative, v16_of_bits(down), v16_of_bits(up)));
}

V16_FN v16i round_table(v16f y, v16f u, const struct rounding *r)
{
	const v16t from = v16_table(r->from), width = v16_table(r->width);
	v16i k = v16_seti(0);
	for (uint32_t step = r->count > 8 ? 8 : 4; step; step /= 2) {
		const v16i next = v16_ori(k, v16_seti(step));
		k = v16_addi(k, v16_keepi(v16_ge(y, v16_lookup(from, next)), v16_seti(step)));
	}
	const v16f rest = v16_sub(y, v16_lookup(from, k));
	return v16_addi(k, v16_keepi(v16_gt(rest, v16_mul(u, v16_lookup(width, k))), v16_seti(1)));
}

V16_FN void pack_type(struct crumb_packer *p, const void *grad, const enum crumb_dtype type,
                      const struct rounding *r, const bool even, enum levels_norm kind, uint8_t *norm,
                      struct codes codes)
{
	const size_t n = p->n, bucket = (size_t)p->codec.value[LEVELS_BUCKET];
	rng chance = rng_at(p->seed, p->step, 0);
	for (size_t first = 0; first < n; first += bucket) {
		const size_t end = n - first < bucket ? n : first + bucket;
		const struct unit unit = unit_of(grad, type, first, end - first, kind);
		const v16f lift = v16_set(unit.lift), inverse = v16_set(unit.inverse);
		norm = put_f32(norm, unit.norm);
		for (size_t i = first; i < end; i += LEVELS_BLOCK) {
			const size_t groups = end - i < LEVELS_BLOCK ? divide_up(end - i, V16) : GROUPS;
			v16i code[GROUPS];
			if (i % RNG_BLOCK == 0)
				chance = rng_at(p->seed, p->step, i);
			for (size_t g = 0; g < groups; g++) {
				const size_t at = i + g * V16;
				const bool whole = end - at >= V16;
				/* The next bucket comes from memory while this one is computed. */
				__builtin_prefetch((const uint8_t *)grad + v16_width(type) * (at + bucket));
				const v16f v = whole ? v16_load(type, grad, at)
				                     : v16_load_few(type, grad, at, end - at);
				const v16f y = v16_mul(v16_mul(v, lift), inverse), u = rng_next(&chance);
				code[g] = even ? round_even(y, u, r) : round_table(y, u, r);
				if (!whole)
					code[g] = v16_keepi(v16_mask(v16_first(end - at)), code[g]);
			}
			codes_put(&codes, code, groups);
		}
	}
}

void PER_ISA(levels_survey)(const void *grad, enum crumb_dtype type, size_t n, size_t bucket,
                            enum levels_norm norm, levels_see *see, void *arg)
{
	for (size_t first = 0; first < n; first += bucket) {
		const size_t end = n - first < bucket ? n : first + bucket;
		const struct unit unit = unit_of(grad, type, first, end - first, norm);
		for (size_t i = first; i < end; i += LEVELS_BLOCK) {
			const size_t count = end - i < LEVELS_BLOCK ? end - i : LEVELS_BLOCK;
			float y[LEVELS_BLOCK];
			for (size_t g = 0; g < count; g += V16) {
				const v16f v = count - g < V16 ? v16_load_few(type, grad, i + g, count - g)
				                               : v16_load(type, grad, i + g);
				v16_storef(y + g,
				           v16_mul(v16_mul(v, v16_set(unit.lift)), v16_set(unit.inverse)));
			}
			see(arg, i / LEVELS_BLOCK, i == first, unit.norm, y, count);
		}
	}
}

size_t PER_ISA(levels_pack)(struct crumb_packer *p, const void *grad, enum crumb_dtype type,
                            const struct levels *levels, enum levels_norm norm, uint8_t *dst, uint16_t *flags)
{
	const size_t n = p->n, bucket = (size_t)p->codec.value[LEVELS_BUCKET];
	const struct rounding r = rounding_to(levels);
	const bool even = levels->form == LEVELS_EVEN;
	const unsigned bits = bits_of(levels->count - 1);
	uint8_t *norms = put_levels(dst, (uint32_t)bucket, levels);
	uint8_t *low = norms + 4 * divide_up(n, bucket);
	const struct codes codes = {bits, low, low + plane_bytes(4, n)};
	*flags = 0;
#define PACK(TYPE)                                                    \
	even ? pack_type(p, grad, TYPE, &r, true, norm, norms, codes) \
	     : pack_type(p, grad, TYPE, &r, false, norm, norms, codes)
	if (type == CRUMB_F32)
		PACK(CRUMB_F32);
	else
		PACK(type); /* one loop for both: rarer, and half the code */
	return (size_t)(low - dst) + code_bytes(bits, n);
}

size_t PER_ISA(levels_bound)(const crumb_codec *codec, size_t n, enum levels_form form)
{
	const unsigned bits = (unsigned)codec->value[LEVELS_BITS];
	return HEAD +
	       (form == LEVELS_TABLE    ? (size_t)4 << bits
	        : form == LEVELS_POWERS ? 4
	                                : 0) +
	       4 * divide_up(n, (size_t)codec->value[LEVELS_BUCKET]) + code_bytes(bits, n);
}

/* ---- frames --------------------------------------------------------------------------------- */

/* The parts of a payload. */
struct parts {
	size_t bucket, buckets;
	struct levels levels;
	const uint8_t *norm;
	struct coded codes;
	size_t code_size;
};

/* Reads the levels; returns what follows them, or NULL if there are none. */
static const uint8_t *get_levels(const uint8_t *src, size_t size, struct levels *levels)
{
	const uint32_t word = get_u32(src), count = word & 0xFFFF, form = word >> 16;
	const unsigned bits = count > 1 ? bits_of(count - 1) : 0;
	if (bits < 2 || bits > 8 || (count != 1u << bits && count != (1u << bits) - 1) ||
	    form > LEVELS_TABLE || (form != LEVELS_EVEN && count > V16))
		return NULL;
	src += 4;
	size -= 4;
	if (form == LEVELS_EVEN) {
		PER_ISA(levels_even)(levels, count);
		return src;
	}
	const size_t floats = form == LEVELS_POWERS ? 1 : count;
	if (size < 4 * floats)
		return NULL;
	if (form == LEVELS_POWERS) {
		PER_ISA(levels_powers)(levels, count, get_f32(src));
	} else {
		*levels = (struct levels){.form = LEVELS_TABLE, .count = count};
		memcpy(levels->at, src, 4 * count);
	}
	return ascending(levels) ? src + 4 * floats : NULL;
}

static bool parts_of(const struct frame *frame, struct parts *p)
{
	if (frame->flags || frame->size < HEAD)
		return false;
	p->bucket = get_u32(frame->payload);
	if (!p->bucket || p->bucket % LEVELS_BLOCK || p->bucket > LEVELS_MOST_BUCKET)
		return false;
	p->norm = get_levels(frame->payload + 4, frame->size - 4, &p->levels);
	p->buckets = divide_up(frame->n, p->bucket);
	if (!p->norm || p->buckets > (size_t)(frame->payload + frame->size - p->norm) / 4)
		return false;
	const uint8_t *low = p->norm + 4 * p->buckets;
	const unsigned bits = bits_of(p->levels.count - 1);
	p->codes = (struct coded){bits, low, low + plane_bytes(4, frame->n)};
	p->code_size = (size_t)(frame->payload + frame->size - low);
	return p->code_size == code_bytes(bits, frame->n);
}

/* The codes of the block of 128 elements, or what is left of n, that element i begins. Returns its groups. */
static size_t next_block(struct parts *p, size_t n, size_t i, v16i code[GROUPS])
{
	const size_t groups = n - i < LEVELS_BLOCK ? divide_up(n - i, V16) : GROUPS;
	coded_get(&p->codes, code, groups);
	return groups;
}

bool PER_ISA(levels_check)(const struct frame *frame)
{
	struct parts p;
	if (!parts_of(frame, &p))
		return false;
	for (size_t b = 0; b < p.buckets; b++) {
		const float norm = get_f32(p.norm + 4 * b);
		if (!isfinite(norm) || signbit(norm))
			return false;
	}
	const size_t n = frame->n;
	const v16f most = v16_set((float)(p.levels.count - 1));
	v16f top = v16_set(0);
	v16i code[GROUPS], rest = v16_seti(0);
	for (size_t i = 0; i < n; i += LEVELS_BLOCK) {
		const size_t groups = next_block(&p, n, i, code);
		for (size_t g = 0; g < groups; g++)
			top = v16_max(top, v16_float_of(code[g]));
		if (n - i < groups * V16)
			rest = v16_keepi(v16_mask((uint16_t)~v16_first(n - i - (groups - 1) * V16)),
			                 code[groups - 1]);
		for (size_t g = groups; g < GROUPS && p.codes.bits <= 4; g++)
			rest = v16_ori(rest, code[g]);
	}
	return !v16_bits(v16_gt(top, most)) && !v16_bits(v16_ne(v16_float_of(rest), v16_set(0)));
}

/* acc += the values of one group, the first count of which are elements. */
V16_FN void add_group(float *acc, v16f value, size_t count)
{
	if (count < V16)
		v16_storef_few(acc, v16_add(v16_loadf_few(acc, count), value), count);
	else
		v16_storef(acc, v16_add(v16_loadf(acc), value));
}

/* What the first sixteen levels are worth in a bucket. The table may live on in value. */
V16_FN v16t worth(float value[V16], const struct levels *levels, float scale)
{
	v16_storef(value, v16_mul(v16_loadf(levels->at), v16_set(scale)));
	return v16_table(value);
}

void PER_ISA(levels_unpack_add)(const struct frame *frame, float weight, float *acc)
{
	struct parts p;
	parts_of(frame, &p);
	const size_t n = frame->n;
	float value[V16];
	v16i code[GROUPS];
	for (size_t first = 0; first < n; first += p.bucket, p.norm += 4) {
		const size_t end = n - first < p.bucket ? n : first + p.bucket;
		const float scale = weight * get_f32(p.norm);
		const v16t table = worth(value, &p.levels, scale);
		for (size_t i = first; i < end; i += LEVELS_BLOCK) {
			const size_t groups = next_block(&p, n, i, code);
			for (size_t g = 0; g < groups; g++) {
				const size_t at = i + g * V16;
				const v16f x =
				        p.levels.count > V16
				                ? v16_mul(v16_gather(p.levels.at, code[g]), v16_set(scale))
				                : v16_lookup(table, code[g]);
				add_group(acc + at, x, end - at);
			}
		}
	}
}

uint32_t PER_ISA(levels_describe)(const struct frame *frame, crumb_frame *out)
{
	struct parts p;
	parts_of(frame, &p);
	const uint32_t count = p.levels.count;
	const size_t n = frame->n;
	out->codec.value[LEVELS_BITS] = (float)bits_of(count - 1);
	out->codec.value[LEVELS_BUCKET] = (float)p.bucket;
	frame_fact(out, "levels", count);
	if (p.levels.form == LEVELS_POWERS)
		frame_fact(out, "multiplier", p.levels.at[count - 2]);
	double sum = 0;
	for (size_t b = 0; b < p.buckets; b++)
		sum += get_f32(p.norm + 4 * b);
	frame_fact(out, "mean_norm", sum / (double)p.buckets);

	v16i code[GROUPS];
	for (size_t i = 0, norm = 0; i < n; i += LEVELS_BLOCK) {
		norm = i / p.bucket;
		const float scale = get_f32(p.norm + 4 * norm);
		const size_t groups = next_block(&p, n, i, code);
		for (size_t g = 0; g < groups; g++) {
			const size_t left = n - i - g * V16;
			const uint16_t here = left < V16 ? v16_first(left) : 0xFFFF;
			const v16f x = v16_mul(v16_gather(p.levels.at, code[g]), v16_set(scale));
			out->sent += (unsigned)__builtin_popcount(v16_bits(v16_ne(x, v16_set(0))) & here);
		}
	}
	return count;
}
