/* topk: a fixed share of the elements, those of the largest magnitudes; plus and minus are each worth their
 * mean, or the values that are sent are exact (Dryden et al., MLHPC 2016).
 *
 * The frame of means is made of the candidates of select/top.h alone; that of exact values takes a second
 * pass.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "payload/sparse_signs.h"
#include "select/top.h"
#include <math.h>

enum { FRACTION, VALUE, CODING }; /* the keys */
enum { MEAN, EXACT };
enum { FLAG_EXACT = 2 };

/* Exact values have no entropy coding. */
static bool accepts(const crumb_codec *codec)
{
	return codec->value[VALUE] != EXACT || codec->value[CODING] == SPARSE_SIGNS_PLAIN;
}

static size_t kept(const crumb_codec *codec, size_t n)
{
	const size_t k = (size_t)((double)codec->value[FRACTION] * (double)n);
	return k ? k : 1;
}

static size_t bound(const crumb_codec *codec, size_t n)
{
	if (codec->value[VALUE] != EXACT)
		return 8 + sparse_signs_bound(n);
	return n <= UINT32_MAX ? 8 * kept(codec, n) : 0; /* elements are numbered in 32 bits */
}

/* ---- mean: one value for plus, one for minus ------------------------------------------------ */

/* Sums and counts of the elements that are sent: [0] of plus, [1] of minus. */
struct sides {
	double sum[2];
	size_t count[2];
};

/* Adds up the elements of r, times factor, that are at least threshold > 0, and those that are at most
 * -threshold. */
static struct sides sides_of_all(const float *r, size_t n, float threshold, float factor)
{
	const v16f t = v16_set(threshold), minus_t = v16_set(-threshold), by = v16_set(factor);
	struct sides s = {{0, 0}, {0, 0}};
	for (size_t i = 0; i < n; i += SUM_BLOCK) {
		const size_t end = n - i < SUM_BLOCK ? n : i + SUM_BLOCK;
		v16f plus = v16_set(0), minus = v16_set(0);
		for (size_t k = i; k < end; k += V16) {
			const v16f x = v16_loadf_some(r + k, end - k), y = v16_mul(x, by);
			const v16m up = v16_ge(x, t), down = v16_ge(minus_t, x);
			plus = v16_add(plus, v16_and_mask(up, y));
			minus = v16_add(minus, v16_and_mask(down, y));
			s.count[0] += (size_t)__builtin_popcount(v16_bits(up));
			s.count[1] += (size_t)__builtin_popcount(v16_bits(down));
		}
		s.sum[0] += v16_sum_lanes(plus);
		s.sum[1] += v16_sum_lanes(minus);
	}
	return s;
}

/* Adds up the candidates, which are all sent. The sums equal those of sides_of_all to the bit, since they are
 * taken lane by lane, too. */
static struct sides sides_of_candidates(const struct top *c, float factor)
{
	float lane[2][V16] = {{0}};
	struct sides s = {{0, 0}, {0, 0}};
	for (size_t j = 0, block = 0; j <= c->count; j++) {
		const size_t i = j < c->count ? get_u32(c->number + 4 * j) : SIZE_MAX;
		if (i / SUM_BLOCK != block) {
			s.sum[0] += v16_sum_lanes(v16_loadf(lane[0]));
			s.sum[1] += v16_sum_lanes(v16_loadf(lane[1]));
			memset(lane, 0, sizeof lane);
			block = i / SUM_BLOCK;
		}
		if (j < c->count) {
			const float x = get_f32(c->value + 4 * j);
			lane[x < 0][i % V16] += x * factor;
			s.count[x < 0]++;
		}
	}
	return s;
}

/* Sets the values of plus and minus; c is NULL if all elements of r have to be examined. If a sum overflows,
 * both are taken again from elements times 2^-32. */
static void means_of(const float *r, size_t n, float threshold, const struct top *c, float mean[2])
{
	double factor = 1;
	struct sides s = c ? sides_of_candidates(c, 1) : sides_of_all(r, n, threshold, 1);
	if (!isfinite(s.sum[0]) || !isfinite(s.sum[1])) {
		factor = 0x1p32;
		s = c ? sides_of_candidates(c, 0x1p-32f) : sides_of_all(r, n, threshold, 0x1p-32f);
	}
	for (int side = 0; side < 2; side++)
		mean[side] = s.count[side] ? (float)(s.sum[side] / (double)s.count[side] * factor) : 0;
}

static size_t pack_all(float *r, size_t n, float threshold, bool entropy, uint8_t *dst, uint16_t *flags)
{
	float mean[2];
	means_of(r, n, threshold, NULL, mean);
	const v16f t = v16_set(threshold), minus_t = v16_set(-threshold), plus = v16_set(mean[0]),
	           minus = v16_set(mean[1]);
	struct sparse_signs signs =
	        sparse_signs_open(put_f32(put_f32(dst, mean[0]), mean[1]), n, false, entropy);
	uint8_t *map = signs.map;
	for (size_t i = 0; i < n; i += V16) {
		const uint32_t lanes = v16_first(n - i < V16 ? n - i : V16);
		const v16f x = v16_loadf_some(r + i, n - i);
		const v16m up = v16_ge(x, t), down = v16_ge(minus_t, x);
		/* The threshold is 0 where a thread flushes subnormal numbers (base/float_env.h), and zeros
		 * reach it on both sides, even those of unused lanes. */
		const uint32_t ups = v16_bits(up) & lanes, downs = v16_bits(down) & lanes & ~ups;
		map = put_u32(map, (uint32_t)sparse_signs_codes(ups, downs));
		signs.count += (size_t)__builtin_popcount(ups | downs);
		const v16f left = v16_sub(x, v16_pick(up, plus, v16_and_mask(down, minus)));
		v16_storef_some(r + i, left, n - i);
	}
	return 8 + sparse_signs_close(&signs, flags);
}

