/* terngrad: every element is -s, 0 or +s at random so that its mean is the clipped gradient (Wen et al.,
 * NeurIPS 2017). What becomes of its frames stands in ternary.c.
 *
 * A scaler s serves a bucket, or the whole slice. It is the learner's own or, shared, the greatest of all
 * learners'; then frames can be summed without decoding (section 3.2).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "check/finite.h"
#include "coding/golomb.h"
#include "v16/rng.h"
#include "payload/ternary.h"
#include <math.h>

enum { WIDENED = 1024 };

/* ---- buckets -------------------------------------------------------------------------------- */

static size_t bucket_of(const crumb_codec *codec, size_t n)
{
	const size_t bucket = (size_t)codec->value[TERNARY_BUCKET];
	return bucket ? bucket : n;
}

/* Shared, a packer keeps each bucket's clipping bound and the agreed scaler. */
static size_t floats(const crumb_codec *codec, size_t n)
{
	return codec->value[TERNARY_SHARED] != 0 && n
	               ? 2 * ternary_scalers((size_t)codec->value[TERNARY_BUCKET], n)
	               : 0;
}

/* ---- entropy: what is shortest of trits, gaps of what is not 0, and blocks of symbols --------- */

/* Where bits are drawn, before they are coded: behind gaps, and so that blocks can be coded in place. */
static size_t before_bits(size_t n) { return golomb_room(n) + blocks_marks(&ternary_codes, n); }

static size_t bound(const crumb_codec *codec, size_t n)
{
	const unsigned coding = (unsigned)codec->value[TERNARY_CODING];
	const size_t digits =
	        coding == TERNARY_ENTROPY ? before_bits(n) + digit_bytes(BITS, n) : digit_bytes(coding, n);
	return 8 + 4 * ternary_scalers((size_t)codec->value[TERNARY_BUCKET], n) + digits;
}

/* ---- scaler: section 3.3's clipping and the maximum norm ------------------------------------ */

struct scale {
	float bound, scaler; /* |g| is clipped at bound; the greatest of them is scaler, infinity where one is
	                        not usable */
};

/* Of d = g - pivot and d * d, the sums; and the worst |g| of every other group, so that one need not wait for
 * the last. */
struct sums {
	v16f one, two, worst[2];
};

/* Of count f32, a multiple of two groups. */
V16_FN void sum_groups(struct sums *s, const float *g, size_t count, v16f pivot)
{
	for (const float *const end = g + count; g < end; g += 2 * V16)
		for (int odd = 0; odd < 2; odd++) {
			const v16f x = v16_streamf(g + V16 * odd), d = v16_sub(x, pivot);
			s->one = v16_add(s->one, d);
			s->two = v16_add(s->two, v16_mul(d, d));
			s->worst[odd] = v16_max_abs_nan(x, s->worst[odd]);
		}
}

/* Of the m elements from number first; infinities where one is not usable. The pivot keeps the variance of
 * nearly equal elements exact enough: that of equal ones is 0. */
