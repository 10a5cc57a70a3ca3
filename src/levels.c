/* Quantisation to levels, as it is and not where: buckets, norms, rounding at random, codes.
 *
 * SPDX-License-Identifier: MIT */
#include "codes.h"
#include "levels.h"
#include "rng.h"
#include "symbols.h"
#include "v16.h"
#include <math.h>

enum { HEAD = 8 };
enum { FLAG_CODING = 3 }; /* enum levels_coding */

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

/* ---- coded: codes as symbols ---------------------------------------------------------------- */

/* Symbols are whole blocks; codes past the last element are 0. */
static size_t symbol_count(size_t n) { return LEVELS_BLOCK * divide_up(n, LEVELS_BLOCK); }

V16_FN void symbols_of(const uint8_t *codes, size_t groups, uint8_t *symbol, unsigned bits)
{
	typedef uint8_t bytes __attribute__((vector_size(V16), aligned(1), may_alias));
	const bytes *plane = (const bytes *)codes;
	bytes *to = (bytes *)symbol;
	for (size_t g = 0; g < groups; g += GROUPS, plane += bits)
		for (unsigned k = 0; k < GROUPS; k++) {
			const unsigned byte = bits * k / 8, bit = bits * k % 8;
			bytes x = plane[byte] >> (uint8_t)bit;
			if (bit + bits > 8)
				x |= plane[byte + 1] << (uint8_t)(8 - bit);
			*to++ = x & (uint8_t)((1u << bits) - 1);
		}
}
static void symbols_of_2(const uint8_t *codes, size_t groups, uint8_t *symbol)
{
	symbols_of(codes, groups, symbol, 2);
}
static void symbols_of_3(const uint8_t *codes, size_t groups, uint8_t *symbol)
{
	symbols_of(codes, groups, symbol, 3);
}
static void symbols_of_4(const uint8_t *codes, size_t groups, uint8_t *symbol)
{
	symbols_of(codes, groups, symbol, 4);
}

static struct symbols symbols_with(uint32_t count)
{
	const unsigned bits = bits_of(count - 1);
	return (struct symbols){count, 2 * bits,
	                        bits == 2   ? symbols_of_2
	                        : bits == 3 ? symbols_of_3
	                                    : symbols_of_4};
}

static enum symbols_coder coder_of(unsigned coding)
{
	return coding == LEVELS_HUFFMAN ? SYMBOLS_HUFFMAN : SYMBOLS_ENTROPY;
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
 * or lie half-way between them, in units of their distance. All is added up in units of 2^-24 of this, as
 * integers: the size, rounded up, carries into the next level if it exceeds u, or below zero, where up is
 * towards 1, too, 1 - u. */
V16_FN v16i round_even(v16f y, v16i u, const struct rounding *r)
{
	const uint32_t middle = r->count / 2, odd = r->count & 1, most = (1u << 24) - 1;
	const v16f size = v16_min(v16_abs(y), v16_set(1));
	const v16i at =
	        v16_ceil(v16_add(v16_mul(size, v16_set(r->half * 0x1p24f)), v16_set(odd ? 0 : 0x1p23f)));
	const v16i plus = v16_subi(v16_seti((middle - !odd) << 24 | most), u),
	           minus = v16_subi(v16_seti(middle << 24 | most), u);
	const v16f code =
	        v16_pick(v16_negative(y), v16_of_bits(v16_subi(minus, at)), v16_of_bits(v16_addi(plus, at)));
	return v16_shr(v16_bits_of(code), 24);
}

/* k + step where y is at least that level, else k. */
V16_FN v16i step_up(v16f y, v16t from, v16i k, uint32_t step)
{
	const v16i next = v16_ori(k, v16_seti(step));
	return v16_bits_of(v16_pick(v16_ge(y, v16_lookup(from, next)), v16_of_bits(next), v16_of_bits(k)));
}

V16_FN v16i round_table(v16f y, v16f u, const struct rounding *r)
{
	const v16t from = v16_table(r->from), width = v16_table(r->width);
	v16i k = v16_seti(0);
	if (r->count > 8) {
		const v16m upper = v16_ge(y, v16_set(r->from[8]));
		const v16f four = v16_pick(upper, v16_set(r->from[12]), v16_set(r->from[4]));
		k = v16_ori(v16_keepi(upper, v16_seti(8)), v16_keepi(v16_ge(y, four), v16_seti(4)));
	} else {
		k = v16_keepi(v16_ge(y, v16_set(r->from[4])), v16_seti(4));
	}
	k = step_up(y, from, step_up(y, from, k, 2), 1);
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
				const v16f y = v16_mul(v16_mul(v, lift), inverse);
				const v16i u = rng_bits(&chance);
				code[g] = even ? round_even(y, u, r) : round_table(y, v16_float_of(u), r);
				if (!whole)
					code[g] = v16_keepi(v16_mask(v16_first(end - at)), code[g]);
			}
			for (size_t g = groups; g < GROUPS; g++)
				code[g] = v16_seti(0);
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
	const unsigned bits = bits_of(levels->count - 1), coding = (unsigned)p->codec.value[LEVELS_CODING];
	const struct symbols symbols = symbols_with(levels->count);
	uint8_t *norms = put_levels(dst, (uint32_t)bucket, levels);
	uint8_t *const out = norms + 4 * divide_up(n, bucket);
	uint8_t *low = out;
	if (coding != LEVELS_FIXED) {
		low += symbols_marks(&symbols, symbol_count(n));
		memset(low + symbols_fixed(&symbols, symbol_count(n)) - V16 * bits, 0, V16 * bits);
	}
	const struct codes codes = {bits, low, low + plane_bytes(4, n)};
	*flags = (uint16_t)coding;
	if (type != CRUMB_F32) /* one loop for all of these: they are rarer */
		pack_type(p, grad, type, &r, even, norm, norms, codes);
	else if (even)
		pack_type(p, grad, CRUMB_F32, &r, true, norm, norms, codes);
	else
		pack_type(p, grad, CRUMB_F32, &r, false, norm, norms, codes);
	return (size_t)(out - dst) +
	       (coding == LEVELS_FIXED
	                ? code_bytes(bits, n)
	                : PER_ISA(symbols_encode)(out, low, symbol_count(n), &symbols, coder_of(coding)));
}

