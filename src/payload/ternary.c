/* Frames of ternary digits: validating, adding, describing, summing.
 *
 * SPDX-License-Identifier: MIT */
#include "payload/ternary.h"
#include "coding/golomb.h"
#include "v16/v16.h"
#include <math.h>

enum { MOST_LEARNERS = 32767 };

static void bits_get_groups(const uint8_t *src, size_t groups, uint8_t *digit)
{
	for (size_t g = 0; g < groups; g++)
		v16_store_u8(digit + V16 * g, bits_get(src + 4 * g));
}
#ifdef P_HAS_NIBBLES
static void bits_get_nibbles(const uint8_t *src, size_t blocks, uint32_t *word)
{
	for (; blocks-- > 0; src += 4 * BLOCKS_NIBBLES, word += V16) {
		v16i x = v16_seti(0);
		for (int g = BLOCKS_NIBBLES; g-- > 0;)
			x = v16_ori(v16_shl(x, 4), bits_get(src + 4 * g));
		v16_storei(word, x);
	}
}
#else
#define bits_get_nibbles NULL
#endif
const struct block_code ternary_codes = {3, 4, bits_get_groups, bits_get_nibbles};

/* Where things are in a payload. */
struct ternary_payload {
	size_t bucket, scalers; /* bucket: as in the frame, 0 for one scaler */
	uint32_t learners;
	unsigned coding, planes; /* planes: bits an element of a sum; 0: no sum */
	const uint8_t *scaler, *digit;
	size_t digit_size;
};

/* Reads the head. Returns false if it is not well-formed. */
static bool ternary_open(const struct frame *frame, struct ternary_payload *p)
{
	const unsigned flags = frame->flags;
	*p = (struct ternary_payload){0};
	if (frame->size < 8)
		return false;
	const size_t bucket = get_u32(frame->payload);
	const uint32_t learners = get_u32(frame->payload + 4);
	const bool sum = flags & TERNARY_FLAG_SUM;
	const unsigned coding = flags & TERNARY_FLAG_CODING;
	if (flags & ~(unsigned)(TERNARY_FLAG_CODING | TERNARY_FLAG_SHARED | TERNARY_FLAG_SUM) ||
	    bucket % V16 || bucket > TERNARY_MOST_BUCKET)
		return false;
	if (sum ? flags != (TERNARY_FLAG_SUM | TERNARY_FLAG_SHARED) || !learners || learners > MOST_LEARNERS
	        : learners != 1)
		return false;
	const size_t n = frame->n, count = ternary_scalers(bucket, n);
	if (count > (frame->size - 8) / 4)
		return false;
	*p = (struct ternary_payload){.bucket = bucket,
	                              .scalers = count,
	                              .learners = learners,
	                              .coding = coding,
	                              .planes = sum ? planes_of(learners) : 0,
	                              .scaler = frame->payload + 8,
	                              .digit = frame->payload + 8 + 4 * count,
	                              .digit_size = frame->size - 8 - 4 * count};
	if (sum)
		return p->digit_size == sum_bytes(learners, n);
	return coding > BITS || p->digit_size == digit_bytes(coding, n);
}

/* Returns which lanes of the group that starts at element i are elements. */
static uint16_t lanes(size_t n, size_t i) { return n - i < V16 ? v16_first(n - i) : 0xFFFF; }

static bool check_planes(const struct ternary_payload *p, size_t n, const struct part *part)
{
	const v16f most = v16_set((float)(2 * p->learners));
	const size_t size = 2 * p->planes;
	const struct units own = part_units(part, p->digit, size, divide_up(n, V16));
	for (size_t g = own.first; g < own.end; g++) {
		const v16f x = v16_float_of(planes_get(p->digit + size * g, p->planes));
		if (v16_bits(v16_gt(x, most)) || v16_bits(v16_ne(x, v16_set(0))) & ~lanes(n, V16 * g))
			return false;
	}
	return true;
}

static bool check_trits(const struct ternary_payload *p, size_t n)
{
	unsigned past = 0;
	const size_t whole = n / TRITS_ELEMENTS * TRITS_ELEMENTS;
	if (whole < n) {
		v16i x = v16_load_u8(p->digit + p->digit_size - V16);
		for (size_t i = whole; i < whole + TRITS_ELEMENTS; i += V16) {
			const uint16_t nonzero = v16_bits(v16_ne(v16_float_of(trits_next(&x)), v16_set(0)));
			past |= i < n ? nonzero & ~lanes(n, i) : nonzero;
		}
	}
	return !past;
}

