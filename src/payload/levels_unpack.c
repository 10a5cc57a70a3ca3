/* Frames of codes of levels: validates, adds and describes them.
 *
 * SPDX-License-Identifier: MIT */
#include "payload/levels_codes.h"
#include "payload/trits.h"
#include "payload/levels.h"
#include "coding/blocks.h"
#include "v16/v16.h"
#include <math.h>

/* A payload's fields. */
struct levels_payload {
	unsigned coding;
	size_t bucket, buckets;
	struct levels levels; /* at: once levels_read has been called */
	const uint8_t *given; /* the multiplier or the levels */
	const uint8_t *norm;
	struct codes_in codes;
	size_t code_size;
};

/* Reads all fields but the levels themselves; returns false if a field or the payload's size is not valid. */
static bool levels_open(struct levels_payload *p, const struct frame *frame)
{
	p->coding = frame->flags & LEVELS_VARIABLE_WIDTH;
	if (frame->flags > LEVELS_ENTROPY || frame->size < LEVELS_HEAD)
		return false;
	p->bucket = get_u32(frame->payload);
	p->buckets = p->bucket ? divide_up(frame->n, p->bucket) : 0;
	if (!p->bucket || p->bucket % LEVELS_BLOCK || p->bucket > LEVELS_MAX_BUCKET)
		return false;
	const uint32_t count = get_u16(frame->payload + 4), form = get_u16(frame->payload + 6);
	const unsigned bits = count > 1 ? bit_width(count - 1) : 0;
	if (bits < 2 || bits > 8 || (count != 1u << bits && count != (1u << bits) - 1) || form > LEVELS_TABLE)
		return false;
	p->levels.form = (enum levels_form)form;
	p->levels.count = count;
	const size_t floats = form == LEVELS_EVEN ? 0 : form == LEVELS_POWERS ? 1 : count;
	if (p->buckets > frame->size / 4 || LEVELS_HEAD + 4 * (floats + p->buckets) > frame->size)
		return false;
	p->given = frame->payload + LEVELS_HEAD;
	p->norm = p->given + 4 * floats;
	const uint8_t *low = p->norm + 4 * p->buckets;
	p->codes = (struct codes_in){bits, low, low + plane_bytes(4, frame->n)};
	p->code_size = (size_t)(frame->payload + frame->size - low);
	return p->coding == LEVELS_FIXED ? p->code_size == fixed_bytes(bits, frame->n) : bits <= 4;
}

/* Reads the levels; returns false if they do not ascend from -1 to 1. */
static bool levels_read(struct levels_payload *p)
{
	struct levels *const levels = &p->levels;
	const uint32_t count = levels->count, codes = 1u << p->codes.bits;
	if (levels->form == LEVELS_EVEN)
		levels_even(levels, count);
	else if (levels->form == LEVELS_POWERS)
		levels_powers(levels, count, get_f32(p->given));
	else {
		levels_init(levels, LEVELS_TABLE, count);
		memcpy(levels->at, p->given, 4 * count);
	}
	bool good = levels->at[0] == -1 && levels->at[count - 1] == 1;
	for (uint32_t k = 1; k < count; k++)
		good = good && levels->at[k - 1] < levels->at[k];
	for (uint32_t k = codes; k < V16; k++) /* for v16_lookup_lowest */
		levels->at[k] = levels->at[k - codes];
	return good;
}

/* The state of one pass over a payload's codes. */
struct decoding {
	const struct levels_payload *payload;
	size_t n;
	float weight, *acc;      /* to add */
	size_t begin, end;       /* the current bucket, */
	float scale, value[V16]; /* the values of a level of 1 and of the first levels in it */
	uint64_t sent;           /* to count: elements with a value other than 0 */
	v16f max;                /* to check: the largest codes, lane by lane */
	bool ended;              /* all codes after the last element are 0 */
};

/* Takes the codes of the block of 128 elements, or of the elements left, that starts at element i. */
typedef void block_function(struct decoding *d, size_t i, const v16i *code);

V16_FN size_t groups_from(size_t n, size_t i)
{
	return n - i < LEVELS_BLOCK ? divide_up(n - i, V16) : GROUPS;
}

static float norm_at(const struct levels_payload *p, size_t i)
{
	return get_f32(p->norm + 4 * (i / p->bucket));
}

