/* terngrad: every element becomes -s, 0 or +s at random, so that its expectation is the clipped gradient (Wen
 * et al., NeurIPS 2017). payload/ternary.c decodes and sums the frames.
 *
 * A scaler s serves a bucket, or the whole tensor. It is the learner's own or, with shared=1, the largest of
 * all learners'; frames of the same scalers can be summed without decoding (section 3.1).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "check/finite.h"
#include "coding/golomb.h"
#include "v16/rng.h"
#include "payload/ternary.h"
#include <math.h>

enum { WIDENED = 1024 }; /* elements that are converted to f32, or copied, at a time */

/* ---- buckets -------------------------------------------------------------------------------- */

static size_t bucket_of(const crumb_codec *codec, size_t n)
{
	const size_t bucket = (size_t)codec->value[TERNARY_BUCKET];
	return bucket ? bucket : n;
}

static size_t scalers_of(const crumb_codec *codec, size_t n)
{
	return ternary_scalers((size_t)codec->value[TERNARY_BUCKET], n);
}

/* Returns the floats of a packer: with shared=1 each bucket's clipping bound, then each bucket's agreed
 * scaler. */
static size_t floats(const crumb_codec *codec, size_t n)
{
	return codec->value[TERNARY_SHARED] != 0 ? 2 * scalers_of(codec, n) : 0;
}

/* With coding=entropy the bits are written first, at this offset from the payload's digits: after the room
 * for gaps and for the marks of blocks, which are then coded in place. */
static size_t before_bits(size_t n) { return golomb_room(n) + blocks_marks(&ternary_codes, n); }

static size_t bound(const crumb_codec *codec, size_t n)
{
	const unsigned coding = (unsigned)codec->value[TERNARY_CODING];
	const size_t digits =
	        coding == TERNARY_ENTROPY ? before_bits(n) + digit_bytes(BITS, n) : digit_bytes(coding, n);
	return 8 + 4 * scalers_of(codec, n) + digits;
}

/* ---- scaler: section 3.3's clipping and the maximum norm ------------------------------------ */

/* |g| is clipped at bound; scaler is the largest clipped magnitude. Both are infinite if an element is
 * unusable. */
struct scale {
	float bound, scaler;
};

/* Sums of d = g - pivot and of d * d, and the largest |g| (or NaN) of even and of odd groups: two dependency
 * chains instead of one. */
struct sums {
	v16f one, two, most[2];
};

/* Adds count f32, a multiple of two groups. */
V16_FN void sum_groups(struct sums *s, const float *g, size_t count, v16f pivot)
{
	for (const float *const end = g + count; g < end; g += 2 * V16)
		for (int odd = 0; odd < 2; odd++) {
			const v16f x = v16_streamf(g + V16 * odd), d = v16_sub(x, pivot);
			s->one = v16_add(s->one, d);
			s->two = v16_add(s->two, v16_mul(d, d));
			s->most[odd] = v16_max_abs_nan(x, s->most[odd]);
		}
}

/* Returns the scale of elements [first, first + m). The pivot, the first element, keeps the variance of
 * nearly equal elements accurate; that of equal ones is 0. */
static struct scale scale_of(const void *grad, enum crumb_dtype type, size_t first, size_t m, float clip)
{
	float widened[WIDENED], pivot[V16];
	v16_storef(pivot, v16_load_partial(type, grad, first, 1));
	const v16f zero = v16_set(0), middle = v16_set(pivot[0]);
	double sum[2] = {0, 0};
	struct sums s = {.most = {zero, zero}};
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
				widened[k] = pivot[0]; /* adds 0 to both sums */
			sum_groups(&s, widened, whole, middle);
		}
		sum[0] += v16_sum_lanes(s.one);
		sum[1] += v16_sum_lanes(s.two);
	}
	const v16f largest = v16_max_abs_nan(s.most[0], s.most[1]);
	if (!v16_usable(largest))
		return (struct scale){INFINITY, INFINITY};
	const float most = v16_max_lane(largest);
	const double mean = sum[0] / (double)m, variance = sum[1] / (double)m - mean * mean;
	const float at = variance > 0 && isfinite(variance) ? (float)(clip * sqrt(variance)) : 0;
	const bool clips = at > 0 && at < INFINITY;
	return (struct scale){clips ? at : INFINITY, clips && at < most ? at : most};
}

