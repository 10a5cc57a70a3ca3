/* topk: a fixed share of the elements, those of the largest magnitudes; plus and minus are each worth their
 * mean, or the values that are sent are exact (Dryden et al., MLHPC 2016).
 *
 * The k elements are selected in the pass over memory that adds the gradient:
 *
 * 1. A sample of |r + g| gives a cutoff that somewhat more than k elements should reach (estimate_cutoff).
 * 2. Chunk after chunk, the gradient is added and the elements that reach the cutoff are collected
 * (select/above.h). Whenever the candidates are more than twice k, or nearly all there is room for, the k-th
 * largest of them becomes the cutoff, and the smaller ones are dropped (raise_cutoff).
 * 3. The k-th largest magnitude of the candidates (select/kth.h) is that of the tensor, since all other
 * elements are below the cutoff, and at least k candidates are not below it.
 * 4. The frame of means is made of the candidates alone; that of exact values takes a second pass.
 *
 * If the sample was wrong, so that fewer than k elements are found or more than there is room for, the k-th
 * largest is selected from the whole residual, which takes several passes. The frame is the same to the byte.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "payload/sparse_signs.h"
#include "select/above.h"
#include "select/kth.h"
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

/* ---- candidates: elements that may be among the k largest ------------------------------------ */

/* Nothing is allocated: the frame's memory holds first the sample, then the candidates, and at last the
 * payload. */
struct candidates {
	uint8_t *value;  /* f32, not aligned */
	uint8_t *number; /* u32; NULL for exact values, which need none */
	size_t room, count;
	size_t k;     /* elements to send */
	size_t most;  /* the cutoff is raised when count is larger */
	float cutoff; /* smaller magnitudes are not collected */
};

/* MIN_ROOM: with room for fewer candidates none are collected. STACK_ROOM: candidates on the stack, for exact
 * values if the frame has little room. SPARE: candidates beyond twice k before the cutoff is raised, so that
 * a small k raises it rarely. */
enum { MIN_ROOM = 256, STACK_ROOM = 4096, SPARE = 64 };

/* Returns how many groups to sample: one in 64, or one in 16 up to LEAST groups; at most MOST, and what fits
 * the room. */
static size_t sampled(size_t n, size_t room)
{
	enum { LEAST = 256, MOST = 4096 };
	const size_t all = n / V16, least = all / 16 < LEAST ? all / 16 : LEAST,
	             wanted = all / 64 > least ? all / 64 : least,
	             fit = wanted < room / V16 ? wanted : room / V16;
	return fit < MOST ? fit : MOST;
}

/* Returns a magnitude that, judging by a sample, somewhat more than k elements of r + grad reach;
 * MIN_MAGNITUDE if the sample would be too small. Sampled groups are not evenly spaced, since a tensor with a
 * period could put all even samples in one column. */
static float estimate_cutoff(const float *r, const void *grad, enum crumb_dtype type, size_t n,
                             const struct candidates *c)
{
	const size_t groups = sampled(n, c->room);
	if (!groups)
		return MIN_MAGNITUDE;
	/* Neighbours are correlated: the deviation is taken to be larger than of independent samples. */
	const double all = (double)(V16 * groups), expected = all * (double)c->k / (double)n,
	             wanted = (expected + 6 * sqrt(expected) + 4) / all;
	if (!(wanted < 1))
		return MIN_MAGNITUDE;
	/* Selection is faster among maxima of several samples each. If a fraction `below` of the samples is
	 * below the cutoff, below^per_max of the maxima are. Enough maxima are kept that one row of large
	 * elements is not most of those above the cutoff. */
	size_t per_max = 1;
	double below = 1 - wanted;
	for (; 2 * per_max <= groups && below * below > 0.9; per_max *= 2)
		below *= below;
	const size_t max_groups = groups / per_max, step = n / (max_groups * per_max),
	             maxima = V16 * max_groups;
	for (size_t j = 0; j < max_groups; j++) {
		v16f max = v16_set(0);
		for (size_t g = j; g < max_groups * per_max; g += max_groups) { /* from all over the tensor */
			const size_t i = g * step + (uint32_t)g * 0x9E3779B9u % (step - V16 + 1);
			max = v16_max_abs(v16_add(v16_loadf(r + i), v16_load(type, grad, i)), max);
		}
		float x[V16];
		v16_storef(x, max);
		memcpy(c->value + sizeof x * j, x, sizeof x);
	}
	const float cutoff = kth_magnitude(c->value, maxima, (size_t)((1 - below) * (double)maxima));
	return cutoff > MIN_MAGNITUDE ? cutoff : MIN_MAGNITUDE;
}

