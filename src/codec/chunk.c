/* chunk: of every chunk of the tensor the elements of the greatest magnitudes, their values rounded to the
 * means of a few bins, or exact (SparseLoCo: Sarfi et al. 2025; chunks: DeMo, Peng et al. 2024).
 *
 * A chunk's elements are selected while it is in L1 or L2:
 *
 * 1. The pass that adds the gradient leaves maxima, each of several elements. At least k elements reach the
 * k-th greatest maximum, and not many more do, if there are several times k maxima.
 * 2. The elements that reach it are candidates, and the k-th greatest of their magnitudes is the chunk's. If
 * candidates are too many, it is selected from the whole chunk.
 * 3. The elements that reach that are appended to a list of the tensor's.
 *
 * Then the list is quantised, and written as gaps.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "coding/golomb.h"
#include "select/greatest.h"
#include <math.h>

enum { CHUNK, KEEP, BITS }; /* the keys */
enum { EXACT = GOLOMB_EXACT, MOST_BITS = 8, MOST_LEVELS = 1 << MOST_BITS };

/* Sums of residual and gradient are limited to it: rounding to a bin's mean may double a residual. */
#define LIMIT 0x1p124f

/* The width of all bins together, in standard deviations of the values that are sent. */
enum { RANGE = 6 };

static bool is_width(size_t bits) { return bits == EXACT || (bits >= 2 && bits <= MOST_BITS); }
static size_t levels_of(size_t bits) { return bits == EXACT ? 0 : (size_t)1 << bits; }
static size_t head_bytes(size_t bits) { return 1 + 4 * levels_of(bits); }

static bool accepts(const crumb_codec *codec)
{
	return codec->value[KEEP] <= codec->value[CHUNK] && is_width((size_t)codec->value[BITS]);
}

/* Returns how many elements a chunk of size elements keeps, at most. */
static size_t kept_of(const crumb_codec *codec, size_t size)
{
	const size_t k = (size_t)codec->value[KEEP] * size / (size_t)codec->value[CHUNK];
	return k ? k : 1;
}

static size_t most_kept(const crumb_codec *codec, size_t n)
{
	const size_t chunk = (size_t)codec->value[CHUNK], whole = n / chunk, rest = n % chunk;
	return whole * kept_of(codec, chunk) + (rest ? kept_of(codec, rest) : 0);
}

static size_t room(const crumb_codec *codec, size_t n)
{
	const size_t bits = (size_t)codec->value[BITS];
	return head_bytes(bits) + crumb_golomb_codes_room(n, most_kept(codec, n), (unsigned)bits);
}

/* The payload, and after its room the list, two words for each element that is kept. */
static size_t bound(const crumb_codec *codec, size_t n)
{
	return n <= UINT32_MAX ? room(codec, n) + 8 * most_kept(codec, n) : 0;
}

/* ---- select --------------------------------------------------------------------------------- */

/* The elements that are sent, in order: numbers of 32 bits, and f32 that become codes. */
struct list {
	uint8_t *number, *value;
	size_t count;
};

enum { MAXIMA = 256, CANDIDATES = 1024 };

/* r += grad for a chunk. Returns the number of maxima: each is of elements a multiple of MAXIMA apart. */
V16_FN size_t add_type(float *r, const void *grad, const enum crumb_dtype type, size_t first, size_t size,
                       float maxima[MAXIMA])
{
	const v16f most = v16_set(LIMIT), least = v16_set(-LIMIT);
	for (size_t i = 0; i < size; i += V16) {
		const size_t rest = size - i < V16 ? size - i : V16, at = first + i;
		float *const to = maxima + i % MAXIMA;
		v16f x;
		if (rest == V16) {
			x = v16_add(v16_streamf(r + at), v16_stream(type, grad, at));
			x = v16_min(v16_max(x, least), most);
			v16_storef(r + at, x);
		} else {
			x = v16_add(v16_loadf_partial(r + at, rest), v16_load_partial(type, grad, at, rest));
			x = v16_min(v16_max(x, least), most);
			v16_storef_partial(r + at, x, rest);
		}
		v16_storef(to, i < MAXIMA ? v16_abs(x) : v16_max_abs(x, v16_loadf(to)));
	}
	return size < MAXIMA ? divide_up(size, V16) * V16 : MAXIMA;
}

