/* half: the gradient in 16 bits, bf16 or f16, rounded to nearest.
 *
 * It is checked, converted and summed a chunk at a time, so that memory is read once.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "check/crc32c.h"
#include "check/finite.h"
#include "v16/v16.h"

enum { TYPE }; /* the key */
enum { FLAG_F16 = 1 };

static size_t bound(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return 2 * n;
}

/* Stores x in 16 bits. f16's largest number is 65504; elements that pass check/finite.h are far from bf16's.
 */
V16_FN void store(bool f16, uint8_t *dst, v16f x)
{
	const v16f most = v16_set(65504);
	if (f16)
		v16_store_f16(dst, v16_max(v16_min(x, most), v16_sub(v16_set(0), most)));
	else
		v16_store_bf16(dst, x);
}

V16_FN void put_type(bool f16, const void *grad, const enum crumb_dtype type, size_t first, size_t end,
                     uint8_t *dst)
{
	size_t i = first;
	for (; i + V16 <= end; i += V16, dst += 2 * V16)
		store(f16, dst, v16_stream(type, grad, i));
	uint8_t rest[2 * V16];
	store(f16, rest, v16_load_partial(type, grad, i, end - i));
	memcpy(dst, rest, 2 * (end - i));
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	enum { CHUNK = CHECK_CHUNK / 2 /* elements */ };
	const bool f16 = p->codec.value[TYPE] != 0;
	const size_t n = p->n;
	out->flags = f16 ? FLAG_F16 : 0;
	for (size_t first = 0, end; first < n; first = end) {
		end = n - first < CHUNK ? n : first + CHUNK;
		if (out->check &&
		    !gradient_finite((const uint8_t *)grad + v16_width(type) * first, end - first, type))
			return UNUSABLE;
#define PUT(TYPE) put_type(f16, grad, TYPE, first, end, dst + 2 * first)
		V16_BY_TYPE(type, PUT);
		packed_to(out, dst + 2 * end);
	}
	return 2 * n;
}

static enum crumb_dtype type_of(const struct frame *frame)
{
	return frame->flags & FLAG_F16 ? CRUMB_F16 : CRUMB_BF16;
}

static bool check(const struct frame *frame, struct part *part)
{
	(void)part;
	return !(frame->flags & ~FLAG_F16) && frame->size / 2 == frame->n && frame->size % 2 == 0;
}

static bool check_chunk(const struct frame *frame, const uint8_t *from, const uint8_t *to)
{
	return gradient_finite(from, (size_t)(to - from) / 2, type_of(frame));
}

V16_FN void unpack_type(const struct frame *frame, const enum crumb_dtype type, float weight, float *acc,
                        size_t first, size_t end)
{
	const uint8_t *const payload = frame->payload;
	const v16f w = v16_set(weight);
	size_t i = first;
	for (; i + V16 <= end; i += V16)
		v16_storef(acc + i, v16_add(v16_streamf(acc + i), v16_mul(w, v16_stream(type, payload, i))));
	const size_t rest = end - i;
	const v16f value = v16_mul(w, v16_load_partial(type, payload, i, rest));
	v16_storef_partial(acc + i, v16_add(v16_loadf_partial(acc + i, rest), value), rest);
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	if (frame->flags & FLAG_F16)
		unpack_type(frame, CRUMB_F16, weight, acc, first, end);
	else
		unpack_type(frame, CRUMB_BF16, weight, acc, first, end);
}

static void describe(const struct frame *frame, crumb_frame_info *out)
{
	out->codec.value[TYPE] = frame->flags & FLAG_F16 ? 1 : 0;
	out->sent = frame->n;
}

CODEC_INFO(half, .id = 2, .flags = CRUMB_CODEC_FIXED, .name = "half",
           .brief = "16 bits an element, rounded to nearest", .keys = 1,
           .key = {{"type", "the 16-bit type", 0, 0, 1, 1, CHOICES("bf16", "f16")}});

const struct codec PER_ISA(half) = {
        .info = &crumb_info_half,
        .checks_itself = true,
        .bound = bound,
        .pack = pack,
        .check = check,
        .check_chunk = check_chunk,
        .unpack_add = unpack_add,
        .describe = describe,
};
