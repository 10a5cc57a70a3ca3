/* terngrad: every element is -s, 0 or +s at random so that its mean is the clipped gradient (Wen et al.,
 * NeurIPS 2017).
 *
 * A scaler s serves a bucket, or the whole slice. It is the learner's own or, shared, the greatest of all
 * learners'; then frames can be summed without decoding (section 3.2): sums of N are one of 2N+1 levels.
 *
 * SPDX-License-Identifier: MIT */
#include "codec.h"
#include "digits.h"
#include "gaps.h"
#include "rng.h"
#include "symbols.h"
#include "v16.h"
#include <math.h>

enum { CLIP, BUCKET, SHARED, CODING }; /* the keys */
enum { ENTROPY = BITS + 1 };           /* the third coding */
enum { BLOCKS = ENTROPY, GAPS };       /* as what it stands in a frame */
enum { FLAG_CODING = 3, FLAG_SHARED = 4, FLAG_SUM = 0x100 };
enum { MOST_LEARNERS = 32767, MOST_BUCKET = 1 << 20, MOST_AHEAD = 1 << 16 };
static const char *const codings[] = {"trits", "bits", "entropy", NULL};
static const char *const no_yes[] = {"0", "1", NULL};

/* ---- buckets -------------------------------------------------------------------------------- */

static size_t bucket_of(const crumb_codec *codec, size_t n)
{
	const size_t bucket = (size_t)codec->value[BUCKET];
	return bucket ? bucket : n;
}

static size_t scalers(size_t bucket, size_t n) { return bucket ? divide_up(n, bucket) : 1; }

/* Shared, a packer keeps each bucket's clipping bound and the agreed scaler. */
static size_t floats(const crumb_codec *codec, size_t n)
{
	return codec->value[SHARED] != 0 && n ? 2 * scalers((size_t)codec->value[BUCKET], n) : 0;
}

/* ---- entropy: what is shortest of trits, gaps of what is not 0, and blocks of symbols --------- */

static const struct symbols ternary = {3, 4, bits_get_groups};

/* Where bits are drawn, before they are coded: behind gaps, and so that blocks can be coded in place. */
static size_t before_bits(size_t n) { return gaps_room(n) + symbols_marks(&ternary, n); }

static size_t bound(const crumb_codec *codec, size_t n)
{
	const unsigned coding = (unsigned)codec->value[CODING];
	const size_t digits =
	        coding == ENTROPY ? before_bits(n) + digit_bytes(BITS, n) : digit_bytes(coding, n);
	return 8 + 4 * scalers((size_t)codec->value[BUCKET], n) + digits;
}

/* ---- scaler: section 3.3's clipping and the maximum norm ------------------------------------ */

struct scale {
	float bound, scaler; /* |g| is clipped at bound; the greatest of them is scaler */
};

/* The sums of d = g - pivot and of d * d, and the greatest |g|, of the count <= 4096 elements from number i.
 */
V16_FN void sums(const void *grad, const enum crumb_dtype type, size_t i, size_t count, float pivot,
                 double *s1, double *s2, v16f *top)
{
	v16f one = v16_set(0), two = v16_set(0), most = *top;
	const size_t end = i + count;
	for (; i + V16 <= end; i += V16) {
		const v16f g = v16_load(type, grad, i);
		const v16f d = v16_sub(g, v16_set(pivot));
		one = v16_add(one, d);
		two = v16_add(two, v16_mul(d, d));
		most = v16_max(most, v16_abs(g));
	}
	if (i < end) {
		const v16f g = v16_load_few(type, grad, i, end - i);
		const v16m here = v16_mask(v16_first(end - i));
		const v16f d = v16_keep(here, v16_sub(g, v16_set(pivot)));
		one = v16_add(one, d);
		two = v16_add(two, v16_mul(d, d));
		most = v16_max(most, v16_abs(g));
	}
	*s1 += v16_fold(one);
	*s2 += v16_fold(two);
	*top = most;
}

