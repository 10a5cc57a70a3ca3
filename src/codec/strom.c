/* strom: every element above the threshold sends one quantum of it and keeps the rest (Strom, Interspeech
 * 2015).
 *
 * The rule is twobit's, value for value; the payload is as long as there are elements sent.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "select/above.h"
#include "payload/sparse_signs.h"
#include "select/threshold.h"
#include <math.h>

enum { THRESHOLD, CODING, SHARE }; /* the keys */

#define SHARE_FALLBACK 0.01f

static bool accepts(const crumb_codec *codec)
{
	return threshold_accepts(codec->value[THRESHOLD], codec->value[SHARE], SHARE_FALLBACK);
}

static size_t bound(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return 4 + sparse_signs_bound(n);
}

#ifdef P_LISTS_QUICKLY

/* Takes a quantum of those shown of the group from element i on, of which left are there, and lists them. */
static inline uint8_t *take_group(float *r, float t, size_t i, uint32_t shown, size_t left, uint8_t *word)
{
	static const uint32_t lane[V16] = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
	if (left >= V16) {
		const v16m sent = v16_mask((uint16_t)shown);
		const v16f x = v16_loadf(r + i);
		const v16i sign = v16_andi(v16_bits_of(x), v16_seti(0x80000000));
		const v16f quantum = v16_of_bits(v16_ori(sign, v16_bits_of(v16_set(t))));
		const v16i number = v16_addi(v16_seti((uint32_t)(2 * i)), v16_loadi(lane));
		v16_storef(r + i, v16_sub_where(sent, x, quantum));
		return v16_list(word, sent, v16_subi(number, v16_shr(sign, 31)));
	}
	for (; shown; shown &= shown - 1) {
		const size_t at = i + v16_first_bit(shown);
		const float x = r[at];
		r[at] = x - copysignf(t, x);
		word = put_u32(word, (uint32_t)(2 * at) | (x > 0));
	}
	return word;
}

/* Takes what is shown of the turn from element first on. Sixteen words are written at a time: what is behind
 * the list then means nothing. */
static void take_shown(float *r, float t, size_t first, const struct above *above, uint8_t *word)
{
	uint8_t some[ABOVE_GROUPS + V16];
	const size_t count = above_groups(above, false, some);
	for (size_t k = 0; k < count; k++) {
		const size_t group = some[k], i = first + V16 * group;
		word = take_group(r, t, i, above->bits[group], above->end - i, word);
	}
}

#else /* one by one, but first where they are, and the words at the end */

/* Lists the great elements, numbered from the turn's first, and perhaps two words more. */
static void list_elements(const struct above *above, uint32_t list[ABOVE_CHUNK + 2])
{
	uint8_t pair[ABOVE_GROUPS + V16];
	uint32_t *at = list;
	const size_t pairs = above_groups(above, true, pair);
	for (size_t k = 0; k < pairs; k++) {
		const size_t number = pair[k], first = 2 * V16 * number;
		const uint64_t bits = get_u32((const uint8_t *)above->bits + 4 * number),
		               rest = bits & (bits - 1), third = rest & (rest - 1);
		/* Three are listed, be there so many or not: a branch on that would be mispredicted. */
		at[0] = (uint32_t)first + v16_first_bit(bits);
		at[1] = (uint32_t)first + v16_first_bit(rest);
		at[2] = (uint32_t)first + v16_first_bit(third);
		uint64_t left = third & (third - 1);
		if (__builtin_expect(left != 0, 0))
			for (uint32_t *more = at + 3; left; left &= left - 1)
				*more++ = (uint32_t)first + v16_first_bit(left);
		at += __builtin_popcountll(bits);
	}
}

/* Takes what is shown of the turn from element first on, as above. */
static void take_shown(float *r, float t, size_t first, const struct above *above, uint8_t *words)
{
	uint32_t element[ABOVE_CHUNK + V16];
	float was[ABOVE_CHUNK + V16], *const own = r + first;
	list_elements(above, element);
	for (size_t k = 0; k < above->count; k++) {
		const float x = own[element[k]];
		was[k] = x;
		own[element[k]] = x - copysignf(t, x);
	}
	for (size_t k = 0; k < above->count; k += V16) {
		const v16i number = v16_addi(v16_loadi(element + k), v16_seti((uint32_t)first));
		const v16i negative = v16_shr(v16_bits_of(v16_loadf(was + k)), 31);
		v16_put(words + 4 * k, v16_subi(v16_addi(v16_addi(number, number), v16_seti(1)), negative));
	}
}

#endif

/* Of fewer elements, a list may have no room for sixteen words more. It is shorter than a map, and has as
 * much room again; with a greater bound, exchanges would send more short tensors raw. */
enum { SHORT = 256 };
_Static_assert(4 * SHORT / V16 >= 4 * V16, "a map of so many elements has sixteen words");

static __attribute__((noinline)) void take_short(float *r, float t, const struct above *above, uint8_t *words)
{
	uint8_t list[4 * (SHORT + V16)];
	take_shown(r, t, 0, above, list);
	memcpy(words, list, 4 * above->count);
}