static size_t add(float *r, const void *grad, enum crumb_dtype type, size_t first, size_t size,
                  float maxima[MAXIMA])
{
#define ADD(TYPE) return add_type(r, grad, TYPE, first, size, maxima)
	V16_BY_TYPE(type, ADD);
}

/* Copies the elements of the chunk that reach least > 0. Returns how many there are; more than CANDIDATES if
 * there may be more. */
static size_t candidates_of(const float *x, size_t size, uint32_t least, uint32_t number[CANDIDATES],
                            float value[CANDIDATES])
{
	enum { GROUPS = 256 };
	const v16i threshold = v16_seti(least);
	size_t count = 0;
	for (size_t first = 0; first < size; first += V16 * GROUPS) {
		uint16_t bits[GROUPS], some[GROUPS];
		size_t groups = 0;
		for (size_t i = first, g = 0; i < size && g < GROUPS; i += V16, g++) {
			bits[g] = (uint16_t)~v16_bits(v16_lti(greatest_load(x, i, size), threshold));
			some[groups] = (uint16_t)g; /* no branch that could be mispredicted */
			groups += bits[g] != 0;
		}
		for (size_t k = 0; k < groups; k++) {
			if (count + V16 > CANDIDATES)
				return CANDIDATES + 1;
			for (uint32_t left = bits[some[k]]; left; left &= left - 1, count++) {
				const size_t i = first + V16 * some[k] + v16_first_bit(left);
				number[count] = (uint32_t)i;
				value[count] = x[i];
			}
		}
	}
	return count;
}

/* Appends an element if its magnitude has bits above kth, or equal to it and equal ones are still wanted. */
static inline void append(struct list *list, uint32_t number, float value, uint32_t kth, size_t *equal)
{
	const uint32_t size = bits_of_float(value) & 0x7FFFFFFF;
	if (size < kth || (size == kth && !*equal))
		return;
	*equal -= size == kth;
	put_u32(list->number + 4 * list->count, number);
	put_f32(list->value + 4 * list->count++, value);
}

/* Appends the k elements of the greatest magnitudes, the first of equal ones, but none that is 0, of the
 * chunk that begins at element first. Each of count maxima is of other elements than the rest. */
static void append_greatest(struct list *list, const float *r, size_t first, size_t size, size_t k,
                            const float *maxima, size_t count)
{
	enum { COARSE = 18 }; /* the last bit that is looked for among the maxima */
	uint32_t number[CANDIDATES];
	float value[CANDIDATES];
	const float *const x = r + first;
	const uint32_t coarse = k <= count ? greatest_kth(maxima, count, k, COARSE) : 0;
	const size_t found = coarse ? candidates_of(x, size, coarse, number, value) : CANDIDATES + 1;
	const bool few = found <= CANDIDATES;
	const float *const of = few ? value : x;
	const size_t all = few ? found : size;
	const uint32_t greatest = greatest_kth(of, all, k, 0), kth = greatest ? greatest : 1;
	const size_t above = greatest_reach(of, all, kth + 1);
	size_t equal = above < k ? k - above : 0;
	for (size_t j = 0; j < all; j++)
		append(list, (uint32_t)(first + (few ? number[j] : j)), of[j], kth, &equal);
}

/* ---- quantise ------------------------------------------------------------------------------- */

/* Turns the list's values into codes, and sets each code's level, the mean of its values. Sums are of double:
 * nothing overflows. */