static struct scale scale_of(const void *grad, enum crumb_dtype type, size_t first, size_t m, float clip)
{
	float widened[WIDENED], pivot[V16];
	v16_storef(pivot, v16_load_partial(type, grad, first, 1));
	const v16f zero = v16_set(0), middle = v16_set(pivot[0]);
	double sum[2] = {0, 0};
	struct sums s = {.worst = {zero, zero}};
	size_t i = 0;
	while (i < m) {
		s.one = s.two = zero;
		for (size_t left = m - i < SUM_BLOCK ? m - i : SUM_BLOCK, size; left;
		     i += size, left -= size) {
			if (type == CRUMB_F32 && left >= 2 * V16) {
				size = left - left % (2 * V16);
				sum_groups(&s, (const float *)grad + first + i, size, middle);
				continue;
			}
			size = left < WIDENED ? left : WIDENED;
			const size_t whole = 2 * V16 * divide_up(size, 2 * V16);
			for (size_t k = 0; type != CRUMB_F32 && k < size; k += 2 * V16)
				prefetch(grad, v16_width(type) * (first + i + k) + PREFETCH_BYTES);
			v16_widen(widened, whole, type, grad, first + i, size);
			for (size_t k = size; k < whole; k++)
				widened[k] = pivot[0]; /* which adds nothing */
			sum_groups(&s, widened, whole, middle);
		}
		sum[0] += v16_sum_lanes(s.one);
		sum[1] += v16_sum_lanes(s.two);
	}
	const v16f worst = v16_max_abs_nan(s.worst[0], s.worst[1]);
	if (!v16_usable(worst))
		return (struct scale){INFINITY, INFINITY};
	const float most = v16_max_lane(worst);
	const double mean = sum[0] / (double)m, variance = sum[1] / (double)m - mean * mean;
	const float at = variance > 0 && isfinite(variance) ? (float)(clip * sqrt(variance)) : 0;
	const bool clips = at > 0 && at < INFINITY;
	return (struct scale){clips ? at : INFINITY, clips && at < most ? at : most};
}

/* ---- ternarise ------------------------------------------------------------------------------ */

/* What it takes to tell which elements are sent. */
struct ternary {
	v16f bound, lift, unit; /* unit = s * lift / 2^24 */
	bool careful;
};

/* Usually no product u * s reaches the clipping bound, which then decides nothing, and only an agreed s is
 * above it. In the smallest binades a product would be too coarse, so lift, a power of two, brings s and the
 * gradient up. */
V16_FN struct ternary ternary_of(float bound, float s)
{
	const bool lifts = s < 0x1p-100f;
	const float lift = lifts ? 0x1p64f : 1;
	return (struct ternary){v16_set(bound), v16_set(lift), v16_set(s * lift * 0x1p-24f),
	                        lifts || bound < s};
}

/* Which of sixteen elements are sent; u in units of 2^-24. */
V16_FN v16m ternarise(v16f g, v16f u, const struct ternary *t, const bool careful)
{
	const v16f size = careful ? v16_mul(v16_min_abs(g, t->bound), t->lift) : v16_abs(g);
	return v16_gt_size(size, v16_mul(u, t->unit));
}

/* What is ternarised: elements in order, with the generator's numbers in order. */
struct source {
	const float *at;
	const void *grad;   /* of which the byte at ahead will be wanted soon, and so many bytes after it */
	size_t ahead, step; /* for each group */
	rng chance;
	struct ternary t;
};

/* Which of the next sixteen elements are sent, and these. */
V16_FN v16m next_sent(struct source *s, const bool careful, v16f *g)
{
	prefetch(s->grad, s->ahead);
	s->ahead += s->step;
	*g = v16_loadf(s->at);
	s->at += V16;
	return ternarise(*g, rng_next(&s->chance), &s->t, careful);
}

/* The digits of the elements up to end, which have one generator and one scaler. Five groups at once have a
 * loop of their own: beside a way for single ones AVX2's registers would not hold the generator. */
V16_FN void put_run(struct digits *out, struct source *source, const float *end, const bool careful)
{
	struct source s = *source;
	const bool fives = V16_LANES >= 8 && out->coding == TRITS;
	v16f g;
	while (s.at < end) {
		for (; fives && !out->groups && end - s.at >= TRITS_ELEMENTS; out->dst += V16) {
			v16b x = v16_no_trits();
			for (unsigned number = 0; number < 5; number++) {
				const v16m sent = next_sent(&s, careful, &g);
				x = v16_add_trit(x, number, sent, g);
			}
			put_sums(out->dst, x);
		}
		if (s.at == end)
			break;
		const v16m sent = next_sent(&s, careful, &g);
		digits_put(out, sent, g);
	}
	source->chance = s.chance;
}

