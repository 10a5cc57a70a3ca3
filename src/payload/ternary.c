/* Payloads of terngrad: validating, adding, describing and summing them.
 *
 * SPDX-License-Identifier: MIT */
#include "payload/ternary.h"
#include "coding/golomb.h"
#include "v16/v16.h"
#include <math.h>

enum { MAX_LEARNERS = 32767, HEAD_BYTES = 8 /* bucket, learners; then scalers */ };

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

struct ternary_payload {
	size_t n, bucket, scalers; /* elements of the tensor; elements under one scaler; scalers */
	uint32_t learners;
	unsigned coding, planes; /* planes: bits of an element of a sum */
	const uint8_t *scaler, *digit;
	size_t digit_size;
};

static bool head_is_valid(const struct frame *frame)
{
	if (frame->size < HEAD_BYTES)
		return false;
	const uint32_t bucket = get_u32(frame->payload), learners = get_u32(frame->payload + 4);
	const unsigned flags = frame->flags, plain = TERNARY_FLAG_CODING | TERNARY_FLAG_SHARED;
	const bool sum = flags == (TERNARY_FLAG_SUM | TERNARY_FLAG_SHARED);
	return (sum ? learners && learners <= MAX_LEARNERS : learners == 1 && !(flags & ~plain)) &&
	       bucket % V16 == 0 && bucket <= TERNARY_MAX_BUCKET &&
	       ternary_scalers(bucket, frame->n) <= (frame->size - HEAD_BYTES) / 4;
}

/* Opens a payload whose head is valid. */
static struct ternary_payload ternary_open(const struct frame *frame)
{
	const size_t n = frame->n, bucket = get_u32(frame->payload);
	struct ternary_payload p = {.n = n,
	                            .bucket = bucket ? bucket : n,
	                            .scalers = ternary_scalers(bucket, n),
	                            .learners = get_u32(frame->payload + 4),
	                            .coding = frame->flags & TERNARY_FLAG_CODING,
	                            .scaler = frame->payload + HEAD_BYTES};
	if (frame->flags & TERNARY_FLAG_SUM) {
		p.coding = TERNARY_PLANES;
		p.planes = planes_of(p.learners);
	}
	p.digit = p.scaler + 4 * p.scalers;
	p.digit_size = (size_t)(frame->payload + frame->size - p.digit);
	return p;
}

/* Returns which lanes of the group that begins with element i are elements. */
static uint16_t lanes(size_t n, size_t i) { return i >= n ? 0 : n - i < V16 ? v16_first(n - i) : 0xFFFF; }

/* ---- check ---------------------------------------------------------------------------------- */

static bool check_planes(const struct ternary_payload *p, const struct part *part)
{
	if (p->digit_size != sum_bytes(p->learners, p->n))
		return false;
	const v16i largest = v16_seti(2 * p->learners);
	const size_t size = 2 * p->planes;
	const struct units own = part_units(part, p->digit, size, divide_up(p->n, V16));
	for (size_t g = own.first; g < own.end; g++) {
		const v16i x = planes_get(p->digit + size * g, p->planes);
		if (v16_bits(v16_lti(largest, x)) || nonzero(x) & ~lanes(p->n, V16 * g))
			return false;
	}
	return true;
}

/* Returns true if no trit is set after the last element's. */
static bool trits_end(const struct ternary_payload *p)
{
	v16i x = v16_load_u8(p->digit + p->digit_size - V16);
	unsigned past = 0;
	for (size_t k = 0, i = (p->n - 1) / TRITS_ELEMENTS * TRITS_ELEMENTS; k < 5; k++, i += V16)
		past |= nonzero(trits_next(&x)) & ~lanes(p->n, i);
	return !past;
}

bool ternary_check(const struct frame *frame, struct part *part)
{
	if (!head_is_valid(frame))
		return false;
	const struct ternary_payload p = ternary_open(frame);
	const struct units own = part_units(part, p.scaler, 4, p.scalers);
	for (size_t b = own.first; b < own.end; b++) {
		const float s = get_f32(p.scaler + 4 * b);
		if (!usable(s) || signbit(s))
			return false;
	}
	switch (p.coding) {
	case TERNARY_PLANES:
		return check_planes(&p, part);
	case TRITS:
		return p.digit_size == digit_bytes(TRITS, p.n) && trits_end(&p);
	case BITS:
		return p.digit_size == digit_bytes(BITS, p.n) && bits_end(p.digit, p.n);
	case TERNARY_GAPS:
		return !part_leads(part, frame) || crumb_golomb_check(p.digit, p.digit_size, p.n);
	default:
		return blocks_check(part, p.digit, p.digit_size, p.n, &ternary_codes, BLOCKS_ENTROPY, NULL,
		                    NULL);
	}
}