/* ---- digits --------------------------------------------------------------------------------- */

/* How the elements of a bucket become digits; unit = s * lift / 2^24. */
struct ternary {
	v16f bound, lift, unit;
	bool careful;
};

/* A product u * s exceeds the clipping bound only if an agreed s does; otherwise clipping decides nothing and
 * is left out. In the smallest binades the product would be too coarse, so lift, a power of two, scales s and
 * the gradient up. Both are careful. */
V16_FN struct ternary ternary_of(float bound, float s)
{
	const bool lifts = s < 0x1p-100f;
	const float lift = lifts ? 0x1p64f : 1;
	return (struct ternary){v16_set(bound), v16_set(lift), v16_set(s * lift * 0x1p-24f),
	                        lifts || bound < s};
}

/* Returns which of sixteen elements are sent; u in units of 2^-24. */
V16_FN v16m ternarise(v16f g, v16f u, const struct ternary *t, const bool careful)
{
	const v16f size = careful ? v16_mul(v16_min_abs(g, t->bound), t->lift) : v16_abs(g);
	return v16_gt_size(size, v16_mul(u, t->unit));
}

/* Elements in order, with the generator of their random numbers. */
struct source {
	const float *at;
	const void *grad;             /* base of the prefetches */
	size_t distance, group_bytes; /* from grad to the next prefetch; bytes of a group of grad */
	rng chance;
	struct ternary t;
};

/* Loads the next sixteen elements to *g and returns which of them are sent. */
V16_FN v16m next_sent(struct source *s, const bool careful, v16f *g)
{
	prefetch(s->grad, s->distance);
	s->distance += s->group_bytes;
	*g = v16_loadf(s->at);
	s->at += V16;
	return ternarise(*g, rng_next(&s->chance), &s->t, careful);
}

/* Writes the digits of the elements up to end, which have one generator and one scaler. Blocks of trits have
 * a loop of their own because of register pressure: with AVX2 the loop of single groups spills the generator.
 */
V16_FN void put_digits(struct digit_writer *out, struct source *source, const float *end, const bool careful)
{
	struct source s = *source;
	const bool blocks = V16_LANES >= 8 && out->coding == TRITS;
	v16f g;
	while (s.at < end) {
		for (; blocks && !out->groups && end - s.at >= TRITS_ELEMENTS; out->dst += V16) {
			v16b x = v16_no_trits();
			for (unsigned number = 0; number < 5; number++) {
				const v16m sent = next_sent(&s, careful, &g);
				x = v16_add_trit(x, number, sent, g);
			}
			store_sums(out->dst, x);
		}
		if (s.at == end)
			break;
		const v16m sent = next_sent(&s, careful, &g);
		digits_put(out, sent, g);
	}
	source->chance = s.chance;
}

/* Writes the head and scalers to dst, and the digits, trits or bits, to digits; returns the digits' bytes. */
V16_FN size_t pack_coding(struct crumb_packer *p, const void *grad, enum crumb_dtype type,
                          const unsigned coding, uint8_t *dst, uint8_t *digits)
{
	const float *value = p->codec.value;
	const size_t n = p->n, bucket = bucket_of(&p->codec, n), count = divide_up(n, bucket);
	const bool shared = value[TERNARY_SHARED] != 0;
	const float *const bounds = packer_floats(p), *const agreed = bounds + count;
	uint8_t *scaler = put_u32(put_u32(dst, (uint32_t)value[TERNARY_BUCKET]), 1);
	struct digit_writer out = {digits, coding, 0, v16_no_trits()};
	struct source s = {.grad = grad, .group_bytes = v16_width(type) * V16};
	float widened[WIDENED];
	const size_t chunk = type == CRUMB_F32 ? SUM_BLOCK : WIDENED;

	for (size_t b = 0, i = 0; b < count; b++) {
		const size_t end = n - i < bucket ? n : i + bucket;
		const struct scale own = shared ? (struct scale){bounds[b], agreed[b]}
		                                : scale_of(grad, type, i, end - i, value[TERNARY_CLIP]);
		s.t = ternary_of(own.bound, own.scaler);
		scaler = put_f32(scaler, own.scaler);
		/* scale_of has left a bucket in L2, if it fits: the next one is prefetched. */
		const size_t distance = bucket > L2_ELEMENTS ? PREFETCH_BYTES
		                        : end < n            ? v16_width(type) * bucket + PREFETCH_BYTES / 4
		                                             : 0;
		for (size_t size; i < end; i += size) {
			size = end - i < chunk - i % chunk ? end - i : chunk - i % chunk;
			if (type == CRUMB_F32 && size > V16)
				size -= size % V16; /* a partial group is copied to widened */
			const size_t whole = V16 * divide_up(size, V16);
			if (i % SUM_BLOCK == 0)
				s.chance = rng_at(p->seed, p->step, i);
			s.distance = v16_width(type) * i + distance;
			s.at = widened;
			if (type == CRUMB_F32 && size == whole)
				s.at = (const float *)grad + i;
			else
				v16_widen(widened, whole, type, grad, i, size);
			const float *const stop = s.at + whole;
			if (s.t.careful || V16_LANES < 8) /* narrow registers: one loop is enough */
				put_digits(&out, &s, stop, true);
			else
				put_digits(&out, &s, stop, false);
		}
	}
	digits_end(&out);
	return (size_t)(out.dst - digits);
}

