/* sign: every element sends its sign and is worth the mean magnitude (signSGD with error feedback,
 * Karimireddy et al., ICML 2019).
 *
 * Packing passes over the residual twice: the mean has to be known before any element's residual is.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "v16/v16.h"
#include <math.h>

static size_t sign_bytes(size_t n) { return 2 * divide_up(n, V16); }

static size_t bound(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return 4 + sign_bytes(n);
}

/* r += g for the count <= SUM_BLOCK elements from number i on; returns the sum of their magnitudes. */
V16_FN float add_block(float *r, const void *grad, const enum crumb_dtype type, size_t i, size_t count)
{
	v16f sum = v16_set(0);
	const size_t end = i + count;
	for (; i + V16 <= end; i += V16) {
		const v16f x = v16_add(v16_streamf(r + i), v16_stream(type, grad, i));
		v16_storef(r + i, x);
		sum = v16_add(sum, v16_abs(x));
	}
	if (i < end) {
		const v16f x =
		        v16_add(v16_loadf_partial(r + i, end - i), v16_load_partial(type, grad, i, end - i));
		v16_storef_partial(r + i, x, end - i);
		sum = v16_add(sum, v16_abs(x));
	}
	return v16_sum_lanes(sum);
}

/* Returns the mean magnitude of r where the sum of a block overflows in f32: magnitudes are summed times
 * 2^-32. */
V16_FN float scaled_mean(const float *r, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i += SUM_BLOCK) {
		const size_t end = n - i < SUM_BLOCK ? n : i + SUM_BLOCK;
		v16f lane = v16_set(0);
		for (size_t k = i; k < end; k += V16) {
			const v16f x = v16_loadf_some(r + k, end - k);
			lane = v16_add(lane, v16_mul(v16_abs(x), v16_set(0x1p-32f)));
		}
		sum += v16_sum_lanes(lane);
	}
	return (float)(sum / (double)n * 0x1p32);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	(void)out;
	const size_t n = p->n;
	float *r = packer_floats(p);
	double sum = 0;
	for (size_t i = 0; i < n; i += SUM_BLOCK)
		sum += add_block(r, grad, type, i, n - i < SUM_BLOCK ? n - i : SUM_BLOCK);
	const float scale = isfinite(sum) ? (float)(sum / (double)n) : scaled_mean(r, n);
	const v16f plus = v16_set(scale), minus = v16_set(-scale);
	uint8_t *at = put_f32(dst, scale);
	size_t i = 0;
	for (; i + 2 * V16 <= n; i += 2 * V16) {
		v16m negative[2];
		for (size_t k = 0; k < 2; k++) {
			float *const own = r + i + V16 * k;
			const v16f x = v16_streamf(own);
			negative[k] = v16_negative(x);
			v16_storef(own, v16_sub(x, v16_pick(negative[k], minus, plus)));
		}
		at = put_u32(at, v16_bits_of_two(negative[0], negative[1]));
	}
	for (; i < n; i += V16) {
		const size_t rest = n - i < V16 ? n - i : V16;
		const v16f x = v16_loadf_partial(r + i, rest);
		const v16m negative = v16_negative(x);
		v16_storef_partial(r + i, v16_sub(x, v16_pick(negative, minus, plus)), rest);
		at = put_u16(at, (uint16_t)(v16_bits(negative) & v16_first(rest)));
	}
	return (size_t)(at - dst);
}

static uint16_t get_signs(const struct frame *frame, size_t i) { return get_u16(frame->payload + 4 + i / 8); }

static bool check(const struct frame *frame, struct part *part)
{
	(void)part;
	const size_t n = frame->n;
	if (frame->flags || frame->size != 4 + sign_bytes(n))
		return false;
	const float scale = get_f32(frame->payload);
	const unsigned past = n % V16 ? get_signs(frame, n - n % V16) >> n % V16 : 0;
	return isfinite(scale) && !signbit(scale) && !past;
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	const float v = weight * get_f32(frame->payload);
	const v16f plus = v16_set(v), minus = v16_set(-v);
	size_t i = first;
	for (; i + V16 <= end; i += V16) {
		const v16f value = v16_pick_bits(get_signs(frame, i), minus, plus);
		v16_storef(acc + i, v16_add(v16_streamf(acc + i), value));
	}
	const size_t rest = end - i;
	if (rest) {
		const v16f value = v16_pick_bits(get_signs(frame, i), minus, plus);
		v16_storef_partial(acc + i, v16_add(v16_loadf_partial(acc + i, rest), value), rest);
	}
}

static void describe(const struct frame *frame, crumb_frame_info *out)
{
	frame_fact(out, "scale", get_f32(frame->payload));
	out->sent = frame->n;
}

CODEC_INFO(sign, .id = 6, .flags = CRUMB_CODEC_RESIDUAL | CRUMB_CODEC_FIXED, .name = "sign",
           .brief = "every sign, worth the mean magnitude (Karimireddy et al. 2019)", .keys = 1,
           .key = {DECAY_KEY});

const struct codec PER_ISA(sign) = {
        .info = &crumb_info_sign,
        .floats = residual_floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .unpack_add = unpack_add,
        .describe = describe,
};