size_t PER_ISA(levels_bound)(const crumb_codec *codec, size_t n, enum levels_form form)
{
	const unsigned bits = (unsigned)codec->value[LEVELS_BITS];
	const struct symbols symbols = symbols_with(1u << bits);
	return HEAD +
	       (form == LEVELS_TABLE    ? (size_t)4 << bits
	        : form == LEVELS_POWERS ? 4
	                                : 0) +
	       4 * divide_up(n, (size_t)codec->value[LEVELS_BUCKET]) +
	       (codec->value[LEVELS_CODING] == LEVELS_FIXED ? code_bytes(bits, n)
	                                                    : symbols_bound(&symbols, symbol_count(n)));
}

/* ---- frames --------------------------------------------------------------------------------- */

/* The parts of a payload. */
struct parts {
	size_t bucket, buckets;
	struct levels levels;
	const uint8_t *norm;
	unsigned coding;
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
	p->coding = frame->flags & FLAG_CODING;
	if (frame->flags > LEVELS_ENTROPY || frame->size < HEAD)
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
	return p->coding == LEVELS_FIXED ? p->code_size == code_bytes(bits, frame->n) : bits <= 4;
}

/* What is done with the codes of a block of 128 elements, or of what is left of n, that element i begins;
 * groups after the last element's are not looked at. */
struct decoding {
	const struct parts *parts;
	size_t n;
	float weight, *acc;      /* to add */
	size_t end;              /* of the bucket at hand, */
	float scale, value[V16]; /* of which these are what a level of 1 and the first levels are worth */
	uint64_t sent;           /* to count */
	bool clean;              /* to check: whether all codes after the last element are 0 */
};

V16_FN size_t groups_from(size_t n, size_t i)
{
	return n - i < LEVELS_BLOCK ? divide_up(n - i, V16) : GROUPS;
}

/* What a code is worth under a scale; the first sixteen levels are in a table. */
V16_FN v16f worth(const struct levels *levels, v16t table, v16i code, float scale)
{
	return levels->count > V16 ? v16_mul(v16_gather(levels->at, code), v16_set(scale))
	                           : v16_lookup(table, code);
}

static float norm_at(const struct parts *p, size_t i) { return get_f32(p->norm + 4 * (i / p->bucket)); }