/* Sends the candidates that reach the threshold; they are fewer than the map's words, so their numbers
 * serve as the list. */
static size_t pack_candidates(float *r, size_t n, struct top *c, bool entropy, uint8_t *dst, uint16_t *flags)
{
	enum { PREFETCH_ELEMENTS = 16 };
	float mean[2];
	top_drop(c, c->threshold);
	means_of(r, n, c->threshold, c, mean);
	for (size_t j = 0; j < c->count; j++) {
		const size_t i = get_u32(c->number + 4 * j),
		             later = j + PREFETCH_ELEMENTS < c->count ? j + PREFETCH_ELEMENTS : j;
		const float x = get_f32(c->value + 4 * j);
		__builtin_prefetch(r + get_u32(c->number + 4 * later), 1);
		r[i] = x - mean[x < 0]; /* a branch on the sign would be mispredicted */
		put_u32(c->number + 4 * j, (uint32_t)i << 1 | (x > 0));
	}
	uint8_t *const list = put_f32(put_f32(dst, mean[0]), mean[1]);
	return 8 + sparse_signs_close_list(list, c->number, n, c->count, entropy, flags);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	const size_t n = p->n, k = kept(&p->codec, n);
	const bool entropy = p->codec.value[CODING] != SPARSE_SIGNS_PLAIN;
	float *r = packer_floats(p);
	struct top top = {.k = k};
	if (p->codec.value[VALUE] == EXACT) {
		out->flags = FLAG_EXACT;
		return 8 * top_take(r, grad, type, n, k, dst);
	}
	/* The frame's memory holds first the candidates, and at last the payload. */
	if (n <= INT32_MAX) { /* a word of the list has 31 bits for the element's number */
		top.room = sparse_signs_map_bytes(n) / 4;
		top.value = dst + 8;
		top.number = sparse_signs_map(dst + 8, n);
	}
	top_add(r, grad, type, n, &top);
	return top.enough ? pack_candidates(r, n, &top, entropy, dst, &out->flags)
	                  : pack_all(r, n, top.threshold, entropy, dst, &out->flags);
}

/* ---- frames --------------------------------------------------------------------------------- */

static bool check_exact(const struct frame *frame, const struct part *part)
{
	if (frame->flags != FLAG_EXACT || frame->size % 8)
		return false;
	const size_t count = frame->size / 8;
	const uint8_t *const value = frame->payload + 4 * count;
	const struct units own = part_units(part, value, 4, count);
	uint32_t bad = 0;
	for (size_t i = own.first; i < own.end; i++)
		bad |= (uint32_t)!isfinite(get_f32(value + 4 * i));
	return !bad && sparse_signs_ascend(part, frame->payload, count, 0, frame->n);
}

static bool check(const struct frame *frame, struct part *part)
{
	if (frame->flags & FLAG_EXACT)
		return check_exact(frame, part);
	if (sparse_signs_form(frame->flags) != frame->flags || frame->size < 8)
		return false;
	const float plus = get_f32(frame->payload), minus = get_f32(frame->payload + 4);
	return isfinite(plus) && isfinite(minus) && plus >= 0 && minus <= 0 &&
	       sparse_signs_check(frame, part, 8);
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	if (!(frame->flags & FLAG_EXACT)) {
		const float plus = weight * get_f32(frame->payload),
		            minus = weight * get_f32(frame->payload + 4);
		sparse_signs_add(frame->payload + 8, frame->size - 8, frame->n,
		                 sparse_signs_form(frame->flags), plus, minus, acc, first, end);
		return;
	}
	const size_t all = frame->size / 8, stop = sparse_signs_search(frame->payload, all, end);
	for (size_t i = sparse_signs_search(frame->payload, stop, first); i < stop; i++)
		acc[get_u32(frame->payload + 4 * i)] += weight * get_f32(frame->payload + 4 * (all + i));
}

static void describe(const struct frame *frame, crumb_frame_info *out)
{
	if (frame->flags & FLAG_EXACT) {
		out->codec.value[VALUE] = EXACT;
		out->sent = frame->size / 8;
		return;
	}
	out->codec.value[CODING] =
	        frame->flags & SPARSE_SIGNS_GAPS ? SPARSE_SIGNS_ENTROPY : SPARSE_SIGNS_PLAIN;
	frame_fact(out, "plus", get_f32(frame->payload));
	frame_fact(out, "minus", get_f32(frame->payload + 4));
	out->sent = sparse_signs_sent(frame->payload + 8, frame->size - 8, sparse_signs_form(frame->flags));
}

CODEC_INFO(topk, .id = 10, .flags = CRUMB_CODEC_RESIDUAL, .name = "topk",
           .brief = "the greatest elements, worth the means of plus and minus (Dryden et al. 2016)",
           .keys = 4,
           .key = {{"fraction", "share of the elements to send", 0.003f, 1e-6f, 0.5f, 0, NULL},
                   {"value", "mean: one value for plus, one for minus; exact: every value", MEAN, 0, 1, 1,
                    CHOICES("mean", "exact")},
                   {"coding", "plain: words or two bits an element; entropy: gaps between elements",
                    SPARSE_SIGNS_PLAIN, 0, 1, 1, CHOICES("plain", "entropy")},
                   DECAY_KEY});

const struct codec PER_ISA(topk) = {
        .info = &crumb_info_topk,
        .variable_width = ALL_FRAMES,
        .accepts = accepts,
        .floats = residual_floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .unpack_add = unpack_add,
        .describe = describe,
};
