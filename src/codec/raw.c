/* raw: the gradient as it is, in f32.
 *
 * It is checked, copied and summed a chunk at a time, so that memory is read once.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "check/crc32c.h"
#include "check/finite.h"
#include "v16/v16.h"

static size_t bound(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return 4 * n;
}

V16_FN void put_type(const void *grad, const enum crumb_dtype type, size_t first, size_t end, uint8_t *dst)
{
	float *out = (float *)dst;
	size_t i = first;
	for (; i + V16 <= end; i += V16, out += V16)
		v16_storef(out, v16_stream(type, grad, i));
	v16_storef_partial(out, v16_load_partial(type, grad, i, end - i), end - i);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	enum { CHUNK = CHECK_CHUNK / 4 /* elements */ };
	const size_t n = p->n;
	for (size_t first = 0, end; first < n; first = end) {
		end = n - first < CHUNK ? n : first + CHUNK;
		if (out->check &&
		    !gradient_finite((const uint8_t *)grad + v16_width(type) * first, end - first, type))
			return UNUSABLE;
#define PUT(TYPE) put_type(grad, TYPE, first, end, dst + 4 * first)
		V16_BY_TYPE(type, PUT);
		packed_to(out, dst + 4 * end);
	}
	return 4 * n;
}

static bool check(const struct frame *frame, struct part *part)
{
	(void)part;
	return !frame->flags && frame->size / 4 == frame->n && frame->size % 4 == 0;
}

static bool check_chunk(const struct frame *frame, const uint8_t *from, const uint8_t *to)
{
	(void)frame;
	return gradient_finite(from, (size_t)(to - from) / 4, CRUMB_F32);
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	const float *src = (const float *)frame->payload;
	const v16f w = v16_set(weight);
	size_t i = first;
	for (; i + V16 <= end; i += V16)
		v16_storef(acc + i, v16_add(v16_streamf(acc + i), v16_mul(w, v16_streamf(src + i))));
	const size_t rest = end - i;
	const v16f sum =
	        v16_add(v16_loadf_partial(acc + i, rest), v16_mul(w, v16_loadf_partial(src + i, rest)));
	v16_storef_partial(acc + i, sum, rest);
}

static void describe(const struct frame *frame, crumb_frame_info *out) { out->sent = frame->n; }

CODEC_INFO(raw, .id = 1, .flags = CRUMB_CODEC_FIXED, .name = "raw", .brief = "f32 as it is");

const struct codec PER_ISA(raw) = {
        .info = &crumb_info_raw,
        .checks_itself = true,
        .bound = bound,
        .pack = pack,
        .check = check,
        .check_chunk = check_chunk,
        .unpack_add = unpack_add,
        .describe = describe,
};
