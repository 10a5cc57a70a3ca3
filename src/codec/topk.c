/* topk: a fixed share of the elements, the greatest; plus and minus are each worth their mean, or what is
 * sent is exact (Dryden et al., MLHPC 2016).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "select/kth.h"
#include "select/above.h"
#include "payload/sparse_signs.h"
#include <math.h>

enum { FRACTION, VALUE, CODING }; /* the keys */
enum { MEAN, EXACT };
enum { FLAG_EXACT = 2 };
/* Exact values are not coded. */
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

/* ---- candidates: the few that may be among the k greatest ------------------------------------ */

/* The numbers of elements and their values, or, where there is no room for both, one of them: values can be
 * looked up, which is slow. Where there are too many, those that cannot be among the k greatest are dropped.
 */
struct candidates {
	const float *r;
	uint8_t *number, *value;
	size_t room, count;
	size_t k;
	float from;  /* magnitudes below this are not candidates, */
	float least; /* but for some in a turn in which others were dropped, and none below this */
	size_t most; /* that there may be until some are dropped */
};

static struct floats values_of(const struct candidates *c)
{
	return c->value ? (struct floats){c->value, NULL, c->count}
	                : (struct floats){(const uint8_t *)c->r, c->number, c->count};
}

enum { LEAST_ROOM = 256, OWN_ROOM = 4096, SPARE = 64 };

/* How many groups of n elements are sampled: one in 64, or of few one in 16. */
static size_t sampled(size_t n, size_t room)
{
	enum { FEW = 256, MOST = 4096 };
	const size_t all = n / V16, few = all / 16 < FEW ? all / 16 : FEW,
	             wanted = all / 64 > few ? all / 64 : few,
	             fit = wanted < room / V16 ? wanted : room / V16;
	return fit < MOST ? fit : MOST;
}

/* A magnitude that k elements of r + grad reach, and some more, going by a sample; LEAST where that is too
 * small to tell. Sampled groups are not evenly spaced: tensors repeat. */
static float guess(const float *r, const void *grad, enum crumb_dtype type, size_t n,
                   const struct candidates *c)
{
	const size_t groups = sampled(n, c->room);
	if (!groups)
		return LEAST;
	/* Neighbours are alike, so a deviation is taken to be greater than that of independent draws. */
	const double all = (double)(V16 * groups), share = all * (double)c->k / (double)n,
	             wanted = (share + 6 * sqrt(share) + 4) / all;
	if (!(wanted < 1))
		return LEAST;
	/* More of the maxima of several groups reach a magnitude than of all, and there are fewer to choose
	 * from; but if they were too few, a row whose elements are great together would be many of them. */
	size_t fold = 1;
	double below = 1 - wanted;
	for (; 2 * fold <= groups && below * below > 0.9; fold *= 2)
		below *= below;
	uint8_t *const sample = c->value ? c->value : c->number;
	const size_t sets = groups / fold, step = n / (sets * fold), count = V16 * sets;
	for (size_t set = 0; set < sets; set++) {
		v16f most = v16_set(0);
		for (size_t g = set; g < sets * fold; g += sets) { /* from all over the tensor */
			const size_t i = g * step + (uint32_t)g * 0x9E3779B9u % (step - V16 + 1);
			most = v16_max_abs(v16_add(v16_loadf(r + i), v16_load(type, grad, i)), most);
		}
		float x[V16];
		v16_storef(x, most);
		memcpy(sample + sizeof x * set, x, sizeof x);
	}
	const size_t rank = (size_t)((1 - below) * (double)count);
	const float m = greatest(&(struct floats){sample, NULL, count}, rank, rank + rank / 4, 0);
	return m > LEAST ? m : LEAST;
}

/* Keeps those of magnitude m or more, in order. */
static __attribute__((noinline)) void keep_from(struct candidates *c, float m)
{
	const struct floats values = values_of(c);
	uint8_t *const numbers = c->number, *const kept = c->value;
	float room[SOME];
	size_t count = 0;
	for (size_t first = 0; first < values.count; first += SOME) {
		const uint8_t *const value = take(&values, first, room);
		const size_t n = some(&values, first);
		size_t j = 0;
#ifdef P_HAS_LIST
		for (; j + V16 <= n; j += V16) {
			const v16f x = v16_load(CRUMB_F32, value, j);
			const v16m in = v16_ge(v16_abs(x), v16_set(m));
			if (numbers)
				v16_list(numbers + 4 * count, in,
				         v16_bits_of(v16_load(CRUMB_F32, numbers, first + j)));
			if (kept)
				v16_list(kept + 4 * count, in, v16_bits_of(x));
			count += (size_t)__builtin_popcount(v16_bits(in));
		}
#endif
		for (; j < n; j++) { /* no branch that could be mispredicted */
			const float x = get_f32(value + 4 * j);
			if (numbers)
				put_u32(numbers + 4 * count, get_u32(numbers + 4 * (first + j)));
			if (kept)
				put_f32(kept + 4 * count, x);
			count += fabsf(x) >= m;
		}
	}
	c->count = count;
}