/* Of the m elements from number first. The pivot keeps the variance of nearly equal elements exact enough:
 * that of equal ones is 0. */
V16_FN struct scale scale_of(const void *grad, const enum crumb_dtype type, size_t first, size_t m,
                             float clip)
{
	float lane[V16];
	v16_storef(lane, v16_load_few(type, grad, first, 1));
	double s1 = 0, s2 = 0;
	v16f top = v16_set(0);
	for (size_t i = 0; i < m; i += RNG_BLOCK)
		sums(grad, type, first + i, m - i < RNG_BLOCK ? m - i : RNG_BLOCK, lane[0], &s1, &s2, &top);
	const float most = v16_top(top);
	const double mean = s1 / (double)m, variance = s2 / (double)m - mean * mean;
	const float at = variance > 0 && isfinite(variance) ? (float)(clip * sqrt(variance)) : 0;
	const bool clips = at > 0 && at < INFINITY;
	return (struct scale){clips ? at : INFINITY, clips && at < most ? at : most};
}

static struct scale scale_any(const void *grad, enum crumb_dtype type, size_t first, size_t m, float clip)
{
#define SCALE(TYPE) scale_of(grad, TYPE, first, m, clip)
	V16_BY_TYPE(type, SCALE);
}

/* ---- ternarise ------------------------------------------------------------------------------ */

/* The digits (0: 0, 1: +, 2: -) of sixteen elements; u in units of 2^-24. In the smallest binades a product u
 * * s would be too coarse, so lift, a power of two, brings s and the gradient up. */
struct ternary {
	v16f bound, lift, unit; /* unit = s * lift / 2^24 */
};

V16_FN struct ternary ternary_of(float bound, float s)
{
	const float lift = s < 0x1p-100f ? 0x1p64f : 1;
	return (struct ternary){v16_set(bound), v16_set(lift), v16_set(s * lift * 0x1p-24f)};
}

V16_FN v16i ternarise(v16f g, v16f u, const struct ternary *t)
{
	const v16f size = v16_mul(v16_min(v16_abs(g), t->bound), t->lift);
	const v16m sent = v16_gt(size, v16_mul(u, t->unit));
	return v16_keepi(sent, v16_addi(v16_shr(v16_bits_of(g), 31), v16_seti(1)));
}

/* Writes all but the digits to dst, and these, trits or bits, to digits; returns their bytes. */
V16_FN size_t pack_type(struct crumb_packer *p, const void *grad, const enum crumb_dtype type,
                        const unsigned coding, uint8_t *dst, uint8_t *digits)
{
	const float *value = p->codec.value;
	const size_t n = p->n, bucket = bucket_of(&p->codec, n), count = divide_up(n, bucket);
	const bool shared = value[SHARED] != 0;
	const float *const bounds = packer_floats(p), *const agreed = bounds + count;
	uint8_t *scaler = put_u32(put_u32(dst, (uint32_t)value[BUCKET]), 1);
	const size_t ahead = bucket <= MOST_AHEAD ? bucket : 0; /* it stays in a cache until it is needed */
	struct digits out = {digits, coding, 0, v16_seti(0)};
	rng r;

	for (size_t b = 0, i = 0; b < count; b++) {
		const size_t end = n - i < bucket ? n : i + bucket;
		const struct scale own = shared ? (struct scale){bounds[b], agreed[b]}
		                                : scale_of(grad, type, i, end - i, value[CLIP]);
		const struct ternary t = ternary_of(own.bound, own.scaler);
		scaler = put_f32(scaler, own.scaler);
		for (; i < end; i += V16) {
			if (i % RNG_BLOCK == 0)
				r = rng_at(p->seed, p->step, i);
			/* The next bucket comes from memory while this one is computed. */
			__builtin_prefetch((const uint8_t *)grad + v16_width(type) * (i + ahead));
			const v16f g = end - i < V16
			                       ? v16_load_few(type, grad, i, end - i)
			                       : v16_load(type, grad, i); /* few at the tensor's end only */
			digits_put(&out, ternarise(g, rng_next(&r), &t));
		}
		i = end;
	}
	digits_end(&out);
	return (size_t)(out.dst - digits);
}

