/* onebit: MXNet's 1-bit compression. Every element sends +1 if it is above the threshold, else -1, and keeps
 * the rest as residual.
 *
 * The threshold only decides which of the two; their magnitude is always 1, whatever the gradient's scale, so
 * the learning rate has to be chosen for that (doc/CODECS.md). A comparison leaves a bitmask with the first
 * element in the least significant bit, where a frame has it in the most significant one, so the bits of each
 * byte are reversed, a chunk at a time while it is in L1.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "v16/v16.h"

enum { THRESHOLD }; /* the key */

static size_t code_bytes(size_t n) { return 4 * divide_up(n, 32); }

static size_t bound(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return code_bytes(n);
}

/* Reverses the bits of each byte. */
static inline uint64_t reverse_bits(uint64_t x)
{
	const uint64_t ones = 0x5555555555555555, twos = 0x3333333333333333, fours = 0x0F0F0F0F0F0F0F0F;
	x = (x & ones) << 1 | (x >> 1 & ones);
	x = (x & twos) << 2 | (x >> 2 & twos);
	return (x & fours) << 4 | (x >> 4 & fours);
}

static __attribute__((noinline)) void reverse_words(uint8_t *codes, size_t size)
{
	for (size_t i = 0; i < size; i += 4)
		put_u32(codes + i, (uint32_t)reverse_bits(get_u32(codes + i)));
}

/* Returns which elements of x are above the threshold, and sets what is left of all. */
V16_FN v16m quantize(v16f x, v16f threshold, v16f *left)
{
	const v16m up = v16_gt(x, threshold);
	*left = v16_sub(x, v16_pick(up, v16_set(1), v16_set(-1)));
	return up;
}

V16_FN size_t pack_type(struct crumb_packer *p, const void *grad, const enum crumb_dtype type, uint8_t *dst)
{
	enum { PAIR = 2 * V16, CHUNK = 4096 };
	const v16f t = v16_set(p->codec.value[THRESHOLD]);
	float *r = packer_floats(p);
	const size_t n = p->n, size = code_bytes(n);
	memset(dst + size - 4, 0, 4);
	v16f left;
	for (size_t i = 0, end; i < n; i = end) {
		uint8_t *to = dst + i / 8, *const first = to;
		end = n - i < CHUNK ? n : i + CHUNK;
		for (; i + PAIR <= end; i += PAIR, to += 4) {
			v16m up[2];
			for (size_t k = 0; k < 2; k++) {
				const size_t at = i + V16 * k;
				const v16f x = v16_add(v16_streamf(r + at), v16_stream(type, grad, at));
				up[k] = quantize(x, t, &left);
				v16_storef(r + at, left);
			}
			put_u32(to, v16_bits_of_two(up[0], up[1]));
		}
		for (; i < end; i += V16, to += 2) {
			const size_t rest = end - i < V16 ? end - i : V16;
			const v16f x = v16_add(v16_loadf_partial(r + i, rest),
			                       v16_load_partial(type, grad, i, rest));
			put_u16(to, (uint16_t)v16_bits(quantize(x, t, &left)) & v16_first(rest));
			v16_storef_partial(r + i, left, rest);
		}
		reverse_words(first, code_bytes(end) - (size_t)(first - dst));
	}
	return size;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	(void)out;
#define PACK(TYPE) return pack_type(p, grad, TYPE, dst)
	V16_BY_TYPE(type, PACK);
}

static bool check(const struct frame *frame, struct part *part)
{
	(void)part;
	if (frame->flags || frame->size != code_bytes(frame->n))
		return false;
	unsigned past = 0;
	for (size_t i = frame->n / 8; i < frame->size; i++)
		past |= frame->payload[i] & (0xFFu >> (i == frame->n / 8 ? frame->n % 8 : 0));
	return !past;
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	enum { BLOCK = 4 * V16 }; /* whose bits fill a register */
	const v16f plus = v16_set(weight), minus = v16_set(-weight);
	size_t i = first;
	for (; i + BLOCK <= end; i += BLOCK) {
		const uint8_t *const at = frame->payload + i / 8;
		uint64_t up = reverse_bits(get_u32(at) | (uint64_t)get_u32(at + 4) << 32);
		for (size_t k = 0; k < BLOCK; k += V16, up >>= V16) {
			const v16f value = v16_pick_bits((uint16_t)up, plus, minus);
			v16_storef(acc + i + k, v16_add(v16_streamf(acc + i + k), value));
		}
	}
	for (; i < end; i += V16) {
		const size_t rest = end - i < V16 ? end - i : V16;
		const v16m up = v16_mask((uint16_t)reverse_bits(get_u16(frame->payload + i / 8)));
		v16_storef_partial(
		        acc + i, v16_add(v16_loadf_partial(acc + i, rest), v16_pick(up, plus, minus)), rest);
	}
}

static void describe(const struct frame *frame, crumb_frame_info *out) { out->sent = frame->n; }

CODEC_INFO(onebit, .id = 8, .flags = CRUMB_CODEC_RESIDUAL | CRUMB_CODEC_FIXED, .name = "onebit",
           .brief = "+1 above the threshold, else -1 (MXNet)", .keys = 2,
           .key = {{"threshold", "what decides between +1 and -1", 0.5f, -0x1p100f, 0x1p100f, 0, NULL},
                   DECAY_KEY});

const struct codec PER_ISA(onebit) = {
        .info = &crumb_info_onebit,
        .floats = residual_floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .unpack_add = unpack_add,
        .describe = describe,
};