/* Makes the bucket of element i the current one. */
static void open_bucket(struct decoding *d, size_t i)
{
	d->scale = d->weight * norm_at(d->payload, i);
	d->begin = i / d->payload->bucket * d->payload->bucket;
	d->end = d->begin + d->payload->bucket;
	v16_storef(d->value, v16_mul(v16_loadf(d->payload->levels.at), v16_set(d->scale)));
}

static void add_block(struct decoding *d, size_t i, const v16i *code)
{
	if (i < d->begin || i >= d->end)
		open_bucket(d, i);
	const struct levels *levels = &d->payload->levels;
	const v16t table = v16_table(d->value);
	const size_t groups = groups_from(d->n, i);
	for (size_t g = 0; g < groups; g++) {
		const size_t at = i + g * V16, count = d->n - at;
		const v16f x = levels->count > V16
		                       ? v16_mul(v16_gather(levels->at, code[g]), v16_set(d->scale))
		                       : v16_lookup(table, code[g]);
		v16_storef_some(d->acc + at, v16_add(v16_loadf_some(d->acc + at, count), x), count);
	}
}

static void count_block(struct decoding *d, size_t i, const v16i *code)
{
	const float scale = norm_at(d->payload, i);
	const size_t groups = groups_from(d->n, i);
	for (size_t g = 0; g < groups; g++) {
		const size_t left = d->n - i - g * V16;
		const uint16_t here = left < V16 ? v16_first(left) : 0xFFFF;
		const v16f x = v16_mul(v16_gather(d->payload->levels.at, code[g]), v16_set(scale));
		d->sent += (unsigned)__builtin_popcount(v16_bits(v16_ne(x, v16_set(0))) & here);
	}
}

static void check_block(struct decoding *d, size_t i, const v16i *code)
{
	for (size_t g = 0; g < GROUPS; g++) {
		const size_t at = i + g * V16;
		const uint16_t past = at >= d->n        ? 0xFFFF
		                      : d->n - at < V16 ? (uint16_t)~v16_first(d->n - at)
		                                        : 0;
		const v16f x = v16_float_of(code[g]);
		d->max = v16_max(d->max, x);
		if (past && v16_bits(v16_ne(x, v16_set(0))) & past)
			d->ended = false;
	}
}

/* Calls function for the blocks of symbols. */
V16_FN void each_block(struct decoding *d, block_function *function, size_t first, const uint8_t *symbol,
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
	each_block(d, add_block, first, symbol, count);
}
static void count_symbols(void *d, size_t first, const uint8_t *symbol, size_t count)
{
	each_block(d, count_block, first, symbol, count);
}
static void check_symbols(void *d, size_t first, const uint8_t *symbol, size_t count)
{
	each_block(d, check_block, first, symbol, count);
}

/* Calls function for the blocks from element first to end - 1, of codes at fixed width. */
V16_FN void decode_fixed(struct decoding *d, block_function *function, size_t first, size_t end)
{
	struct codes_in codes = d->payload->codes;
	v16i code[GROUPS];
	codes.low += plane_bytes(codes.bits < 4 ? codes.bits : 4, first);
	codes.high += codes.bits > 4 ? plane_bytes(codes.bits - 4, first) : 0;
	for (size_t i = first; i < end; i += LEVELS_BLOCK) {
		codes_load(&codes, code, groups_from(d->n, i));
		function(d, i, code);
	}
}

/* Adds whole blocks of the current bucket. */
V16_FN void add_blocks(const struct decoding *d, const uint8_t *src, size_t i, size_t end,
                       const unsigned bits)
{
	const v16t table = v16_table(d->value);
	for (; i < end; i += LEVELS_BLOCK, src += V16 * bits) {
		v16i x = load_lanes(src, bits);
		float *const acc = d->acc + i;
		for (size_t at = 0; at < LEVELS_BLOCK; at += V16) {
			v16_storef(acc + at,
			           v16_add(v16_streamf(acc + at), v16_lookup_lowest(table, x, bits)));
			x = v16_shr(x, (int)bits);
		}
	}
}

