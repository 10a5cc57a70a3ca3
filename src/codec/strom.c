/* strom: every element above the threshold sends one quantum of it and keeps the rest (Strom, Interspeech
 * 2015).
 *
 * The rule is twobit's, value for value; the payload is as long as there are elements sent.
 *
 * SPDX-License-Identifier: MIT */
#include "signs.h"
#include "threshold.h"

enum { THRESHOLD, CODING, SHARE }; /* the keys */

#define SHARE_FALLBACK 0.01f

static bool accepts(const crumb_codec *codec)
{
	return threshold_accepts(codec->value[THRESHOLD], codec->value[SHARE], SHARE_FALLBACK);
}

static size_t floats(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return n;
}

static size_t bound(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return 4 + signs_bound(n);
}

/* The codes of x, and what is left of it. */
V16_FN uint32_t quantize(v16f x, v16f t, v16f minus_t, v16f *left)
{
	const v16m up = v16_ge(x, t), down = v16_ge(minus_t, x);
	*left = v16_sub_where(down, v16_sub_where(up, x, t), minus_t);
	return signs_code(v16_bits(up), v16_bits(down));
}

/* r = r + g less what is sent, of elements first to end - 1, and their codes; returns how many are sent. */
V16_FN size_t draw(float *r, const void *grad, const enum crumb_dtype type, size_t first, size_t end, v16f t,
                   v16f minus_t, uint8_t *map)
{
	size_t count = 0, i = first;
	v16f left;
	for (; i + V16 <= end; i += V16) {
		const v16f x = v16_add(v16_streamf(r + i), v16_stream(type, grad, i));
		const uint32_t code = quantize(x, t, minus_t, &left);
		v16_storef(r + i, left);
		map = put_u32(map, code);
		count += (size_t)__builtin_popcount(code);
	}
	if (i < end) {
		const v16f x = v16_add(v16_loadf_few(r + i, end - i), v16_load_few(type, grad, i, end - i));
		const uint32_t code = quantize(x, t, minus_t, &left);
		v16_storef_few(r + i, left, end - i);
		put_u32(map, code);
		count += (size_t)__builtin_popcount(code);
	}
	return count;
}

/* What one turn drew is listed while memory brings what the next will draw, which is little; from a cache,
 * more turns would be slower. */
enum { TURN = 1024 };

V16_FN size_t pack_type(struct crumb_packer *p, const void *grad, const enum crumb_dtype type, uint8_t *dst,
                        uint16_t *flags)
{
	float *r = packer_floats(p);
	const size_t n = p->n;
	const float threshold =
	        PER_ISA(threshold)(p->codec.value[THRESHOLD], p->codec.value[SHARE], r, type, grad, n);
	const v16f t = v16_set(threshold), minus_t = v16_set(-threshold);
	struct signs signs = signs_open(put_f32(dst, threshold), n, p->codec.value[CODING] != SIGNS_PLAIN);
	for (size_t i = 0, end; i < n; i = end) {
		end = n - i < TURN ? n : i + TURN;
		PER_ISA(signs_drawn)
		(&signs, i, end, draw(r, grad, type, i, end, t, minus_t, signs.map + signs_map_bytes(i)));
	}
	return 4 + PER_ISA(signs_close)(&signs, flags);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   uint16_t *flags)
{
#define PACK(TYPE) pack_type(p, grad, TYPE, dst, flags)
	V16_BY_TYPE(type, PACK);
}

static bool check(const struct frame *frame, struct part *part)
{
	if (signs_form(frame->flags) != frame->flags || frame->size < 4)
		return false;
	const float t = get_f32(frame->payload);
	return t > 0 && usable(t) && PER_ISA(signs_check)(frame, part, 4);
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	const float v = weight * get_f32(frame->payload);
	PER_ISA(signs_add)
	(frame->payload + 4, frame->size - 4, frame->n, signs_form(frame->flags), v, -v, acc, first, end);
}

static void describe(const struct frame *frame, crumb_frame *out)
{
	out->codec.value[THRESHOLD] = get_f32(frame->payload);
	out->codec.value[CODING] = frame->flags & SIGNS_GAPS ? SIGNS_ENTROPY : SIGNS_PLAIN;
	frame_fact(out, "threshold", get_f32(frame->payload));
	out->sent = signs_sent(frame->payload + 4, frame->size - 4, signs_form(frame->flags));
}

CODEC_INFO(strom, .id = 9, .flags = CRUMB_RESIDUAL, .name = "strom",
           .brief = "one quantum of every element above the threshold (Strom 2015)", .keys = 3,
           .key = {THRESHOLD_KEY(0.1f),
                   {"coding", "plain: words or two bits an element; entropy: gaps between elements",
                    SIGNS_PLAIN, 0, 1, 1, signs_codings},
                   THRESHOLD_SHARE(SHARE_FALLBACK)});

const struct codec PER_ISA(strom) = {
        .info = &crumb_info_strom,
        .accepts = accepts,
        .floats = floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .unpack_add = unpack_add,
        .describe = describe,
};