V16_FN size_t pack_coding(struct crumb_packer *p, const void *grad, enum crumb_dtype type,
                          const unsigned coding, uint8_t *dst, uint8_t *digits)
{
#define PACK(TYPE) pack_type(p, grad, TYPE, coding, dst, digits)
	V16_BY_TYPE(type, PACK);
}

/* Codes the bits that stand before_bits(n) behind dst; returns the size and sets the flags. Where most is
 * sent of many elements, gaps would take long and gain nothing. */
static size_t code_bits(uint8_t *dst, size_t n, uint16_t *flags)
{
	const size_t trits = digit_bytes(TRITS, n);
	uint8_t *const bits = dst + before_bits(n), *const blocks = dst + gaps_room(n);
	size_t count = 0;
	for (size_t i = 0; i < digit_bytes(BITS, n); i += 4)
		count += (size_t)__builtin_popcount(get_u32(bits + i));
	const bool few = (n <= symbols_block(&ternary) || count <= n / 16) && count <= UINT32_MAX;
	const size_t gaps = few ? crumb_gaps_of_map(dst, bits, n, count) : trits;
	if (gaps < trits) {
		const size_t size = PER_ISA(symbols_encode)(blocks, bits, n, &ternary, SYMBOLS_ENTROPY);
		*flags |= size < gaps ? BLOCKS : GAPS;
		if (size < gaps)
			memmove(dst, blocks, size);
		return size < gaps ? size : gaps;
	}
	const size_t size = PER_ISA(symbols_encode)(dst, bits, n, &ternary, SYMBOLS_ENTROPY);
	if (size < trits) {
		*flags |= BLOCKS;
		return size;
	}
	trits_of_bits(dst, bits, n);
	return trits;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   uint16_t *flags)
{
	const size_t n = p->n, head = 8 + 4 * scalers((size_t)p->codec.value[BUCKET], n);
	const unsigned coding = (unsigned)p->codec.value[CODING];
	uint8_t *const digits = dst + head, *const at = digits + (coding == ENTROPY ? before_bits(n) : 0);
	const size_t size = coding == TRITS ? pack_coding(p, grad, type, TRITS, dst, at)
	                                    : pack_coding(p, grad, type, BITS, dst, at);
	*flags = p->codec.value[SHARED] != 0 ? FLAG_SHARED : 0;
	if (coding == ENTROPY)
		return head + code_bits(digits, n, flags);
	*flags |= (uint16_t)coding;
	return head + size;
}

/* ---- agree: section 3.2's scaler sharing ---------------------------------------------------- */

static size_t agree_count(const struct crumb_packer *p)
{
	return p->codec.value[SHARED] != 0 ? scalers((size_t)p->codec.value[BUCKET], p->n) : 0;
}

static void measure(struct crumb_packer *p, const void *grad, enum crumb_dtype type, float *stat)
{
	const size_t n = p->n, bucket = bucket_of(&p->codec, n);
	float *bounds = packer_floats(p);
	for (size_t b = 0, i = 0; i < n; b++, i += bucket) {
		const struct scale own =
		        scale_any(grad, type, i, n - i < bucket ? n - i : bucket, p->codec.value[CLIP]);
		bounds[b] = own.bound < INFINITY
		                    ? own.bound
		                    : 0x1p120f; /* above every |g|; a packer holds finite floats */
		stat[b] = own.scaler;
	}
}

static void agree(struct crumb_packer *p, const float *stat, size_t learners)
{
	const size_t count = agree_count(p);
	float *agreed = packer_floats(p) + count;
	for (size_t b = 0; b < count; b++) {
		agreed[b] = 0;
		for (size_t l = 0; l < learners; l++)
			agreed[b] = stat[l * count + b] > agreed[b] ? stat[l * count + b] : agreed[b];
	}
}

