/* raw: the gradient as it is, in f32.
 *
 * SPDX-License-Identifier: MIT */
#include "codec.h"
#include "gate.h"
#include "v16.h"

static size_t floats(const crumb_codec *codec, size_t n)
{
	(void)codec, (void)n;
	return 0;
}

static size_t bound(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return 4 * n;
}

V16_FN size_t pack_type(const struct crumb_packer *p, const void *grad, const enum crumb_dtype type,
                        uint8_t *dst)
{
	const size_t n = p->n;
	float *out = (float *)dst;
	v16f worst = v16_set(0);
	size_t i = 0;
	for (; i + V16 <= n; i += V16) {
		const v16f x = v16_stream(type, grad, i);
		v16_storef(out + i, x);
		worst = v16_worst_abs(x, worst);
	}
	const v16f x = v16_load_few(type, grad, i, n - i);
	v16_storef_few(out + i, x, n - i);
	return v16_usable(v16_worst_abs(x, worst)) ? 4 * n : UNUSABLE;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   uint16_t *flags)
{
	(void)flags;
#define PACK(TYPE) pack_type(p, grad, TYPE, dst)
	V16_BY_TYPE(type, PACK);
}

static bool check(const struct frame *frame)
{
	return !frame->flags && frame->size / 4 == frame->n && frame->size % 4 == 0;
}

static bool clean(const struct frame *frame, const uint8_t *from, const uint8_t *to)
{
	(void)frame;
	return PER_ISA(finite)(from, (size_t)(to - from) / 4, CRUMB_F32);
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	const float *src = (const float *)frame->payload;
	const v16f w = v16_set(weight);
	size_t i = first;
	for (; i + V16 <= end; i += V16)
		v16_storef(acc + i, v16_add(v16_streamf(acc + i), v16_mul(w, v16_streamf(src + i))));
	const size_t rest = end - i;
	const v16f sum = v16_add(v16_loadf_few(acc + i, rest), v16_mul(w, v16_loadf_few(src + i, rest)));
	v16_storef_few(acc + i, sum, rest);
}

static void describe(const struct frame *frame, crumb_frame *out) { out->sent = frame->n; }

const struct codec PER_ISA(raw) = {
        .info = {.id = 1, .flags = CRUMB_FIXED, .name = "raw", .brief = "f32 as it is"},
        .floats = floats,
        .bound = bound,
        .pack = pack,
        .gates = always_gates,
        .check = check,
        .clean = clean,
        .unpack_add = unpack_add,
        .divides = crumb_frame_divides,
        .describe = describe,
};