static void quantise(struct list *list, size_t bits, float level[MOST_LEVELS])
{
	const size_t levels = levels_of(bits), count = list->count;
	double sum = 0, squares = 0, of_level[MOST_LEVELS] = {0};
	size_t times[MOST_LEVELS] = {0};
	for (size_t j = 0; j < count; j++)
		sum += (double)get_f32(list->value + 4 * j);
	const double mean = sum / (double)count;
	for (size_t j = 0; j < count; j++) {
		const double d = (double)get_f32(list->value + 4 * j) - mean;
		squares += d * d;
	}
	const double deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0,
	             width = deviation > 0 ? RANGE * deviation / (double)levels : 1,
	             middle = (double)levels / 2 + 0.5, last = (double)(levels - 1);
	for (size_t j = 0; j < count; j++) {
		const double x = (double)get_f32(list->value + 4 * j), place = (x - mean) / width + middle;
		const size_t code = place > 0 ? (size_t)(place < last ? place : last) : 0;
		of_level[code] += x;
		times[code]++;
		put_u32(list->value + 4 * j, (uint32_t)code);
	}
	for (size_t code = 0; code < levels; code++)
		level[code] = times[code] ? (float)(of_level[code] / (double)times[code]) : 0;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	(void)out;
	const size_t n = p->n, chunk = (size_t)p->codec.value[CHUNK], bits = (size_t)p->codec.value[BITS];
	enum { PREFETCH_ELEMENTS = 64 };
	float *const r = packer_floats(p), level[MOST_LEVELS], maxima[MAXIMA];
	uint8_t *const behind = dst + room(&p->codec, n);
	struct list list = {behind, behind + 4 * most_kept(&p->codec, n), 0};
	for (size_t first = 0; first < n; first += chunk) {
		const size_t size = n - first < chunk ? n - first : chunk,
		             count = add(r, grad, type, first, size, maxima);
		append_greatest(&list, r, first, size, kept_of(&p->codec, size), maxima, count);
	}
	uint8_t *at = dst;
	*at++ = (uint8_t)bits;
	if (bits != EXACT)
		quantise(&list, bits, level);
	for (size_t j = 0; j < levels_of(bits); j++)
		at = put_f32(at, level[j]);
	for (size_t j = 0; j < list.count; j++) {
		const size_t later = j + PREFETCH_ELEMENTS < list.count ? j + PREFETCH_ELEMENTS : j;
		const uint32_t e = get_u32(list.number + 4 * j);
		__builtin_prefetch(r + get_u32(list.number + 4 * later), 1);
		r[e] = bits == EXACT ? 0 : r[e] - level[get_u32(list.value + 4 * j)];
	}
	at += crumb_golomb_of_codes(at, list.number, list.value, (unsigned)bits, n, list.count);
	return (size_t)(at - dst);
}

/* ---- frames --------------------------------------------------------------------------------- */

static struct golomb_values values_of(const struct frame *frame)
{
	const size_t head = head_bytes(frame->payload[0]);
	return (struct golomb_values){frame->payload + head, frame->size - head, frame->n, frame->payload[0]};
}

static bool check(const struct frame *frame, struct part *part)
{
	if (frame->flags || frame->n > UINT32_MAX || !frame->size || !is_width(frame->payload[0]) ||
	    frame->size < head_bytes(frame->payload[0]))
		return false;
	for (size_t j = 0; j < levels_of(frame->payload[0]); j++)
		if (!isfinite(get_f32(frame->payload + 1 + 4 * j)))
			return false;
	const struct golomb_values values = values_of(frame);
	return !part_leads(part, frame) || crumb_golomb_check_values(&values);
}

/* Sets the levels, times weight. */
static void levels_times(const struct frame *frame, float weight, float level[MOST_LEVELS])
{
	for (size_t j = 0; j < levels_of(frame->payload[0]); j++)
		level[j] = weight * get_f32(frame->payload + 1 + 4 * j);
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	const struct golomb_values values = values_of(frame);
	float level[MOST_LEVELS];
	levels_times(frame, weight, level);
	crumb_golomb_add_values(&values, level, weight, acc, first, end);
}

static void describe(const struct frame *frame, crumb_frame_info *out)
{
	const struct golomb_values values = values_of(frame);
	float level[MOST_LEVELS];
	levels_times(frame, 1, level);
	out->codec.value[BITS] = (float)frame->payload[0];
	out->sent = crumb_golomb_sent_values(&values, level);
}

CODEC_INFO(chunk, .id = 18, .flags = CRUMB_CODEC_RESIDUAL, .name = "chunk",
           .brief = "of every chunk the greatest elements, rounded to a few levels (Sarfi et al. 2025)",
           .keys = 4,
           .key = {{"chunk", "elements of a chunk", 4096, 16, 65536, 16, NULL},
                   {"keep", "elements to send of every chunk", 64, 1, 32768, 1, NULL},
                   {"bits", "of a value, 2 to 8; 32: exact", 2, 2, EXACT, 1, NULL},
                   DECAY_KEY});

const struct codec PER_ISA(chunk) = {
        .info = &crumb_info_chunk,
        .variable_width = ALL_FRAMES,
        .accepts = accepts,
        .floats = residual_floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .unpack_add = unpack_add,
        .describe = describe,
};