/* Drops the candidates of magnitude below threshold; the others stay in order. */
static void drop_below(struct candidates *c, float threshold)
{
	uint8_t *const value = c->value, *const number = c->number;
	const size_t all = c->count;
	size_t count = 0;
	for (size_t j = 0; j < all; j++) { /* no branch that could be mispredicted */
		const float x = get_f32(value + 4 * j);
		put_f32(value + 4 * count, x);
		if (number)
			put_u32(number + 4 * count, get_u32(number + 4 * j));
		count += fabsf(x) >= threshold;
	}
	c->count = count;
}

/* Raises the cutoff to the k-th largest of k or more candidates and drops those below it. Returns false if
 * that leaves less than a quarter of the room free: the cutoff would be raised too often. */
static bool raise_cutoff(struct candidates *c)
{
	c->cutoff = kth_magnitude(c->value, c->count, c->k);
	drop_below(c, c->cutoff);
	c->most = 2 * c->count + SPARE;
	return c->count <= c->room / 4 * 3;
}

/* Collects the elements of the chunk from element first on that `above` marks. A candidate may be below the
 * cutoff, if that was raised within the chunk. Returns false if there is too little room. */
static bool collect(struct candidates *c, const float *r, size_t first, const struct above *above)
{
	uint8_t number[ABOVE_GROUPS + V16];
	const size_t groups = above_groups(above, number);
	size_t count = c->count;
	for (size_t k = 0; k < groups; k++) {
		for (uint32_t bits = above->bits[number[k]]; bits; bits &= bits - 1, count++) {
			const size_t i = first + (size_t)V16 * number[k] + v16_first_bit(bits);
			put_f32(c->value + 4 * count, r[i]);
			if (c->number)
				put_u32(c->number + 4 * count, (uint32_t)i);
		}
		if (count + V16 > c->room || count > c->most) {
			c->count = count;
			if (!raise_cutoff(c))
				return false;
			count = c->count;
		}
	}
	c->count = count;
	return true;
}

/* r += grad, and collects candidates. Returns false if there is too little room for them. */
static bool add(float *r, const void *grad, enum crumb_dtype type, size_t n, struct candidates *c)
{
	struct above above;
	bool fits = c->room >= MIN_ROOM && c->k <= c->room / 4 * 3;
	c->most = 2 * c->k + SPARE;
	for (size_t first = 0; first < n; first = above.end) {
		above_add(r, grad, type, first, n, c->cutoff, &above);
		fits = fits && collect(c, r, first, &above);
	}
	return fits;
}

/* ---- mean: one value for plus, one for minus ------------------------------------------------ */

/* Sums and counts of the elements that are sent: [0] of plus, [1] of minus. */
struct sides {
	double sum[2];
	size_t count[2];
};

V16_FN v16f group(const float *r, size_t i, size_t n)
{
	return n - i < V16 ? v16_loadf_partial(r + i, n - i) : v16_loadf(r + i);
}

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
			const v16f x = group(r, k, end), y = v16_mul(x, by);
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
static struct sides sides_of_candidates(const struct candidates *c, float factor)
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
static void means_of(const float *r, size_t n, float threshold, const struct candidates *c, float mean[2])
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
		const size_t rest = n - i < V16 ? n - i : V16;
		const v16f x = group(r, i, n);
		const v16m up = v16_ge(x, t), down = v16_ge(minus_t, x);
		/* With flush-to-zero a subnormal threshold is 0, which zeros reach as plus and as minus, even
		 * those of unused lanes. */
		const uint32_t ups = v16_bits(up) & v16_first(rest),
		               downs = v16_bits(down) & v16_first(rest) & ~ups;
		map = put_u32(map, (uint32_t)sparse_signs_codes(ups, downs));
		signs.count += (size_t)__builtin_popcount(ups | downs);
		const v16f left = v16_sub(x, v16_pick(up, plus, v16_and_mask(down, minus)));
		if (rest < V16)
			v16_storef_partial(r + i, left, rest);
		else
			v16_storef(r + i, left);
	}
	return 8 + sparse_signs_close(&signs, flags);
}