static void each_stretch(const struct ternary_payload *p, size_t n, blocks_put *put, void *to)
{
	blocks_decode(p->digit, p->digit_size, n, &ternary_codes, BLOCKS_ENTROPY, put, to);
}

bool ternary_check(const struct frame *frame, struct part *part)
{
	struct ternary_payload p;
	if (!ternary_open(frame, &p))
		return false;
	const struct units own = part_units(part, p.scaler, 4, p.scalers);
	for (size_t b = own.first; b < own.end; b++) {
		const float s = get_f32(p.scaler + 4 * b);
		if (!usable(s) || signbit(s))
			return false;
	}
	if (p.planes)
		return check_planes(&p, frame->n, part);
	switch (p.coding) {
	case TRITS:
		return check_trits(&p, frame->n);
	case BITS:
		return bits_end(p.digit, frame->n);
	case TERNARY_GAPS:
		return !part_leads(part, frame) || crumb_golomb_check(p.digit, p.digit_size, frame->n);
	default:
		return blocks_check(part, p.digit, p.digit_size, frame->n, &ternary_codes, BLOCKS_ENTROPY,
		                    NULL, NULL);
	}
}

bool ternary_check_chunk(const struct frame *frame, const uint8_t *from, const uint8_t *to)
{
	struct ternary_payload p;
	ternary_open(frame, &p);
	from = from < p.digit ? p.digit : from;
	if (p.coding == BITS)
		return bits_clean(from, to);
	uint8_t most = 0;
	for (; p.coding == TRITS && !p.planes && from < to; from++) {
		const uint8_t x = (uint8_t)(243 * *from);
		most = x > most ? x : most;
	}
	return most < 243;
}

/* Adds the values of one group; lanes past the slice hold zeros and are not stored. */
V16_FN void add_group(float *acc, size_t i, size_t n, v16f value)
{
	if (n - i < V16)
		v16_storef_partial(acc + i, v16_add(v16_loadf_partial(acc + i, n - i), value), n - i);
	else
		v16_storef(acc + i, v16_add(v16_streamf(acc + i), value));
}

/* Returns the values of digits 0, 1 and 2 in bucket b. The table may point to value. */
V16_FN v16t values_of(float value[4], const struct ternary_payload *p, size_t b, float weight)
{
	value[1] = weight * get_f32(p->scaler + 4 * b);
	value[2] = -value[1];
	return v16_table4(value);
}

static void unpack_planes(const struct ternary_payload *p, size_t n, float weight, float *acc, size_t first,
                          size_t end)
{
	const size_t bucket = p->bucket ? p->bucket : n;
	const uint8_t *src = p->digit + 2 * p->planes * (first / V16);
	for (size_t i = first; i < end; i += V16, src += 2 * p->planes) {
		const v16f s = v16_set(weight * get_f32(p->scaler + 4 * (i / bucket)));
		const v16f q = v16_float_of(v16_subi(planes_get(src, p->planes), v16_seti(p->learners)));
		add_group(acc, i, n, v16_mul(s, q));
	}
}

static void unpack_bits(const struct ternary_payload *p, size_t n, float weight, float *acc, size_t first,
                        size_t end)
{
	const size_t bucket = p->bucket ? p->bucket : n;
	const uint8_t *src = p->digit + first / 4;
	float value[4] = {0};
	for (size_t b = first / bucket, i = first; i < end; b++) {
		const v16t table = values_of(value, p, b, weight);
		const size_t stop = end - b * bucket < bucket ? end : (b + 1) * bucket;
		for (; i < stop; i += V16, src += 4)
			add_group(acc, i, n, bits_lookup(table, src));
	}
}

static void unpack_trits(const struct ternary_payload *p, size_t n, float weight, float *acc, size_t first,
                         size_t end)
{
	const size_t bucket = p->bucket ? p->bucket : n;
	const uint8_t *src = p->digit + V16 * (first / TRITS_ELEMENTS);
	float value[4] = {0};
	size_t i = first, b = first / bucket, stop = (b + 1) * bucket;
	v16t table = values_of(value, p, b, weight);
	for (; i < end; src += V16) {
		v16i x = v16_load_u8(src);
		if (stop - i >= TRITS_ELEMENTS && n - i >= TRITS_ELEMENTS) {
			for (int k = 0; k < 5; k++, i += V16)
				v16_storef(acc + i,
				           v16_add(v16_streamf(acc + i), v16_lookup8(table, trits_next(&x))));
			continue;
		}
		for (int k = 0; k < 5 && i < n; k++, i += V16) {
			if (i >= stop) {
				table = values_of(value, p, ++b, weight);
				stop += bucket;
			}
			add_group(acc, i, n, v16_lookup8(table, trits_next(&x)));
		}
	}
}