/* ---- frames --------------------------------------------------------------------------------- */

/* The parts of a payload. */
struct parts {
	size_t bucket, scalers; /* bucket: as carried, 0 for one scaler */
	uint32_t learners;
	unsigned coding, planes; /* planes: of a sum, bits an element; else 0 */
	const uint8_t *scaler, *digit;
	size_t digit_size;
};

static bool parts_of(const struct frame *frame, struct parts *parts)
{
	const unsigned flags = frame->flags;
	*parts = (struct parts){0};
	if (frame->size < 8)
		return false;
	const size_t bucket = get_u32(frame->payload);
	const uint32_t learners = get_u32(frame->payload + 4);
	const bool sum = flags & FLAG_SUM;
	const unsigned coding = flags & FLAG_CODING;
	if (flags & ~(unsigned)(FLAG_CODING | FLAG_SHARED | FLAG_SUM) || bucket % V16 || bucket > MOST_BUCKET)
		return false;
	if (sum ? flags != (FLAG_SUM | FLAG_SHARED) || !learners || learners > MOST_LEARNERS : learners != 1)
		return false;
	const size_t n = frame->n, count = scalers(bucket, n);
	if (count > (frame->size - 8) / 4)
		return false;
	*parts = (struct parts){.bucket = bucket,
	                        .scalers = count,
	                        .learners = learners,
	                        .coding = coding,
	                        .planes = sum ? planes_of(learners) : 0,
	                        .scaler = frame->payload + 8,
	                        .digit = frame->payload + 8 + 4 * count,
	                        .digit_size = frame->size - 8 - 4 * count};
	if (sum)
		return parts->digit_size == sum_bytes(learners, n);
	return coding > BITS || parts->digit_size == digit_bytes(coding, n);
}

/* Which lanes of the group that element i begins are elements. */
static uint16_t lanes(size_t n, size_t i) { return n - i < V16 ? v16_first(n - i) : 0xFFFF; }

static bool check_planes(const struct parts *p, size_t n)
{
	const v16f most = v16_set((float)(2 * p->learners));
	const uint8_t *src = p->digit;
	for (size_t i = 0; i < n; i += V16, src += 2 * p->planes) {
		const v16f x = v16_float_of(planes_get(src, p->planes));
		if (v16_bits(v16_gt(x, most)) || v16_bits(v16_ne(x, v16_set(0))) & ~lanes(n, i))
			return false;
	}
	return true;
}

static bool check_bits(const struct parts *p, size_t n)
{
	uint32_t bad = 0;
	for (size_t i = 0; i < p->digit_size; i += 4) {
		const uint32_t x = get_u32(p->digit + i);
		bad |= x & x >> 1 & 0x55555555u;
	}
	if (n % V16)
		bad |= get_u32(p->digit + p->digit_size - 4) >> 2 * (n % V16);
	return !bad;
}

static bool check_trits(const struct parts *p, size_t n)
{
	unsigned bad = 0;
	for (size_t i = 0; i < p->digit_size; i++)
		bad |= (uint8_t)(243 * p->digit[i]) >= 243;
	const size_t whole = n / TRITS_ELEMENTS * TRITS_ELEMENTS;
	if (whole < n) {
		v16i x = v16_load_u8(p->digit + p->digit_size - V16);
		for (size_t i = whole; i < whole + TRITS_ELEMENTS; i += V16) {
			const uint16_t shown = v16_bits(v16_ne(v16_float_of(trits_next(&x)), v16_set(0)));
			bad |= i < n ? shown & ~lanes(n, i) : shown;
		}
	}
	return !bad;
}

static bool each_round(const struct parts *p, size_t n, symbols_put *put, void *to)
{
	return PER_ISA(symbols_decode)(p->digit, p->digit_size, n, &ternary, SYMBOLS_ENTROPY, put, to);
}