/* Writes all but the digits to dst, and these, trits or bits, to digits; returns their bytes. */
V16_FN size_t pack_coding(struct crumb_packer *p, const void *grad, enum crumb_dtype type,
                          const unsigned coding, uint8_t *dst, uint8_t *digits)
{
	const float *value = p->codec.value;
	const size_t n = p->n, bucket = bucket_of(&p->codec, n), count = divide_up(n, bucket);
	const bool shared = value[TERNARY_SHARED] != 0;
	const float *const bounds = packer_floats(p), *const agreed = bounds + count;
	uint8_t *scaler = put_u32(put_u32(dst, (uint32_t)value[TERNARY_BUCKET]), 1);
	struct digits out = {digits, coding, 0, v16_no_trits()};
	/* The next bucket comes from memory while this one, which is in a cache, is computed. */
	const size_t next = v16_width(type) * bucket + PREFETCH_BYTES / 4;
	struct source s = {.grad = grad, .step = v16_width(type) * V16};
	float widened[WIDENED];
	const size_t most = type == CRUMB_F32 ? SUM_BLOCK : WIDENED;

	for (size_t b = 0, i = 0; b < count; b++) {
		const size_t end = n - i < bucket ? n : i + bucket;
		const struct scale own = shared ? (struct scale){bounds[b], agreed[b]}
		                                : scale_of(grad, type, i, end - i, value[TERNARY_CLIP]);
		s.t = ternary_of(own.bound, own.scaler);
		scaler = put_f32(scaler, own.scaler);
		for (size_t size; i < end; i += size) {
			size = end - i < most - i % most ? end - i : most - i % most;
			if (type == CRUMB_F32 && size > V16)
				size -= size % V16; /* what is left is widened */
			const size_t whole = V16 * divide_up(size, V16);
			if (i % SUM_BLOCK == 0)
				s.chance = rng_at(p->seed, p->step, i);
			s.ahead = v16_width(type) * i + (bucket > L2_ELEMENTS ? PREFETCH_BYTES
			                                 : end < n            ? next
			                                                      : 0);
			s.at = widened;
			if (type == CRUMB_F32 && size == whole)
				s.at = (const float *)grad + i;
			else
				v16_widen(widened, whole, type, grad, i, size);
			const float *const stop = s.at + whole;
			if (s.t.careful || V16_LANES < 8) /* short registers: one loop for both */
				put_run(&out, &s, stop, true);
			else
				put_run(&out, &s, stop, false);
		}
	}
	digits_end(&out);
	return (size_t)(out.dst - digits);
}

/* Returns the number of non-zero digits of n, which take two bits each, or more than most if there are more
 * than that. */
static size_t count_sent(const uint8_t *bits, size_t n, size_t most)
{
	enum { STRIDE = 4096 /* bytes between comparisons with most */ };
	const size_t size = digit_bytes(BITS, n);
	size_t count = 0;
	for (size_t i = 0, end; i < size && count <= most; i = end) {
		end = size - i < STRIDE ? size : i + STRIDE;
		for (; i < end; i += 4)
			count += (size_t)__builtin_popcount(get_u32(bits + i));
	}
	return count;
}

/* Replaces the two-bit codes at dst + before_bits(n) by the shortest of trits, gaps and blocks at dst, the
 * first of these if equal; sets the frame's flags and returns the size. In a long tensor gaps are not tried
 * if more than one element in sixteen is sent: they would take long and seldom be the shortest. */