/* r = r + g less what is sent of n elements, which is drawn; returns how many are sent. */
V16_FN size_t draw_type(float *r, const void *grad, const enum crumb_dtype type, size_t n, float threshold,
                        uint8_t *map)
{
	enum { PAIR = 2 * V16 };
	const v16f t = v16_set(threshold), minus_t = v16_set(-threshold);
	struct sent sent[2];
	size_t count = 0, i = 0;
	for (; i + PAIR <= n; i += PAIR) {
		for (size_t k = 0; k < 2; k++) {
			const size_t at = i + V16 * k;
			const v16f x = v16_add(v16_streamf(r + at), v16_stream(type, grad, at));
			v16_storef(r + at, threshold_take(x, t, minus_t, &sent[k]));
		}
		const uint64_t code = sparse_signs_codes(v16_bits_of_two(sent[0].plus, sent[1].plus),
		                                         v16_bits_of_two(sent[0].minus, sent[1].minus));
		memcpy(map, &code, sizeof code);
		map += sizeof code;
		count += (size_t)__builtin_popcountll(code);
	}
	for (; i < n; i += V16) {
		const size_t few = n - i < V16 ? n - i : V16;
		const v16f x = v16_add(v16_loadf_partial(r + i, few), v16_load_partial(type, grad, i, few));
		v16_storef_partial(r + i, threshold_take(x, t, minus_t, sent), few);
		const uint32_t code =
		        (uint32_t)sparse_signs_codes(v16_bits(sent->plus), v16_bits(sent->minus));
		map = put_u32(map, code);
		count += (size_t)__builtin_popcount(code);
	}
	return count;
}

static size_t draw(float *r, const void *grad, enum crumb_dtype type, size_t n, float t, uint8_t *map)
{
#define DRAW(TYPE) draw_type(r, grad, TYPE, n, t, map)
	V16_BY_TYPE(type, DRAW);
}

/* Few are listed as they are found. Where the list would be longer than a map of the same elements, the turn
 * at hand, which has its gradient, and all after it are drawn. */
static void take(float *r, const void *grad, enum crumb_dtype type, float t, struct sparse_signs *signs)
{
	enum { SOON = 1024 }; /* a turn ends where it has more than a list could hold so soon */
	const size_t n = signs->n;
	const bool cached = n <= L2_ELEMENTS;
	struct above above;
	for (size_t i = 0; i < n; i = above.end) {
		above_add(r, grad, type, i, n, t, sparse_signs_listable(signs, i + SOON), cached, &above);
		const size_t end = above.end;
		uint8_t *const word = sparse_signs_list(signs, i, end, above.count);
		if (!word) {
			float added[ABOVE_CHUNK];
			for (size_t k = 0; k < ABOVE_CHUNK; k++)
				added[k] = -0.0f; /* changes nothing, not even -0 */
			signs->count += draw(r + i, added, CRUMB_F32, end - i, t,
			                     signs->map + sparse_signs_map_bytes(i));
			signs->count += draw(r + end, (const uint8_t *)grad + v16_width(type) * end, type,
			                     n - end, t, signs->map + sparse_signs_map_bytes(end));
			return;
		}
		if (n < SHORT)
			take_short(r, t, &above, word);
		else
			take_shown(r, t, i, &above, word);
	}
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	float *r = packer_floats(p);
	const float t =
	        threshold_choose(p->codec.value[THRESHOLD], p->codec.value[SHARE], r, type, grad, p->n);
	struct sparse_signs signs =
	        sparse_signs_open(put_f32(dst, t), p->n, true, p->codec.value[CODING] != SPARSE_SIGNS_PLAIN);
	take(r, grad, type, t, &signs);
	return 4 + sparse_signs_close(&signs, &out->flags);
}

static bool check(const struct frame *frame, struct part *part)
{
	if (sparse_signs_form(frame->flags) != frame->flags || frame->size < 4)
		return false;
	const float t = get_f32(frame->payload);
	return t > 0 && usable(t) && sparse_signs_check(frame, part, 4);
}

static size_t unpack_add(const struct frame *frame, const float *weight, size_t count, float *acc,
                         size_t first, size_t end)
{
	(void)count;
	const float v = *weight * get_f32(frame->payload);
	sparse_signs_add(frame->payload + 4, frame->size - 4, frame->n, sparse_signs_form(frame->flags), v,
	                 -v, acc, first, end);
	return 1;
}

static void describe(const struct frame *frame, crumb_frame_info *out)
{
	out->codec.value[THRESHOLD] = get_f32(frame->payload);
	out->codec.value[CODING] =
	        frame->flags & SPARSE_SIGNS_GAPS ? SPARSE_SIGNS_ENTROPY : SPARSE_SIGNS_PLAIN;
	frame_fact(out, "threshold", get_f32(frame->payload));
	out->sent = sparse_signs_sent(frame->payload + 4, frame->size - 4, sparse_signs_form(frame->flags));
}

CODEC_INFO(strom, .id = 9, .flags = CRUMB_CODEC_RESIDUAL, .name = "strom",
           .brief = "one quantum of every element above the threshold (Strom 2015)", .keys = 3,
           .key = {THRESHOLD_KEY(0.1f),
                   {"coding", "plain: words or two bits an element; entropy: gaps between elements",
                    SPARSE_SIGNS_PLAIN, 0, 1, 1, sparse_signs_codings},
                   THRESHOLD_SHARE(SHARE_FALLBACK)});

const struct codec PER_ISA(strom) = {
        .info = &crumb_info_strom,
        .variable_width = ALL_FRAMES,
        .accepts = accepts,
        .floats = residual_floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .unpack_add = unpack_add,
        .describe = describe,
};