static bool check(const struct frame *frame)
{
	struct parts p;
	if (!parts_of(frame, &p))
		return false;
	for (size_t b = 0; b < p.scalers; b++) {
		const float s = get_f32(p.scaler + 4 * b);
		if (!usable(s) || signbit(s))
			return false;
	}
	if (p.planes)
		return check_planes(&p, frame->n);
	switch (p.coding) {
	case TRITS:
		return check_trits(&p, frame->n);
	case BITS:
		return check_bits(&p, frame->n);
	case GAPS:
		return crumb_gaps_check(p.digit, p.digit_size, frame->n);
	default:
		return each_round(&p, frame->n, NULL, NULL);
	}
}

/* Adds the values of one group; lanes past the slice hold zeros and are not stored. */
V16_FN void add_group(float *acc, size_t i, size_t n, v16f value)
{
	if (n - i < V16)
		v16_storef_few(acc + i, v16_add(v16_loadf_few(acc + i, n - i), value), n - i);
	else
		v16_storef(acc + i, v16_add(v16_loadf(acc + i), value));
}

/* What digits 0, 1 and 2 are worth in bucket b. The table may live on in value. */
V16_FN v16t worth(float value[V16], const struct parts *p, size_t b, float weight)
{
	value[1] = weight * get_f32(p->scaler + 4 * b);
	value[2] = -value[1];
	return v16_table(value);
}

static void unpack_planes(const struct parts *p, size_t n, float weight, float *acc, size_t first, size_t end)
{
	const size_t bucket = p->bucket ? p->bucket : n;
	const uint8_t *src = p->digit + 2 * p->planes * (first / V16);
	for (size_t i = first; i < end; i += V16, src += 2 * p->planes) {
		const v16f s = v16_set(weight * get_f32(p->scaler + 4 * (i / bucket)));
		const v16f q = v16_float_of(v16_subi(planes_get(src, p->planes), v16_seti(p->learners)));
		add_group(acc, i, n, v16_mul(s, q));
	}
}

static void unpack_bits(const struct parts *p, size_t n, float weight, float *acc, size_t first, size_t end)
{
	const size_t bucket = p->bucket ? p->bucket : n;
	const uint8_t *src = p->digit + first / 4;
	float value[V16] = {0};
	for (size_t b = first / bucket, i = first; i < end; b++) {
		const v16t table = worth(value, p, b, weight);
		const size_t stop = end - b * bucket < bucket ? end : (b + 1) * bucket;
		for (; i < stop; i += V16, src += 4)
			add_group(acc, i, n, v16_lookup8(table, bits_get(src)));
	}
}

static void unpack_trits(const struct parts *p, size_t n, float weight, float *acc, size_t first, size_t end)
{
	const size_t bucket = p->bucket ? p->bucket : n;
	const uint8_t *src = p->digit + V16 * (first / TRITS_ELEMENTS);
	float value[V16] = {0};
	size_t i = first, b = first / bucket, stop = (b + 1) * bucket;
	v16t table = worth(value, p, b, weight);
	for (; i < end; src += V16) {
		v16i x = v16_load_u8(src);
		if (stop - i >= TRITS_ELEMENTS && n - i >= TRITS_ELEMENTS) {
			for (int k = 0; k < 5; k++, i += V16)
				v16_storef(acc + i,
				           v16_add(v16_loadf(acc + i), v16_lookup8(table, trits_next(&x))));
			continue;
		}
		for (int k = 0; k < 5 && i < n; k++, i += V16) {
			if (i >= stop) {
				table = worth(value, p, ++b, weight);
				stop += bucket;
			}
			add_group(acc, i, n, v16_lookup8(table, trits_next(&x)));
		}
	}
}

struct sum_of {
	const struct parts *parts;
	size_t n;
	float weight, *acc;
};

