/* topk: a fixed share of the elements, the greatest; plus and minus are each worth their mean, or what is
 * sent is exact (Dryden et al., MLHPC 2016).
 *
 * SPDX-License-Identifier: MIT */
#include "signs.h"
#include <math.h>

enum { FRACTION, VALUE, CODING }; /* the keys */
enum { MEAN, EXACT };
enum { FLAG_EXACT = 2 };
enum { SUM_BLOCK = 4096 };
static const char *const values[] = {"mean", "exact", NULL};

static size_t floats(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return n;
}

/* Exact values are not coded. */
static bool accepts(const crumb_codec *codec)
{
	return codec->value[VALUE] != EXACT || codec->value[CODING] == SIGNS_PLAIN;
}

static size_t kept(const crumb_codec *codec, size_t n)
{
	const size_t k = (size_t)((double)codec->value[FRACTION] * (double)n);
	return k ? k : 1;
}

static size_t bound(const crumb_codec *codec, size_t n)
{
	if (codec->value[VALUE] != EXACT)
		return 8 + signs_bound(n);
	return n <= UINT32_MAX ? 8 * kept(codec, n) : 0; /* elements are numbered in 32 bits */
}

/* ---- which: the k-th greatest magnitude ----------------------------------------------------- */

/* Of the elements whose magnitude's bits above shift + width are those of prefix, counts the next width bits.
 */
static void count_digits(const float *x, size_t n, uint32_t prefix, unsigned shift, unsigned width,
                         uint32_t *count)
{
	memset(count, 0, sizeof *count << width);
	for (size_t i = 0; i < n; i++) {
		uint32_t bits;
		memcpy(&bits, &x[i], sizeof bits);
		bits &= 0x7FFFFFFF;
		if (bits >> shift >> width == prefix)
			count[bits >> shift & ((1u << width) - 1)]++;
	}
}

/* Magnitudes are ordered as their bits: digit after digit, from the top, the one in which the k-th greatest
 * lies. */
static float greatest(const float *x, size_t n, size_t k)
{
	static const unsigned width[3] = {11, 10, 10};
	uint32_t count[1 << 11], found = 0;
	unsigned shift = 31;
	for (int pass = 0; pass < 3; pass++) {
		shift -= width[pass];
		count_digits(x, n, found, shift, width[pass], count);
		uint32_t digit = 1u << width[pass];
		while (k > count[--digit])
			k -= count[digit];
		found = found << width[pass] | digit;
	}
	float m;
	memcpy(&m, &found, sizeof m);
	return m;
}

V16_FN void add(float *r, const void *grad, const enum crumb_dtype type, size_t n)
{
	size_t i = 0;
	for (; i + V16 <= n; i += V16)
		v16_storef(r + i, v16_add(v16_loadf(r + i), v16_load(type, grad, i)));
	if (i < n)
		v16_storef_few(r + i,
		               v16_add(v16_loadf_few(r + i, n - i), v16_load_few(type, grad, i, n - i)),
		               n - i);
}

static void add_any(float *r, const void *grad, enum crumb_dtype type, size_t n)
{
#define ADD(TYPE) add(r, grad, TYPE, n)
	V16_BY_TYPE(type, ADD);
}

/* ---- mean: one value for plus, one for minus ------------------------------------------------ */

struct side {
	double sum;
	size_t count;
};

V16_FN v16f group(const float *r, size_t i, size_t n)
{
	return n - i < V16 ? v16_loadf_few(r + i, n - i) : v16_loadf(r + i);
}

/* The sums of the elements, times factor, that are at least m > 0 and at most -m. */
static void sides(const float *r, size_t n, float m, float factor, struct side *plus, struct side *minus)
{
	const v16f t = v16_set(m), minus_t = v16_set(-m), by = v16_set(factor);
	*plus = *minus = (struct side){0, 0};
	for (size_t i = 0; i < n; i += SUM_BLOCK) {
		const size_t end = n - i < SUM_BLOCK ? n : i + SUM_BLOCK;
		v16f ups = v16_set(0), downs = v16_set(0);
		for (size_t k = i; k < end; k += V16) {
			const v16f x = group(r, k, end);
			const v16m up = v16_ge(x, t), down = v16_ge(minus_t, x);
			const v16f y = v16_mul(x, by);
			ups = v16_add(ups, v16_keep(up, y));
			downs = v16_add(downs, v16_keep(down, y));
			plus->count += (size_t)__builtin_popcount(v16_bits(up));
			minus->count += (size_t)__builtin_popcount(v16_bits(down));
		}
		plus->sum += v16_fold(ups);
		minus->sum += v16_fold(downs);
	}
}

static float mean(const struct side *side, double factor)
{
	return side->count ? (float)(side->sum / (double)side->count * factor) : 0;
}

static size_t pack_mean(float *r, size_t n, float m, bool entropy, uint8_t *dst, uint16_t *flags)
{
	struct side plus, minus;
	double factor = 1;
	sides(r, n, m, 1, &plus, &minus);
	if (!isfinite(plus.sum) || !isfinite(minus.sum)) {
		factor = 0x1p32;
		sides(r, n, m, 0x1p-32f, &plus, &minus);
	}
	const float up_mean = mean(&plus, factor), down_mean = mean(&minus, factor);
	const v16f t = v16_set(m), minus_t = v16_set(-m), ups = v16_set(up_mean), downs = v16_set(down_mean);
	uint8_t *const list = put_f32(put_f32(dst, up_mean), down_mean);
	uint8_t *map = signs_map(list, n);
	for (size_t i = 0; i < n; i += V16) {
		const v16f x = group(r, i, n);
		const v16m up = v16_ge(x, t), down = v16_ge(minus_t, x);
		const v16f left = v16_sub(x, v16_pick(up, ups, v16_keep(down, downs)));
		map = put_u32(map, signs_code(v16_bits(up), v16_bits(down)));
		if (n - i < V16)
			v16_storef_few(r + i, left, n - i);
		else
			v16_storef(r + i, left);
	}
	return 8 + signs_close(list, n, plus.count + minus.count, entropy, flags);
}