static void add_fixed(struct decoding *d, size_t first, size_t end)
{
	const unsigned bits = d->payload->codes.bits;
	for (size_t stop; bits <= 4 && end - first >= LEVELS_BLOCK; first = stop) {
		const uint8_t *src = d->payload->codes.low + plane_bytes(bits, first);
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

/* Validates the codes at fixed width of the blocks that start in the part. Where check_chunk looks for
 * reserved codes only the last block is decoded. */
static void check_fixed(struct decoding *d, const struct part *part)
{
	const size_t n = d->n;
	const unsigned bits = d->payload->codes.bits;
	if (bits > 4 || (bits == 3 && d->payload->levels.count & 1)) {
		const struct units own = part_units(part, d->payload->codes.low, V16 * (bits < 4 ? bits : 4),
		                                    divide_up(n, LEVELS_BLOCK));
		const size_t end = LEVELS_BLOCK * own.end;
		decode_fixed(d, check_block, LEVELS_BLOCK * own.first, end < n ? end : n);
	} else {
		decode_fixed(d, check_block, (n - 1) / LEVELS_BLOCK * LEVELS_BLOCK, n);
	}
}

bool levels_check(const struct frame *frame, struct part *part)
{
	struct levels_payload p;
	if (!levels_open(&p, frame) || !levels_read(&p))
		return false;
	const struct units own = part_units(part, p.norm, 4, p.buckets);
	uint32_t max = 0;
	for (size_t b = own.first; b < own.end; b++) {
		const uint32_t norm = get_u32(p.norm + 4 * b);
		max = norm > max ? norm : max;
	}
	if (max >= bits_of_float(INFINITY)) /* or negative, or a NaN */
		return false;
	struct decoding d = {.payload = &p, .n = frame->n, .max = v16_set(0), .ended = true};
	const struct block_code code = levels_block_code(p.levels.count);
	if (p.coding == LEVELS_FIXED)
		check_fixed(&d, part);
	else if (!blocks_check(part, p.codes.low, p.code_size, symbol_count(d.n), &code,
	                       levels_coder(p.coding), check_symbols, &d))
		return false;
	return d.ended && !v16_bits(v16_gt(d.max, v16_set((float)(p.levels.count - 1))));
}

bool levels_check_chunk(const struct frame *frame, const uint8_t *from, const uint8_t *to)
{
	struct levels_payload p;
	if (!levels_open(&p, frame))
		return false;
	const unsigned bits = p.codes.bits;
	if (p.coding != LEVELS_FIXED || !(p.levels.count & 1) || bits == 3 || bits > 4)
		return true;
	from = from < p.codes.low ? p.codes.low : from;
	return bits == 2 ? bits_clean(from, to) : !codes_full_4(from, to);
}

void levels_unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	struct levels_payload p;
	if (!levels_open(&p, frame) || !levels_read(&p)) /* never: the frame passed check */
		return;
	struct decoding d = {.payload = &p, .n = frame->n, .weight = weight, .acc = acc};
	const struct block_code code = levels_block_code(p.levels.count);
	const size_t last = end < d.n ? end : symbol_count(d.n);
	if (p.coding == LEVELS_FIXED)
		add_fixed(&d, first, end);
	else
		blocks_decode_range(p.codes.low, p.code_size, symbol_count(d.n), &code,
		                    levels_coder(p.coding), add_symbols, &d, acc, first, last);
}

void levels_describe(const struct frame *frame, crumb_frame_info *out, bool zero_key)
{
	struct levels_payload p;
	if (!levels_open(&p, frame) || !levels_read(&p)) /* never */
		return;
	const uint32_t count = p.levels.count;
	out->codec.value[LEVELS_BITS] = (float)bit_width(count - 1);
	out->codec.value[LEVELS_BUCKET] = (float)p.bucket;
	out->codec.value[LEVELS_CODING] = (float)p.coding;
	if (zero_key)
		out->codec.value[LEVELS_OWN] = (float)(count & 1);
	frame_fact(out, "levels", count);
	if (p.levels.form == LEVELS_POWERS)
		frame_fact(out, "multiplier", p.levels.at[count - 2]);
	double sum = 0;
	for (size_t b = 0; b < p.buckets; b++)
		sum += get_f32(p.norm + 4 * b);
	frame_fact(out, "mean_norm", sum / (double)p.buckets);

	struct decoding d = {.payload = &p, .n = frame->n};
	const struct block_code code = levels_block_code(count);
	if (p.coding == LEVELS_FIXED)
		decode_fixed(&d, count_block, 0, d.n);
	else
		blocks_decode(p.codes.low, p.code_size, symbol_count(d.n), &code, levels_coder(p.coding),
		              count_symbols, &d);
	out->sent = d.sent;
}