/* The digits of a round, bucket by bucket. */
static void add_round(void *to, size_t first, const uint8_t *digit, size_t count)
{
	const struct sum_of *s = to;
	const size_t bucket = s->parts->bucket ? s->parts->bucket : s->n, last = first + count;
	float value[V16] = {0};
	for (size_t i = first; i < last;) {
		const size_t b = i / bucket, end = last - b * bucket < bucket ? last : (b + 1) * bucket;
		const v16t table = worth(value, s->parts, b, s->weight);
		for (; i < end; i += V16, digit += V16)
			add_group(s->acc, i, s->n, v16_lookup8(table, v16_load_u8(digit)));
	}
}

static void unpack_gaps(const struct parts *p, size_t n, float weight, float *acc, size_t first, size_t end)
{
	const size_t bucket = p->bucket ? p->bucket : n;
	struct gaps gaps;
	size_t at, stop = 0;
	unsigned negative;
	float value[2] = {0};
	crumb_gaps_open(&gaps, p->digit, p->digit_size, n);
	while (crumb_gaps_next(&gaps, &at, &negative) && at < end) {
		if (at < first)
			continue;
		if (at >= stop) {
			value[0] = weight * get_f32(p->scaler + 4 * (at / bucket));
			value[1] = -value[0];
			stop = (at / bucket + 1) * bucket;
		}
		acc[at] += value[negative];
	}
}

static void unpack_blocks(const struct parts *p, size_t n, float weight, float *acc, size_t first, size_t end)
{
	struct sum_of sum = {p, n, weight, acc};
	PER_ISA(symbols_decode_range)
	(p->digit, p->digit_size, n, &ternary, SYMBOLS_ENTROPY, add_round, &sum, first, end);
}

static bool divides(const struct frame *frame) { return (frame->flags & FLAG_CODING) < ENTROPY; }

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	struct parts p;
	parts_of(frame, &p);
	if (p.coding == GAPS)
		unpack_gaps(&p, frame->n, weight, acc, first, end);
	else if (p.coding == BLOCKS)
		unpack_blocks(&p, frame->n, weight, acc, first, end);
	else if (p.planes)
		unpack_planes(&p, frame->n, weight, acc, first, end);
	else if (p.coding == BITS)
		unpack_bits(&p, frame->n, weight, acc, first, end);
	else
		unpack_trits(&p, frame->n, weight, acc, first, end);
}

/* How many of the n elements of a group are not zero; zero: the code of zero. */
V16_FN unsigned sent_in(v16i code, uint32_t zero, uint16_t here)
{
	const v16f difference = v16_float_of(v16_xori(code, v16_seti(zero)));
	return (unsigned)__builtin_popcount(v16_bits(v16_ne(difference, v16_set(0))) & here);
}

static void count_round(void *to, size_t first, const uint8_t *digit, size_t count)
{
	uint64_t *sent = to;
	(void)first;
	for (size_t i = 0; i < count; i++)
		*sent += digit[i] != 0;
}

