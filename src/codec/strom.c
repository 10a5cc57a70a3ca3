/* strom: every element that reaches the threshold sends one quantum of it and keeps the rest as residual
 * (Strom, Interspeech 2015).
 *
 * The rule is twobit's, value for value, but the payload is sparse: a list of elements, or a map of two bits
 * each where that is shorter (payload/sparse_signs.h). Packing is one pass over memory. It begins with a
 * list: each chunk's large elements are found (select/above.h) and appended while the chunk is in L1. At the
 * chunk with which the list becomes longer than the map, it is turned into a map, and the rest of the tensor
 * is written to that.
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

/* Takes a quantum from each large element of the chunk that begins at element first, and appends its word to
 * the list. */
static void send_chunk(float *r, float t, size_t first, const struct above *above, uint8_t *word)
{
	uint8_t number[ABOVE_GROUPS + V16];
	const size_t groups = above_groups(above, number);
	for (size_t k = 0; k < groups; k++)
		for (uint32_t bits = above->bits[number[k]]; bits; bits &= bits - 1) {
			const size_t i = first + (size_t)V16 * number[k] + v16_first_bit(bits);
			const float x = r[i];
			r[i] = x - copysignf(t, x);
			word = put_u32(word, (uint32_t)(2 * i) | (x > 0));
		}
}

/* r += g for n elements; takes a quantum from the large ones and writes all codes to the map. Returns the
 * number of elements that are sent. */
V16_FN size_t map_type(float *r, const void *grad, const enum crumb_dtype type, size_t n, float threshold,
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
		const size_t rest = n - i < V16 ? n - i : V16;
		const v16f x = v16_add(v16_loadf_partial(r + i, rest), v16_load_partial(type, grad, i, rest));
		v16_storef_partial(r + i, threshold_take(x, t, minus_t, sent), rest);
		const uint32_t code =
		        (uint32_t)sparse_signs_codes(v16_bits(sent->plus), v16_bits(sent->minus));
		map = put_u32(map, code);
		count += (size_t)__builtin_popcount(code);
	}
	return count;
}

static size_t map_all(float *r, const void *grad, enum crumb_dtype type, size_t n, float t, uint8_t *map)
{
#define MAP(TYPE) return map_type(r, grad, TYPE, n, t, map)
	V16_BY_TYPE(type, MAP);
}

/* r += g less what is sent, as a list or a map. */
static void send_all(float *r, const void *grad, enum crumb_dtype type, float t, struct sparse_signs *signs)
{
	const size_t n = signs->n;
	struct above above;
	for (size_t i = 0; i < n; i = above.end) {
		above_add(r, grad, type, i, n, t, &above);
		const size_t end = above.end;
		uint8_t *const word = sparse_signs_list(signs, i, end, above.count);
		if (!word) {
			float nothing[ABOVE_CHUNK]; /* this chunk's gradient has been added; -0 changes no
			                               float */
			for (size_t k = 0; k < ABOVE_CHUNK; k++)
				nothing[k] = -0.0f;
			signs->count += map_all(r + i, nothing, CRUMB_F32, end - i, t,
			                        signs->map + sparse_signs_map_bytes(i));
			signs->count += map_all(r + end, (const uint8_t *)grad + v16_width(type) * end, type,
			                        n - end, t, signs->map + sparse_signs_map_bytes(end));
			return;
		}
		send_chunk(r, t, i, &above, word);
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
	send_all(r, grad, type, t, &signs);
	return 4 + sparse_signs_close(&signs, &out->flags);
}

static bool check(const struct frame *frame, struct part *part)
{
	if (sparse_signs_form(frame->flags) != frame->flags || frame->size < 4)
		return false;
	const float t = get_f32(frame->payload);
	return t > 0 && usable(t) && sparse_signs_check(frame, part, 4);
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	const float v = weight * get_f32(frame->payload);
	sparse_signs_add(frame->payload + 4, frame->size - 4, frame->n, sparse_signs_form(frame->flags), v,
	                 -v, acc, first, end);
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
           .brief = "one quantum of every element above the threshold (Strom 2015)", .keys = 4,
           .key = {THRESHOLD_KEY(0.1f),
                   {"coding", "plain: words or two bits an element; entropy: gaps between elements",
                    SPARSE_SIGNS_PLAIN, 0, 1, 1, CHOICES("plain", "entropy")},
                   THRESHOLD_SHARE(SHARE_FALLBACK),
                   DECAY_KEY});

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