/* What the codes of the bucket are worth that element i, one of its, lies in. */
static void open_bucket(struct decoding *d, size_t i)
{
	d->scale = d->weight * norm_at(d->parts, i);
	d->end = (i / d->parts->bucket + 1) * d->parts->bucket;
	v16_storef(d->value, v16_mul(v16_loadf(d->parts->levels.at), v16_set(d->scale)));
}

static void add_block(struct decoding *d, size_t i, const v16i *code)
{
	if (i >= d->end)
		open_bucket(d, i);
	const struct levels *levels = &d->parts->levels;
	const v16t table = v16_table(d->value);
	if (d->n - i >= LEVELS_BLOCK && levels->count <= V16) {
		for (float *acc = d->acc + i; acc < d->acc + i + LEVELS_BLOCK; acc += V16)
			v16_storef(acc, v16_add(v16_loadf(acc), v16_lookup(table, *code++)));
		return;
	}
	const size_t groups = groups_from(d->n, i);
	for (size_t g = 0; g < groups; g++) {
		const size_t at = i + g * V16, count = d->n - at;
		const v16f x = worth(levels, table, code[g], d->scale);
		float *acc = d->acc + at;
		if (count < V16)
			v16_storef_few(acc, v16_add(v16_loadf_few(acc, count), x), count);
		else
			v16_storef(acc, v16_add(v16_loadf(acc), x));
	}
}

static void count_block(struct decoding *d, size_t i, const v16i *code)
{
	const float scale = norm_at(d->parts, i);
	const size_t groups = groups_from(d->n, i);
	for (size_t g = 0; g < groups; g++) {
		const size_t left = d->n - i - g * V16;
		const uint16_t here = left < V16 ? v16_first(left) : 0xFFFF;
		const v16f x = v16_mul(v16_gather(d->parts->levels.at, code[g]), v16_set(scale));
		d->sent += (unsigned)__builtin_popcount(v16_bits(v16_ne(x, v16_set(0))) & here);
	}
}

static void check_block(struct decoding *d, size_t i, const v16i *code)
{
	for (size_t g = 0; g < GROUPS && d->n - i < LEVELS_BLOCK; g++) {
		const size_t at = i + g * V16;
		const uint16_t past = at >= d->n        ? 0xFFFF
		                      : d->n - at < V16 ? (uint16_t)~v16_first(d->n - at)
		                                        : 0;
		if (v16_bits(v16_ne(v16_float_of(code[g]), v16_set(0))) & past)
			d->clean = false;
	}
}

typedef void block_function(struct decoding *d, size_t i, const v16i *code);

/* Symbols are the codes of whole blocks, in order. */
V16_FN void put_symbols(struct decoding *d, block_function *function, size_t first, const uint8_t *symbol,
                        size_t count)
{
	for (size_t i = first; i < first + count; i += LEVELS_BLOCK) {
		v16i code[GROUPS];
		for (size_t g = 0; g < GROUPS; g++, symbol += V16)
			code[g] = v16_load_u8(symbol);
		function(d, i, code);
	}
}
static void add_symbols(void *d, size_t first, const uint8_t *symbol, size_t count)
{
	put_symbols(d, add_block, first, symbol, count);
}
static void count_symbols(void *d, size_t first, const uint8_t *symbol, size_t count)
{
	put_symbols(d, count_block, first, symbol, count);
}
static void check_symbols(void *d, size_t first, const uint8_t *symbol, size_t count)
{
	put_symbols(d, check_block, first, symbol, count);
}

static bool decode_symbols(struct decoding *d, symbols_put *put)
{
	const struct parts *p = d->parts;
	const struct symbols symbols = symbols_with(p->levels.count);
	return PER_ISA(symbols_decode)(p->codes.low, p->code_size, symbol_count(d->n), &symbols,
	                               coder_of(p->coding), put, d);
}

V16_FN void decode_fixed(struct decoding *d, block_function *function, size_t first, size_t end)
{
	struct coded codes = d->parts->codes;
	v16i code[GROUPS];
	codes.low += plane_bytes(codes.bits < 4 ? codes.bits : 4, first);
	codes.high += codes.bits > 4 ? plane_bytes(codes.bits - 4, first) : 0;
	for (size_t i = first; i < end; i += LEVELS_BLOCK) {
		coded_get(&codes, code, groups_from(d->n, i));
		function(d, i, code);
	}
}