/* Drops candidates that cannot be among the k greatest; there are k or more. False if too little room is
 * left: dropping has to free a quarter of it, so that it stays rare. */
static __attribute__((noinline)) bool drop(struct candidates *c)
{
	const struct floats values = values_of(c);
	const size_t most = c->room / 4 * 3, near = c->k + c->k / 4;
	c->from = greatest(&values, c->k, near < most ? near : most, c->least);
	keep_from(c, c->from);
	c->most = 2 * c->count + SPARE;
	return c->count <= most;
}

/* Notes those shown of the group from element i on, of which left are there, behind count others; returns how
 * many there are then. */
static inline size_t note_group(const struct candidates *c, size_t i, uint32_t shown, size_t left,
                                size_t count)
{
#ifdef P_LISTS_QUICKLY
	static const uint32_t lane[V16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	if (left >= V16) {
		const v16m noted = v16_mask((uint16_t)shown);
		const v16i number = v16_addi(v16_seti((uint32_t)i), v16_loadi(lane));
		if (c->value)
			v16_list(c->value + 4 * count, noted, v16_bits_of(v16_loadf(c->r + i)));
		if (c->number)
			v16_list(c->number + 4 * count, noted, number);
		return count + (size_t)__builtin_popcount(shown);
	}
#else
	(void)left;
#endif
	const size_t all = count + (size_t)__builtin_popcount(shown);
	/* Two are noted, whether there is a second one or not: a branch on that would be mispredicted. */
	for (; shown; count += 2) {
		const uint32_t rest = shown & (shown - 1);
		const size_t at = i + v16_first_bit(shown),
		             next = i + v16_first_bit(rest | UINT64_C(1) << V16) % V16;
		if (c->value) {
			put_f32(c->value + 4 * count, c->r[at]);
			put_f32(c->value + 4 * (count + 1), c->r[next]);
		}
		if (c->number) {
			put_u32(c->number + 4 * count, (uint32_t)at);
			put_u32(c->number + 4 * (count + 1), (uint32_t)next);
		}
		shown = rest & (rest - 1);
	}
	return all;
}

/* Adds what is shown of the turn from element first on. False if there is too little room. */
static __attribute__((noinline)) bool add_candidates(struct candidates *c, size_t first,
                                                     const struct above *above)
{
	const float from = c->from;
	uint8_t some[ABOVE_GROUPS + V16];
	const size_t groups = above_groups(above, some);
	size_t count = c->count;
	for (size_t k = 0; k < groups; k++) {
		const size_t group = some[k], i = first + V16 * group;
		count = note_group(c, i, above->bits[group], above->end - i, count);
		if (count + V16 > c->room || count > c->most) {
			c->count = count;
			if (!drop(c))
				return false;
			/* The rest of the turn was shown by the bound from before. */
			c->least = from < c->from ? from : c->from;
			count = c->count;
		}
	}
	c->count = count;
	return true;
}

/* r += grad, and candidates of what is then of magnitude c->from or more. False if there is too little room.
 */
static bool add(float *r, const void *grad, enum crumb_dtype type, size_t n, struct candidates *c)
{
	struct above above;
	bool fits = c->room >= LEAST_ROOM && c->k <= c->room / 4 * 3;
	c->most = 2 * c->k + SPARE;
	for (size_t first = 0; first < n; first = above.end) {
		above_add(r, grad, type, first, n, c->from, &above);
		fits = fits && add_candidates(c, first, &above);
	}
	return fits;
}

/* ---- mean: one value for plus, one for minus ------------------------------------------------ */

struct side {
	double sum;
	size_t count;
};

V16_FN v16f group(const float *r, size_t i, size_t n)
{
	return n - i < V16 ? v16_loadf_partial(r + i, n - i) : v16_loadf(r + i);
}

/* The sums of the elements of r, times factor, that are at least m > 0 and at most -m. */
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
			ups = v16_add(ups, v16_and_mask(up, y));
			downs = v16_add(downs, v16_and_mask(down, y));
			plus->count += (size_t)__builtin_popcount(v16_bits(up));
			minus->count += (size_t)__builtin_popcount(v16_bits(down));
		}
		plus->sum += v16_sum_lanes(ups);
		minus->sum += v16_sum_lanes(downs);
	}
}