bool ternary_check_chunk(const struct frame *frame, const uint8_t *from, const uint8_t *to)
{
	const struct ternary_payload p = ternary_open(frame);
	from = from < p.digit ? p.digit : from;
	if (p.coding == BITS)
		return bits_clean(from, to);
	/* x is ceil(256 v / 243) for some v < 243 if and only if 243 x modulo 256 is below 243. */
	uint8_t most = 0;
	for (; p.coding == TRITS && from < to; from++) {
		const uint8_t x = (uint8_t)(243 * *from);
		most = x > most ? x : most;
	}
	return most < 243;
}

/* ---- unpack_add ----------------------------------------------------------------------------- */

/* A payload that is added to acc. */
struct adding {
	const struct ternary_payload *p;
	float weight, *acc;
};

/* Returns the weighted scaler of element i's bucket. */
V16_FN float scaler_of(const struct adding *a, size_t i)
{
	return a->weight * get_f32(a->p->scaler + 4 * (i / a->p->bucket));
}

/* Returns the values of the digits 0, 1 and 2 in element i's bucket. The table may point to value. */
V16_FN v16t table_of(float value[4], const struct adding *a, size_t i)
{
	value[1] = scaler_of(a, i);
	value[2] = -value[1];
	return v16_table4(value);
}

/* Adds elements [first, end), whose codes begin at src: planes, bits, or symbols of a byte each. */
enum { SYMBOLS = TERNARY_PLANES + 1 };
V16_FN void add_groups(const struct adding *a, const uint8_t *src, size_t first, size_t end,
                       const unsigned coding)
{
	const struct ternary_payload *const p = a->p;
	const size_t size = coding == BITS ? 4 : coding == SYMBOLS ? V16 : 2 * p->planes;
	float value[4] = {0};
	for (size_t i = first; i < end;) {
		const size_t next = (i / p->bucket + 1) * p->bucket, stop = end < next ? end : next;
		const v16t table = table_of(value, a, i);
		for (; i < stop; i += V16, src += size)
			if (coding == BITS) {
				v16_add_some(a->acc + i, bits_lookup(table, src), a->p->n - i);
			} else if (coding == SYMBOLS) {
				v16_add_some(a->acc + i, v16_lookup8(table, v16_load_u8(src)), a->p->n - i);
			} else {
				const v16i q = v16_subi(planes_get(src, p->planes), v16_seti(p->learners));
				v16_add_some(a->acc + i, v16_mul(v16_set(value[1]), v16_float_of(q)),
				             a->p->n - i);
			}
	}
}

static void add_trits(const struct adding *a, size_t first, size_t end)
{
	const size_t bucket = a->p->bucket;
	const uint8_t *src = a->p->digit + V16 * (first / TRITS_ELEMENTS);
	float value[4] = {0};
	v16t table = table_of(value, a, first);
	size_t stop = (first / bucket + 1) * bucket;
	for (size_t i = first; i < end; src += V16) {
		v16i x = v16_load_u8(src);
		if (stop - i >= TRITS_ELEMENTS && end - i >= TRITS_ELEMENTS) { /* whole, in one bucket */
			for (int k = 0; k < 5; k++, i += V16)
				v16_storef(a->acc + i, v16_add(v16_streamf(a->acc + i),
				                               v16_lookup8(table, trits_next(&x))));
			continue;
		}
		for (int k = 0; k < 5 && i < end; k++, i += V16) {
			if (i >= stop) {
				table = table_of(value, a, i);
				stop += bucket;
			}
			v16_add_some(a->acc + i, v16_lookup8(table, trits_next(&x)), a->p->n - i);
		}
	}
}

static void add_symbols(void *to, size_t first, const uint8_t *digit, size_t count)
{
	add_groups(to, digit, first, first + count, SYMBOLS);
}