struct sum_of {
	const struct ternary_payload *p;
	size_t n;
	float weight, *acc;
};

/* Adds a stretch of decoded digits, bucket by bucket. */
static void add_stretch(void *to, size_t first, const uint8_t *digit, size_t count)
{
	const struct sum_of *s = to;
	const size_t bucket = s->p->bucket ? s->p->bucket : s->n, last = first + count;
	float value[4] = {0};
	for (size_t i = first; i < last;) {
		const size_t b = i / bucket, end = last - b * bucket < bucket ? last : (b + 1) * bucket;
		const v16t table = values_of(value, s->p, b, s->weight);
		for (; i < end; i += V16, digit += V16)
			add_group(s->acc, i, s->n, v16_lookup8(table, v16_load_u8(digit)));
	}
}

static void unpack_gaps(const struct ternary_payload *p, size_t n, float weight, float *acc, size_t first,
                        size_t end)
{
	const size_t bucket = p->bucket ? p->bucket : n;
	struct golomb_reader gaps;
	uint64_t element[GOLOMB_ROUND];
	size_t count, stop = 0;
	float value[2] = {0};
	crumb_golomb_open(&gaps, p->digit, p->digit_size, n);
	while ((count = crumb_golomb_next(&gaps, element)))
		for (size_t i = 0; i < count; i++) {
			const size_t at = (size_t)(element[i] >> 1);
			if (at >= end)
				return;
			if (at < first)
				continue;
			if (at >= stop) {
				value[0] = weight * get_f32(p->scaler + 4 * (at / bucket));
				value[1] = -value[0];
				stop = (at / bucket + 1) * bucket;
			}
			acc[at] += value[element[i] & 1];
		}
}

static void unpack_blocks(const struct ternary_payload *p, size_t n, float weight, float *acc, size_t first,
                          size_t end)
{
	struct sum_of sum = {p, n, weight, acc};
	blocks_decode_range(p->digit, p->digit_size, n, &ternary_codes, BLOCKS_ENTROPY, add_stretch, &sum,
	                    acc, first, end);
}

size_t ternary_unpack_add(const struct frame *frame, const float *weight, size_t count, float *acc,
                          size_t first, size_t end)
{
	(void)count;
	struct ternary_payload p;
	ternary_open(frame, &p);
	if (p.coding == TERNARY_GAPS)
		unpack_gaps(&p, frame->n, *weight, acc, first, end);
	else if (p.coding == TERNARY_BLOCKS)
		unpack_blocks(&p, frame->n, *weight, acc, first, end);
	else if (p.planes)
		unpack_planes(&p, frame->n, *weight, acc, first, end);
	else if (p.coding == BITS)
		unpack_bits(&p, frame->n, *weight, acc, first, end);
	else
		unpack_trits(&p, frame->n, *weight, acc, first, end);
	return 1;
}

/* Returns how many codes of a group differ from the code of zero. */
V16_FN unsigned sent_in(v16i code, uint32_t zero, uint16_t here)
{
	const v16f difference = v16_float_of(v16_xori(code, v16_seti(zero)));
	return (unsigned)__builtin_popcount(v16_bits(v16_ne(difference, v16_set(0))) & here);
}

static void count_stretch(void *to, size_t first, const uint8_t *digit, size_t count)
{
	uint64_t *sent = to;
	(void)first;
	for (size_t i = 0; i < count; i++)
		*sent += digit[i] != 0;
}

void ternary_describe(const struct frame *frame, crumb_frame_info *out)
{
	struct ternary_payload p;
	ternary_open(frame, &p);
	const size_t n = frame->n;
	out->codec.value[TERNARY_BUCKET] = (float)p.bucket;
	out->codec.value[TERNARY_SHARED] = frame->flags & TERNARY_FLAG_SHARED ? 1 : 0;
	out->codec.value[TERNARY_CODING] = p.coding < TERNARY_ENTROPY ? (float)p.coding : TERNARY_ENTROPY;
	if (!p.bucket)
		frame_fact(out, "scaler", get_f32(p.scaler));
	if (p.planes)
		frame_fact(out, "learners", p.learners);
	if (p.coding == TERNARY_GAPS)
		out->sent = golomb_sent(p.digit);
	if (p.coding == TERNARY_BLOCKS)
		each_stretch(&p, n, count_stretch, &out->sent);
	if (p.coding >= TERNARY_ENTROPY)
		return;
	v16i x = v16_seti(0);
	for (size_t i = 0; i < n; i += V16) {
		const size_t group = i / V16;
		if (p.planes) {
			x = planes_get(p.digit + 2 * p.planes * group, p.planes);
			out->sent += sent_in(x, p.learners, lanes(n, i));
		} else if (p.coding == BITS) {
			out->sent += sent_in(bits_get(p.digit + 4 * group), 0, 0xFFFF);
		} else {
			x = group % 5 ? x : v16_load_u8(p.digit + V16 * (group / 5));
			out->sent += sent_in(trits_next(&x), 0, 0xFFFF);
		}
	}
}