/* ---- exact: numbers of 32 bits, and then their values --------------------------------------- */

V16_FN size_t count_above(const float *r, size_t n, float m, bool equal)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i += V16) {
		const v16f size = v16_abs(group(r, i, n));
		const v16m above = equal ? v16_ge(size, v16_set(m)) : v16_gt(size, v16_set(m));
		count += (size_t)__builtin_popcount(v16_bits(above));
	}
	return count;
}

/* All above m, and of those that equal it the first ones, at most k together. */
static size_t pack_exact(float *r, size_t n, float m, size_t k, uint8_t *dst)
{
	const size_t least = count_above(r, n, m, true), count = least < k ? least : k;
	size_t equal = count - count_above(r, n, m, false);
	uint8_t *at = dst, *value = dst + 4 * count;
	for (size_t i = 0; i < n; i += V16) {
		uint32_t left = v16_bits(v16_ge(v16_abs(group(r, i, n)), v16_set(m)));
		for (; left; left &= left - 1) {
			const size_t e = i + (size_t)__builtin_ctz(left);
			if (fabsf(r[e]) == m) {
				if (equal == 0)
					continue;
				equal--;
			}
			at = put_u32(at, (uint32_t)e);
			value = put_f32(value, r[e]);
			r[e] = 0;
		}
	}
	return 8 * count;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   uint16_t *flags)
{
	const size_t n = p->n, k = kept(&p->codec, n);
	float *r = packer_floats(p);
	add_any(r, grad, type, n);
	const float kth = greatest(r, n, k);
	const float m = kth > 0 ? kth : 0x1p-149f; /* where fewer than k are not zero, all of these */
	if (p->codec.value[VALUE] != EXACT)
		return pack_mean(r, n, m, p->codec.value[CODING] != SIGNS_PLAIN, dst, flags);
	*flags = FLAG_EXACT;
	return pack_exact(r, n, m, k, dst);
}

/* ---- frames --------------------------------------------------------------------------------- */

static bool check_exact(const struct frame *frame)
{
	if (frame->flags != FLAG_EXACT || frame->size % 8)
		return false;
	const size_t count = frame->size / 8;
	uint64_t least = 0;
	bool good = true;
	for (size_t i = 0; i < count; i++) {
		const uint32_t at = get_u32(frame->payload + 4 * i);
		good = good && at >= least && at < frame->n &&
		       isfinite(get_f32(frame->payload + 4 * (count + i)));
		least = (uint64_t)at + 1;
	}
	return good;
}

static bool check(const struct frame *frame)
{
	if (frame->flags & FLAG_EXACT)
		return check_exact(frame);
	if (signs_form(frame->flags) != frame->flags || frame->size < 8)
		return false;
	const float plus = get_f32(frame->payload), minus = get_f32(frame->payload + 4);
	return isfinite(plus) && isfinite(minus) && plus >= 0 && minus <= 0 &&
	       signs_check(frame->payload + 8, frame->size - 8, frame->n, signs_form(frame->flags));
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	(void)first, (void)end;
	if (!(frame->flags & FLAG_EXACT)) {
		const float plus = weight * get_f32(frame->payload),
		            minus = weight * get_f32(frame->payload + 4);
		signs_add(frame->payload + 8, frame->size - 8, frame->n, signs_form(frame->flags), plus,
		          minus, acc);
		return;
	}
	const size_t count = frame->size / 8;
	for (size_t i = 0; i < count; i++)
		acc[get_u32(frame->payload + 4 * i)] += weight * get_f32(frame->payload + 4 * (count + i));
}

static void describe(const struct frame *frame, crumb_frame *out)
{
	if (frame->flags & FLAG_EXACT) {
		out->codec.value[VALUE] = EXACT;
		out->sent = frame->size / 8;
		return;
	}
	out->codec.value[CODING] = frame->flags & SIGNS_GAPS ? SIGNS_ENTROPY : SIGNS_PLAIN;
	frame_fact(out, "plus", get_f32(frame->payload));
	frame_fact(out, "minus", get_f32(frame->payload + 4));
	out->sent = signs_sent(frame->payload + 8, frame->size - 8, signs_form(frame->flags));
}

const struct codec PER_ISA(topk) = {
        .info = {.id = 10,
                 .flags = CRUMB_RESIDUAL,
                 .name = "topk",
                 .brief = "the greatest elements, worth the means of plus and minus (Dryden et al. 2016)",
                 .keys = 3,
                 .key = {{"fraction", "share of the elements to send", 0.003f, 1e-6f, 0.5f, 0, NULL},
                         {"value", "mean: one value for plus, one for minus; exact: every value", MEAN, 0, 1,
                          1, values},
                         {"coding", "plain: words or two bits an element; entropy: gaps between elements",
                          SIGNS_PLAIN, 0, 1, 1, signs_codings}}},
        .accepts = accepts,
        .floats = floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .unpack_add = unpack_add,
        .describe = describe,
};