/* Replaces the two-bit codes at dst + before_bits(n) by the shortest of trits, gaps and blocks at dst, the
 * first of these if equal; sets the frame's flags and returns the size. In a long tensor gaps are not tried
 * if more than one element in sixteen is sent: they would take long and seldom be the shortest. */
static size_t code_bits(uint8_t *dst, size_t n, struct packed *out)
{
	uint8_t *const bits = dst + before_bits(n);
	const size_t trits = digit_bytes(TRITS, n), most = n <= blocks_block(&ternary_codes) ? n : n / 16;
	size_t gaps = trits, count = 0;
	for (size_t i = 0; i < digit_bytes(BITS, n); i += 4)
		count += (size_t)__builtin_popcount(get_u32(bits + i));
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
	const size_t n = p->n, head = 8 + 4 * scalers_of(&p->codec, n);
	const unsigned coding = (unsigned)p->codec.value[TERNARY_CODING];
	const bool entropy = coding == TERNARY_ENTROPY, shared = p->codec.value[TERNARY_SHARED] != 0;
	uint8_t *const digits = dst + head, *const at = entropy ? digits + before_bits(n) : digits;
	/* A scaler computed here is infinite if an element is unusable; an agreed one says nothing of the
	 * elements. */
	if (out->check && shared && !gradient_finite(grad, n, type))
		return UNUSABLE;
	const size_t size = coding == TRITS ? pack_coding(p, grad, type, TRITS, dst, at)
	                                    : pack_coding(p, grad, type, BITS, dst, at);
	if (!no_infinity(dst + 8, (head - 8) / 4))
		return UNUSABLE;
	out->flags = shared ? TERNARY_FLAG_SHARED : 0;
	if (entropy)
		return head + code_bits(digits, n, out);
	out->flags |= (uint16_t)coding;
	return head + size;
}

/* ---- agree: section 3.1's scaler sharing ---------------------------------------------------- */

static size_t agree_count(const struct crumb_packer *p)
{
	return p->codec.value[TERNARY_SHARED] != 0 ? scalers_of(&p->codec, p->n) : 0;
}

static bool packer_ok(const struct crumb_packer *p)
{
	const float *const x = (const float *)(p + 1);
	const size_t count = floats(&p->codec, p->n);
	bool good = true;
	for (size_t i = 0; i < count; i++)
		good = good && usable(x[i]) && !signbit(x[i]);
	return good;
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
           .key = {{"clip", "clip at this many standard deviations; 0: do not clip", 2.5f, 0, 100, 0, NULL},
                   {"bucket", "elements under one scaler, a multiple of 16; 0: the slice", 0, 0,
                    TERNARY_MAX_BUCKET, V16, NULL},
                   {"shared", "1: all learners agree on the scaler", 0, 0, 1, 1, CHOICES("0", "1")},
                   {"coding", "five trits a byte, two bits a trit, or the shortest coding", TRITS, 0, 2, 1,
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
        .agreement = &(const struct agreement){agree_count, measure, agree, packer_ok},
        .summing = &(const struct summing){ternary_sum_bound, ternary_sum},
};