/* The same sums, to the bit, of candidates that are all sent. */
static void sides_of(const struct candidates *c, float factor, struct side *plus, struct side *minus)
{
	float lane[2][V16] = {{0}};
	size_t count[2] = {0, 0};
	*plus = *minus = (struct side){0, 0};
	for (size_t j = 0, block = 0; j <= c->count; j++) {
		const size_t i = j < c->count ? get_u32(c->number + 4 * j) : SIZE_MAX;
		if (i / SUM_BLOCK != block) {
			plus->sum += v16_sum_lanes(v16_loadf(lane[0]));
			minus->sum += v16_sum_lanes(v16_loadf(lane[1]));
			memset(lane, 0, sizeof lane);
			block = i / SUM_BLOCK;
		}
		if (j < c->count) {
			const float x = get_f32(c->value + 4 * j);
			lane[x < 0][i % V16] += x * factor;
			count[x < 0]++;
		}
	}
	plus->count = count[0];
	minus->count = count[1];
}

struct means {
	float plus, minus;
	size_t count; /* of elements */
};

static float mean(const struct side *side, double factor)
{
	return side->count ? (float)(side->sum / (double)side->count * factor) : 0;
}

/* Of candidates, unless c is NULL. */
static struct means means_of(const float *r, size_t n, float m, const struct candidates *c)
{
	struct side plus, minus;
	double factor = 1;
	for (;;) {
		if (c)
			sides_of(c, (float)(1 / factor), &plus, &minus);
		else
			sides(r, n, m, (float)(1 / factor), &plus, &minus);
		if (factor > 1 || (isfinite(plus.sum) && isfinite(minus.sum)))
			break;
		factor = 0x1p32;
	}
	return (struct means){mean(&plus, factor), mean(&minus, factor), plus.count + minus.count};
}

static size_t pack_mean(float *r, size_t n, float m, bool entropy, uint8_t *dst, uint16_t *flags)
{
	const struct means mean = means_of(r, n, m, NULL);
	const v16f t = v16_set(m), minus_t = v16_set(-m), ups = v16_set(mean.plus),
	           downs = v16_set(mean.minus);
	struct sparse_signs signs =
	        sparse_signs_open(put_f32(put_f32(dst, mean.plus), mean.minus), n, false, entropy);
	uint8_t *map = signs.map;
	for (size_t i = 0; i < n; i += V16) {
		const v16f x = group(r, i, n);
		const v16m up = v16_ge(x, t), down = v16_ge(minus_t, x);
		const v16f left = v16_sub(x, v16_pick(up, ups, v16_and_mask(down, downs)));
		map = put_u32(map, (uint32_t)sparse_signs_codes(v16_bits(up), v16_bits(down)));
		if (n - i < V16)
			v16_storef_partial(r + i, left, n - i);
		else
			v16_storef(r + i, left);
	}
	signs.count = mean.count;
	return 8 + sparse_signs_close(&signs, flags);
}

/* The same of candidates, which are fewer than the map has words. Their numbers, on their way, become the
 * list. */
static size_t pack_few(float *r, size_t n, float m, bool entropy, struct candidates *c, uint8_t *dst,
                       uint16_t *flags)
{
	enum { PREFETCH_ELEMENTS = 16 };
	keep_from(c, m);
	const struct means means = means_of(r, n, m, c);
	const float mean[2] = {means.plus, means.minus};
	for (size_t j = 0; j < c->count; j++) {
		const size_t i = get_u32(c->number + 4 * j);
		const float x = get_f32(c->value + 4 * j);
		__builtin_prefetch(
		        r + get_u32(c->number +
		                    4 * (j + PREFETCH_ELEMENTS < c->count ? j + PREFETCH_ELEMENTS : j)),
		        1);
		r[i] = x - mean[x < 0]; /* no branch */
		put_u32(c->number + 4 * j, (uint32_t)i << 1 | (x > 0));
	}
	uint8_t *const list = put_f32(put_f32(dst, mean[0]), mean[1]);
	return 8 + sparse_signs_close_list(list, c->number, n, c->count, entropy, flags);
}

/* ---- exact: numbers of 32 bits, and then their values --------------------------------------- */