static void add_gaps(const struct adding *a, size_t first, size_t end)
{
	const struct ternary_payload *const p = a->p;
	struct golomb_reader gaps;
	uint64_t element[GOLOMB_ROUND];
	size_t count, stop = 0;
	float value[2] = {0};
	crumb_golomb_open(&gaps, p->digit, p->digit_size, p->n);
	while ((count = crumb_golomb_next(&gaps, element)))
		for (size_t i = 0; i < count; i++) {
			const size_t at = (size_t)(element[i] >> 1);
			if (at >= end)
				return;
			if (at < first)
				continue;
			if (at >= stop) {
				value[0] = scaler_of(a, at);
				value[1] = -value[0];
				stop = (at / p->bucket + 1) * p->bucket;
			}
			a->acc[at] += value[element[i] & 1];
		}
}

void ternary_unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	const struct ternary_payload p = ternary_open(frame);
	struct adding a = {&p, weight, acc};
	switch (p.coding) {
	case TERNARY_PLANES:
		add_groups(&a, p.digit + 2 * p.planes * (first / V16), first, end, TERNARY_PLANES);
		break;
	case TRITS:
		add_trits(&a, first, end);
		break;
	case BITS:
		add_groups(&a, p.digit + first / 4, first, end, BITS);
		break;
	case TERNARY_GAPS:
		add_gaps(&a, first, end);
		break;
	default:
		blocks_decode_range(p.digit, p.digit_size, p.n, &ternary_codes, BLOCKS_ENTROPY, add_symbols,
		                    &a, acc, first, end);
	}
}

/* ---- describe ------------------------------------------------------------------------------- */

/* Reads the groups of 80 elements from number i on, in trits or bits; returns how many groups there are. */
V16_FN size_t get_digits(v16i digit[5], const uint8_t *src, unsigned coding, size_t n, size_t i)
{
	const size_t groups = n - i < TRITS_ELEMENTS ? divide_up(n - i, V16) : 5;
	v16i x = coding == TRITS ? v16_load_u8(src + V16 * (i / TRITS_ELEMENTS)) : v16_seti(0);
	for (size_t k = 0; k < groups; k++)
		digit[k] = coding == TRITS ? trits_next(&x) : bits_get(src + 4 * (i / V16 + k));
	return groups;
}

static void count_nonzero(void *to, size_t first, const uint8_t *digit, size_t count)
{
	uint64_t *sent = to;
	(void)first;
	for (size_t i = 0; i < count; i++)
		*sent += digit[i] != 0;
}

static uint64_t sent_of(const struct ternary_payload *p)
{
	uint64_t sent = 0;
	if (p->coding == TERNARY_GAPS) {
		sent = golomb_sent(p->digit);
	} else if (p->coding == TERNARY_BLOCKS) {
		blocks_decode(p->digit, p->digit_size, p->n, &ternary_codes, BLOCKS_ENTROPY, count_nonzero,
		              &sent);
	} else if (p->coding == TERNARY_PLANES) {
		for (size_t i = 0; i < p->n; i += V16) {
			const v16i x = planes_get(p->digit + 2 * p->planes * (i / V16), p->planes);
			const uint16_t sums = nonzero(v16_xori(x, v16_seti(p->learners)));
			sent += (unsigned)__builtin_popcount(sums & lanes(p->n, i));
		}
	} else {
		for (size_t i = 0; i < p->n; i += TRITS_ELEMENTS) {
			v16i digit[5];
			for (size_t k = get_digits(digit, p->digit, p->coding, p->n, i); k-- > 0;)
				sent += (unsigned)__builtin_popcount(nonzero(digit[k]));
		}
	}
	return sent;
}

void ternary_describe(const struct frame *frame, crumb_frame_info *out)
{
	const struct ternary_payload p = ternary_open(frame);
	const unsigned coding = frame->flags & TERNARY_FLAG_CODING, bucket = get_u32(frame->payload);
	out->codec.value[TERNARY_BUCKET] = (float)bucket;
	out->codec.value[TERNARY_SHARED] = frame->flags & TERNARY_FLAG_SHARED ? 1 : 0;
	out->codec.value[TERNARY_CODING] = coding < TERNARY_ENTROPY ? (float)coding : TERNARY_ENTROPY;
	if (!bucket)
		frame_fact(out, "scaler", get_f32(p.scaler));
	if (p.coding == TERNARY_PLANES)
		frame_fact(out, "learners", p.learners);
	out->sent = sent_of(&p);
}