static size_t code_bits(uint8_t *dst, size_t n, struct packed *out)
{
	uint8_t *const bits = dst + before_bits(n);
	const size_t most = n <= blocks_block(&ternary_codes) ? n : n / 16, count = count_sent(bits, n, most);
	const size_t trits = digit_bytes(TRITS, n);
	size_t gaps = trits;
	if (count <= most && count <= UINT32_MAX)
		gaps = crumb_golomb_of_map(dst, bits, n, count);
	/* Blocks may overwrite the codes, of which only trits are made, but not gaps. */
	uint8_t *const at = gaps < trits ? dst + golomb_room(n) : dst;
	const size_t blocks = blocks_encode(at, bits, n, &ternary_codes, BLOCKS_ENTROPY);
	if (blocks < gaps && blocks < trits) {
		out->flags |= TERNARY_BLOCKS;
		memmove(dst, at, blocks);
		return blocks;
	}
	if (gaps < trits) {
		out->flags |= TERNARY_GAPS;
		return gaps;
	}
	trits_of_bits(dst, bits, n);
	return trits;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	const size_t n = p->n, head = 8 + 4 * ternary_scalers((size_t)p->codec.value[TERNARY_BUCKET], n);
	const unsigned coding = (unsigned)p->codec.value[TERNARY_CODING];
	uint8_t *const digits = dst + head, *const at =
	                                            digits + (coding == TERNARY_ENTROPY ? before_bits(n) : 0);
	/* An agreed scaler says nothing of the elements; one that pack computes is infinite if one is
	 * unusable. */
	if (out->check && p->codec.value[TERNARY_SHARED] != 0 && !gradient_finite(grad, n, type))
		return UNUSABLE;
	const size_t size = coding == TRITS ? pack_coding(p, grad, type, TRITS, dst, at)
	                                    : pack_coding(p, grad, type, BITS, dst, at);
	if (!no_infinity(dst + 8, (head - 8) / 4))
		return UNUSABLE;
	out->flags = p->codec.value[TERNARY_SHARED] != 0 ? TERNARY_FLAG_SHARED : 0;
	if (coding == TERNARY_ENTROPY)
		return head + code_bits(digits, n, out);
	out->flags |= (uint16_t)coding;
	return head + size;
}

/* ---- agree: section 3.2's scaler sharing ---------------------------------------------------- */

static size_t agree_count(const struct crumb_packer *p)
{
	return p->codec.value[TERNARY_SHARED] != 0
	               ? ternary_scalers((size_t)p->codec.value[TERNARY_BUCKET], p->n)
	               : 0;
}

static void measure(struct crumb_packer *p, const void *grad, enum crumb_dtype type, float *stat)
{
	const size_t n = p->n, bucket = bucket_of(&p->codec, n);
	float *bounds = packer_floats(p);
	for (size_t b = 0, i = 0; i < n; b++, i += bucket) {
		const struct scale own = scale_of(grad, type, i, n - i < bucket ? n - i : bucket,
		                                  p->codec.value[TERNARY_CLIP]);
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

CODEC_INFO(terngrad, .id = 4, .flags = CRUMB_CODEC_RANDOM | CRUMB_CODEC_FIXED | CRUMB_CODEC_AGREES,
           .name = "terngrad",
           .brief = "-s, 0 or +s at random, its mean the clipped gradient (Wen et al. 2017)", .keys = 4,
           .key = {{"clip", "clip at so many standard deviations; 0: do not", 2.5f, 0, 100, 0, NULL},
                   {"bucket", "elements under one scaler, a multiple of 16; 0: the slice", 0, 0,
                    TERNARY_MOST_BUCKET, V16, NULL},
                   {"shared", "1: all learners agree on the scaler", 0, 0, 1, 1, CHOICES("0", "1")},
                   {"coding", "five trits a byte, two bits a trit, or what is shortest", TRITS, 0, 2, 1,
                    CHOICES("trits", "bits", "entropy")}});

const struct codec PER_ISA(terngrad) = {
        .info = &crumb_info_terngrad,
        .variable_width = TERNARY_VARIABLE_WIDTH,
        .checks_itself = true,
        .floats = floats,
        .bound = bound,
        .pack = pack,
        .check = ternary_check,
        .check_chunk = ternary_check_chunk,
        .unpack_add = ternary_unpack_add,
        .describe = ternary_describe,
        .agreement = &(const struct agreement){agree_count, measure, agree, NULL},
        .summing = &(const struct summing){ternary_sum_bound, ternary_sum},
};