/* ---- sum ------------------------------------------------------------------------------------ */

size_t ternary_sum_bound(size_t count, size_t n)
{
	if (!count || count > MOST_LEARNERS)
		return 0;
	return 8 + 4 * divide_up(n, V16) + sum_bytes((uint32_t)count, n); /* one scaler a group, at most */
}

/* Adds the digits, as -1, 0 and 1, of the block-th 80 elements, of which there are groups of sixteen. */
V16_FN void add_block(v16i sum[5], const struct ternary_payload *p, size_t block, size_t groups)
{
	v16i x = p->coding == TRITS ? v16_load_u8(p->digit + V16 * block) : v16_seti(0);
	for (size_t k = 0; k < groups; k++) {
		const v16i digit =
		        p->coding == TRITS ? trits_next(&x) : bits_get(p->digit + 4 * (5 * block + k));
		sum[k] = v16_addi(sum[k], number_of(digit));
	}
}

/* A sum to which frames are added one by one. */
struct planes {
	uint8_t *dst;
	unsigned count;
};

V16_FN void planes_add(const struct planes *sum, size_t group, v16i digit)
{
	uint8_t *const at = sum->dst + 2 * sum->count * group;
	planes_put(at, v16_addi(planes_get(at, sum->count), number_of(digit)), sum->count, 0xFFFF);
}

static void sum_stretch(void *to, size_t first, const uint8_t *digit, size_t count)
{
	for (size_t i = 0; i < count; i += V16)
		planes_add(to, (first + i) / V16, v16_load_u8(digit + i));
}

static void sum_gaps(const struct planes *sum, const struct ternary_payload *p, size_t n)
{
	struct golomb_reader gaps;
	uint64_t element[GOLOMB_ROUND];
	size_t count;
	crumb_golomb_open(&gaps, p->digit, p->digit_size, n);
	while ((count = crumb_golomb_next(&gaps, element)))
		for (size_t i = 0; i < count; i++) {
			const size_t at = (size_t)(element[i] >> 1);
			const v16m lane = v16_mask((uint16_t)(1u << at % V16));
			planes_add(sum, at / V16, v16_and_maski(lane, v16_seti(1 + (element[i] & 1))));
		}
}

int64_t ternary_sum(const struct frame *frames, size_t count, uint8_t *dst, uint16_t *flags)
{
	const size_t n = frames[0].n;
	struct ternary_payload first, p;
	ternary_open(&frames[0], &first);
	for (size_t f = 0; f < count; f++) {
		ternary_open(&frames[f], &p);
		if (p.planes || !(frames[f].flags & TERNARY_FLAG_SHARED) || p.bucket != first.bucket ||
		    memcmp(p.scaler, first.scaler, 4 * p.scalers) != 0)
			return CRUMB_EAGREE;
	}
	*flags = TERNARY_FLAG_SUM | TERNARY_FLAG_SHARED;
	const uint32_t learners = (uint32_t)count;
	const unsigned planes = planes_of(learners);
	uint8_t *out = put_u32(put_u32(dst, (uint32_t)first.bucket), learners);
	memcpy(out, first.scaler, 4 * first.scalers);
	out += 4 * first.scalers;
	struct planes all = {out, planes};
	for (size_t i = 0; i < n; i += TRITS_ELEMENTS) {
		const size_t groups = n - i < TRITS_ELEMENTS ? divide_up(n - i, V16) : 5;
		v16i total[5];
		for (int k = 0; k < 5; k++)
			total[k] = v16_seti(learners);
		for (size_t f = 0; f < count; f++) {
			ternary_open(&frames[f], &p);
			if (p.coding < TERNARY_ENTROPY)
				add_block(total, &p, i / TRITS_ELEMENTS, groups);
		}
		for (size_t k = 0; k < groups; k++)
			out = planes_put(out, total[k], planes, lanes(n, i + k * V16));
	}
	for (size_t f = 0; f < count; f++) {
		ternary_open(&frames[f], &p);
		if (p.coding == TERNARY_BLOCKS)
			each_stretch(&p, n, sum_stretch, &all);
		if (p.coding == TERNARY_GAPS)
			sum_gaps(&all, &p, n);
	}
	return out - dst;
}