/* ---- sum ------------------------------------------------------------------------------------ */

size_t ternary_sum_bound(size_t count, size_t n)
{
	if (!count || count > MAX_LEARNERS)
		return 0;
	return HEAD_BYTES + 4 * divide_up(n, V16) +
	       sum_bytes((uint32_t)count, n); /* a scaler a group, at most */
}

/* Planes to which digits are added. */
struct planes {
	uint8_t *dst;
	unsigned count;
};

V16_FN void planes_add(const struct planes *sum, size_t group, v16i digit)
{
	uint8_t *const at = sum->dst + 2 * sum->count * group;
	planes_put(at, v16_addi(planes_get(at, sum->count), signed_digits(digit)), sum->count, 0xFFFF);
}

static void sum_symbols(void *to, size_t first, const uint8_t *digit, size_t count)
{
	for (size_t i = 0; i < count; i += V16)
		planes_add(to, (first + i) / V16, v16_load_u8(digit + i));
}

static void sum_gaps(const struct planes *sum, const struct ternary_payload *p)
{
	struct golomb_reader gaps;
	uint64_t element[GOLOMB_ROUND];
	size_t count;
	crumb_golomb_open(&gaps, p->digit, p->digit_size, p->n);
	while ((count = crumb_golomb_next(&gaps, element)))
		for (size_t i = 0; i < count; i++) {
			const size_t at = (size_t)(element[i] >> 1);
			const v16m lane = v16_mask((uint16_t)(1u << at % V16));
			planes_add(sum, at / V16, v16_and_maski(lane, v16_seti(1 + (element[i] & 1))));
		}
}

/* Sums trits and bits in registers, 80 elements of all frames at a time; then adds gaps and blocks, frame by
 * frame. */
int64_t ternary_sum(const struct frame *frames, size_t count, uint8_t *dst, uint16_t *flags)
{
	const struct ternary_payload first = ternary_open(&frames[0]);
	const size_t n = first.n, head = (size_t)(first.digit - frames[0].payload);
	for (size_t f = 0; f < count; f++) {
		const struct ternary_payload p = ternary_open(&frames[f]);
		if (p.coding == TERNARY_PLANES || !(frames[f].flags & TERNARY_FLAG_SHARED) ||
		    (size_t)(p.digit - frames[f].payload) != head ||
		    memcmp(frames[f].payload, frames[0].payload, head) != 0)
			return CRUMB_EAGREE;
	}
	*flags = TERNARY_FLAG_SUM | TERNARY_FLAG_SHARED;
	const uint32_t learners = (uint32_t)count;
	memcpy(dst, frames[0].payload, head);
	put_u32(dst + 4, learners);
	uint8_t *out = dst + head;
	struct planes all = {out, planes_of(learners)};
	for (size_t i = 0; i < n; i += TRITS_ELEMENTS) {
		v16i total[5], digit[5];
		for (int k = 0; k < 5; k++)
			total[k] = v16_seti(learners);
		for (size_t f = 0; f < count; f++) {
			const unsigned coding = frames[f].flags & TERNARY_FLAG_CODING;
			if (coding == TRITS || coding == BITS)
				for (size_t k = get_digits(digit, frames[f].payload + head, coding, n, i);
				     k-- > 0;)
					total[k] = v16_addi(total[k], signed_digits(digit[k]));
		}
		for (size_t k = 0; k < 5 && i + k * V16 < n; k++)
			out = planes_put(out, total[k], all.count, lanes(n, i + k * V16));
	}
	for (size_t f = 0; f < count; f++) {
		const struct ternary_payload p = ternary_open(&frames[f]);
		if (p.coding == TERNARY_BLOCKS)
			blocks_decode(p.digit, p.digit_size, n, &ternary_codes, BLOCKS_ENTROPY, sum_symbols,
			              &all);
		if (p.coding == TERNARY_GAPS)
			sum_gaps(&all, &p);
	}
	return out - dst;
}