/* Sends the candidates of magnitude threshold or more; they are fewer than the map's words, so their numbers
 * serve as the list. */
static size_t pack_candidates(float *r, size_t n, float threshold, bool entropy, struct candidates *c,
                              uint8_t *dst, uint16_t *flags)
{
	enum { PREFETCH_ELEMENTS = 16 };
	float mean[2];
	drop_below(c, threshold);
	means_of(r, n, threshold, c, mean);
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

/* ---- exact: element numbers of 32 bits, and then the values --------------------------------- */

/* Sends count elements: the `above` elements that are larger than threshold, and the first ones of those that
 * equal it. */
static size_t pack_exact(float *r, size_t n, float threshold, size_t count, size_t above, uint8_t *dst)
{
	size_t equal = count - above;
	uint8_t *number = dst, *value = dst + 4 * count;
	for (size_t i = 0; i < n; i += V16) {
		uint32_t bits = v16_bits(v16_ge(v16_abs(group(r, i, n)), v16_set(threshold)));
		if (n - i < V16) /* as in pack_all */
			bits &= v16_first(n - i);
		for (; bits; bits &= bits - 1) {
			const size_t e = i + (size_t)__builtin_ctz(bits);
			if (fabsf(r[e]) == threshold) {
				if (equal == 0)
					continue;
				equal--;
			}
			number = put_u32(number, (uint32_t)e);
			value = put_f32(value, r[e]);
			r[e] = 0;
		}
	}
	return 8 * count;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	const size_t n = p->n, k = kept(&p->codec, n);
	const bool exact = p->codec.value[VALUE] == EXACT,
	           entropy = p->codec.value[CODING] != SPARSE_SIGNS_PLAIN;
	float *r = packer_floats(p);
	uint8_t stack[4 * STACK_ROOM];
	struct candidates c = {.k = k};
	if (exact) {
		c.room = 2 * k <= STACK_ROOM ? STACK_ROOM : 2 * k;
		c.value = 2 * k <= STACK_ROOM ? stack : dst;
	} else if (n <= INT32_MAX) { /* a word of the list has 31 bits for the element's number */
		c.room = sparse_signs_map_bytes(n) / 4;
		c.value = dst + 8;
		c.number = sparse_signs_map(dst + 8, n);
	}
	c.cutoff = estimate_cutoff(r, grad, type, n, &c);
	/* At a cutoff of MIN_MAGNITUDE all elements that are not 0 are candidates. */
	const bool enough = add(r, grad, type, n, &c) && (c.count >= k || c.cutoff == MIN_MAGNITUDE);
	const uint8_t *const x = enough ? c.value : (const uint8_t *)r;
	const size_t count = enough ? c.count : n;
	const float kth = count < k ? 0 : kth_magnitude(x, count, k);
	/* If fewer than k elements are not 0, all of these are sent. */
	const float threshold = kth > 0 ? kth : MIN_MAGNITUDE;
	if (exact) {
		size_t reach, above;
		count_ranks(x, count, threshold, &reach, &above);
		out->flags = FLAG_EXACT;
		return pack_exact(r, n, threshold, reach < k ? reach : k, above, dst);
	}
	return enough ? pack_candidates(r, n, threshold, entropy, &c, dst, &out->flags)
	              : pack_all(r, n, threshold, entropy, dst, &out->flags);
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

static size_t unpack_add(const struct frame *frame, const float *weight, size_t count, float *acc,
                         size_t first, size_t end)
{
	(void)count;
	if (!(frame->flags & FLAG_EXACT)) {
		const float plus = *weight * get_f32(frame->payload),
		            minus = *weight * get_f32(frame->payload + 4);
		sparse_signs_add(frame->payload + 8, frame->size - 8, frame->n,
		                 sparse_signs_form(frame->flags), plus, minus, acc, first, end);
		return 1;
	}
	const size_t all = frame->size / 8, stop = sparse_signs_search(frame->payload, all, end);
	for (size_t i = sparse_signs_search(frame->payload, stop, first); i < stop; i++)
		acc[get_u32(frame->payload + 4 * i)] += *weight * get_f32(frame->payload + 4 * (all + i));
	return 1;
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
                    SPARSE_SIGNS_PLAIN, 0, 1, 1, sparse_signs_codings},
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