static void describe(const struct frame *frame, crumb_frame *out)
{
	struct parts p;
	parts_of(frame, &p);
	const size_t n = frame->n;
	out->codec.value[BUCKET] = (float)p.bucket;
	out->codec.value[SHARED] = frame->flags & FLAG_SHARED ? 1 : 0;
	out->codec.value[CODING] = p.coding < ENTROPY ? (float)p.coding : ENTROPY;
	if (!p.bucket)
		frame_fact(out, "scaler", get_f32(p.scaler));
	if (p.planes)
		frame_fact(out, "learners", p.learners);
	if (p.coding == GAPS)
		out->sent = gaps_sent(p.digit);
	if (p.coding == BLOCKS)
		each_round(&p, n, count_round, &out->sent);
	if (p.coding >= ENTROPY)
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

static size_t sum_bound(size_t count, size_t n)
{
	if (!count || count > MOST_LEARNERS)
		return 0;
	return 8 + 4 * divide_up(n, V16) + sum_bytes((uint32_t)count, n); /* at most a scaler a group */
}

/* Adds the numbers of the block of 80 elements, groups of them here, that number block begins. */
V16_FN void add_block(v16i sum[5], const struct parts *p, size_t block, size_t groups)
{
	v16i x = p->coding == TRITS ? v16_load_u8(p->digit + V16 * block) : v16_seti(0);
	for (size_t k = 0; k < groups; k++) {
		const v16i digit =
		        p->coding == TRITS ? trits_next(&x) : bits_get(p->digit + 4 * (5 * block + k));
		sum[k] = v16_addi(sum[k], number_of(digit));
	}
}

/* A sum, while frames are added to it one by one. */
struct planes {
	uint8_t *dst;
	unsigned count;
};

V16_FN void planes_add(const struct planes *sum, size_t group, v16i digit)
{
	uint8_t *const at = sum->dst + 2 * sum->count * group;
	planes_put(at, v16_addi(planes_get(at, sum->count), number_of(digit)), sum->count, 0xFFFF);
}

static void sum_round(void *to, size_t first, const uint8_t *digit, size_t count)
{
	for (size_t i = 0; i < count; i += V16)
		planes_add(to, (first + i) / V16, v16_load_u8(digit + i));
}

static void sum_gaps(const struct planes *sum, const struct parts *p, size_t n)
{
	struct gaps gaps;
	size_t at;
	unsigned negative;
	crumb_gaps_open(&gaps, p->digit, p->digit_size, n);
	while (crumb_gaps_next(&gaps, &at, &negative)) {
		const v16m lane = v16_mask((uint16_t)(1u << at % V16));
		planes_add(sum, at / V16, v16_keepi(lane, v16_seti(1 + negative)));
	}
}

static int64_t sum(const struct frame *frames, size_t count, uint8_t *dst, uint16_t *flags)
{
	const size_t n = frames[0].n;
	struct parts first, p;
	parts_of(&frames[0], &first);
	for (size_t f = 0; f < count; f++) {
		parts_of(&frames[f], &p);
		if (p.planes || !(frames[f].flags & FLAG_SHARED) || p.bucket != first.bucket ||
		    memcmp(p.scaler, first.scaler, 4 * p.scalers) != 0)
			return CRUMB_EAGREE;
	}
	*flags = FLAG_SUM | FLAG_SHARED;
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
			parts_of(&frames[f], &p);
			if (p.coding < ENTROPY)
				add_block(total, &p, i / TRITS_ELEMENTS, groups);
		}
		for (size_t k = 0; k < groups; k++)
			out = planes_put(out, total[k], planes, lanes(n, i + k * V16));
	}
	for (size_t f = 0; f < count; f++) {
		parts_of(&frames[f], &p);
		if (p.coding == BLOCKS)
			each_round(&p, n, sum_round, &all);
		if (p.coding == GAPS)
			sum_gaps(&all, &p, n);
	}
	return out - dst;
}

const struct codec PER_ISA(terngrad) = {
        .info = {.id = 4,
                 .flags = CRUMB_RANDOM | CRUMB_FIXED | CRUMB_AGREES,
                 .name = "terngrad",
                 .brief = "-s, 0 or +s at random, its mean the clipped gradient (Wen et al. 2017)",
                 .keys = 4,
                 .key = {{"clip", "clip at so many standard deviations; 0: do not", 2.5f, 0, 100, 0, NULL},
                         {"bucket", "elements under one scaler, a multiple of 16; 0: the slice", 0, 0,
                          0x1p20f, V16, NULL},
                         {"shared", "1: all learners agree on the scaler", 0, 0, 1, 1, no_yes},
                         {"coding", "five trits a byte, two bits a trit, or what is shortest", TRITS, 0, 2, 1,
                          codings}}},
        .floats = floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .unpack_add = unpack_add,
        .divides = divides,
        .describe = describe,
        .agree_count = agree_count,
        .measure = measure,
        .agree = agree,
        .sum_bound = sum_bound,
        .sum = sum,
};