/* All above m, which are so many, and of those that equal it the first ones, count together. */
static size_t pack_exact(float *r, size_t n, float m, size_t count, size_t above, uint8_t *dst)
{
	size_t equal = count - above;
	uint8_t *at = dst, *value = dst + 4 * count;
	for (size_t i = 0; i < n; i += V16) {
		uint32_t left = v16_bits(v16_ge(v16_abs(group(r, i, n)), v16_set(m)));
		if (n - i < V16) /* zeros reach m where subnormal numbers are taken for zeros */
			left &= v16_first(n - i);
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

/* Of candidates of magnitude m or more, drops the last that equal m, so that k are left. */
static __attribute__((noinline)) void drop_equal(struct candidates *c, float m, size_t k)
{
	const struct floats values = values_of(c);
	float room[SOME];
	size_t least, above, count = 0;
	rank(&values, m, &least, &above);
	for (size_t first = 0; first < values.count; first += SOME) {
		const uint8_t *const value = take(&values, first, room);
		for (size_t j = 0; j < some(&values, first); j++) {
			const float x = get_f32(value + 4 * j);
			if (fabsf(x) == m && above++ >= k)
				continue;
			put_u32(c->number + 4 * count, get_u32(c->number + 4 * (first + j)));
			if (c->value)
				put_f32(c->value + 4 * count, x);
			count++;
		}
	}
	c->count = count;
}

/* The same of candidates, whose numbers may stand at dst. */
static size_t pack_exact_few(float *r, float m, size_t k, struct candidates *c, uint8_t *dst)
{
	keep_from(c, m);
	if (c->count > k)
		drop_equal(c, m, k);
	const struct floats values = values_of(c);
	float room[SOME];
	memmove(dst, c->number, 4 * c->count);
	for (size_t first = 0; first < c->count; first += SOME) {
		const size_t here = some(&values, first);
		memcpy(dst + 4 * (c->count + first), take(&values, first, room), 4 * here);
		for (size_t j = first; j < first + here; j++)
			r[get_u32(dst + 4 * j)] = 0;
	}
	return 8 * c->count;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	const size_t n = p->n, k = kept(&p->codec, n);
	const bool exact = p->codec.value[VALUE] == EXACT,
	           entropy = p->codec.value[CODING] != SPARSE_SIGNS_PLAIN;
	float *r = packer_floats(p);
	uint32_t own[2][OWN_ROOM];
	struct candidates c = {.r = r, .k = k};
	if (exact && 2 * k <= OWN_ROOM) {
		c.room = OWN_ROOM;
		c.value = (uint8_t *)own[0];
		c.number = (uint8_t *)own[1];
	} else if (exact) {
		c.room = 2 * k;
		/* To look few values up takes less than to go over the residual for their elements. */
		if (k < n / 128)
			c.number = dst;
		else
			c.value = dst;
	} else if (n <= INT32_MAX) {
		c.room = sparse_signs_map_bytes(n) / 4;
		c.value = dst + 8;
		c.number = sparse_signs_map(dst + 8, n);
	}
	c.from = c.least = guess(r, grad, type, n, &c);
	const bool fits = add(r, grad, type, n, &c),
	           few = fits && (c.count >= k || c.from == LEAST); /* that is all that is not 0 */
	const struct floats all = {(const uint8_t *)r, NULL, n}, among = few ? values_of(&c) : all;
	const float kth = among.count < k ? 0 : greatest(&among, k, k, few ? c.least : 0);
	const float m = kth > 0 ? kth : LEAST; /* where fewer than k are not zero, all of these */
	if (exact) {
		out->flags = FLAG_EXACT;
		if (few && c.number)
			return pack_exact_few(r, m, k, &c, dst);
		size_t least, above;
		rank(&among, m, &least, &above);
		return pack_exact(r, n, m, least < k ? least : k, above, dst);
	}
	return few ? pack_few(r, n, m, entropy, &c, dst, &out->flags)
	           : pack_mean(r, n, m, entropy, dst, &out->flags);
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
		bad |= !isfinite(get_f32(value + 4 * i));
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
           .keys = 3,
           .key = {{"fraction", "share of the elements to send", 0.003f, 1e-6f, 0.5f, 0, NULL},
                   {"value", "mean: one value for plus, one for minus; exact: every value", MEAN, 0, 1, 1,
                    CHOICES("mean", "exact")},
                   {"coding", "plain: words or two bits an element; entropy: gaps between elements",
                    SPARSE_SIGNS_PLAIN, 0, 1, 1, sparse_signs_codings}});

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