/* Of whole blocks of the bucket at hand. */
V16_FN void add_blocks(const struct decoding *d, const uint8_t *src, size_t i, size_t end,
                       const unsigned bits)
{
	const v16t table = v16_table(d->value);
	for (; i < end; i += LEVELS_BLOCK, src += V16 * bits) {
		v16i x = get_lanes(src, bits);
		for (float *acc = d->acc + i; acc < d->acc + i + LEVELS_BLOCK; acc += V16) {
			const v16f value = v16_lookup(table, v16_andi(x, v16_seti((1u << bits) - 1)));
			v16_storef(acc, v16_add(v16_loadf(acc), value));
			x = v16_shr(x, (int)bits);
		}
	}
}

static void add_fixed(struct decoding *d, size_t first, size_t end)
{
	const unsigned bits = d->parts->codes.bits;
	for (size_t stop; bits <= 4 && end - first >= LEVELS_BLOCK; first = stop) {
		const uint8_t *src = d->parts->codes.low + plane_bytes(bits, first);
		open_bucket(d, first);
		stop = first + ((d->end < end ? d->end : end) - first) / LEVELS_BLOCK * LEVELS_BLOCK;
		if (bits == 4)
			add_blocks(d, src, first, stop, 4);
		else if (bits == 3)
			add_blocks(d, src, first, stop, 3);
		else
			add_blocks(d, src, first, stop, 2);
	}
	decode_fixed(d, add_block, first, end);
}

/* Whether codes at fixed width are below the number of levels, 2^bits or one less, and those after the last
 * element 0. */
static bool check_fixed(struct decoding *d)
{
	const size_t n = d->n, last = (n - 1) / LEVELS_BLOCK * LEVELS_BLOCK;
	const uint32_t count = d->parts->levels.count;
	struct coded codes = d->parts->codes;
	const bool few = codes.bits <= 4;
	v16i code[GROUPS];
	if (few && count & 1 && coded_fill(&codes, n))
		return false;
	if (few)
		codes.low += plane_bytes(codes.bits, last);
	v16f top = v16_set(0);
	for (size_t i = few ? last : 0; i < n; i += LEVELS_BLOCK) {
		coded_get(&codes, code, groups_from(n, i));
		for (int g = 0; g < GROUPS; g++)
			top = v16_max(top, v16_float_of(code[g]));
		check_block(d, i, code);
	}
	return !v16_bits(v16_gt(top, v16_set((float)(count - 1))));
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
	struct decoding d = {.parts = &p, .n = frame->n, .clean = true};
	return (p.coding == LEVELS_FIXED ? check_fixed(&d) : decode_symbols(&d, check_symbols)) && d.clean;
}

bool PER_ISA(levels_divides)(const struct frame *frame) { return frame->flags == LEVELS_FIXED; }

void PER_ISA(levels_unpack_add)(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	struct parts p;
	parts_of(frame, &p);
	struct decoding d = {.parts = &p, .n = frame->n, .weight = weight, .acc = acc};
	const struct symbols symbols = symbols_with(p.levels.count);
	const size_t last = end < d.n ? end : symbol_count(d.n);
	if (p.coding == LEVELS_FIXED) {
		add_fixed(&d, first, end);
	} else {
		PER_ISA(symbols_decode_range)
		(p.codes.low, p.code_size, symbol_count(d.n), &symbols, coder_of(p.coding), add_symbols, &d,
		 first, last);
	}
}

uint32_t PER_ISA(levels_describe)(const struct frame *frame, crumb_frame *out)
{
	struct parts p;
	parts_of(frame, &p);
	const uint32_t count = p.levels.count;
	out->codec.value[LEVELS_BITS] = (float)bits_of(count - 1);
	out->codec.value[LEVELS_BUCKET] = (float)p.bucket;
	out->codec.value[LEVELS_CODING] = (float)p.coding;
	frame_fact(out, "levels", count);
	if (p.levels.form == LEVELS_POWERS)
		frame_fact(out, "multiplier", p.levels.at[count - 2]);
	double sum = 0;
	for (size_t b = 0; b < p.buckets; b++)
		sum += get_f32(p.norm + 4 * b);
	frame_fact(out, "mean_norm", sum / (double)p.buckets);

	struct decoding d = {.parts = &p, .n = frame->n};
	if (p.coding == LEVELS_FIXED)
		decode_fixed(&d, count_block, 0, d.n);
	else
		decode_symbols(&d, count_symbols);
	out->sent = d.sent;
	return count;
}
