/* twobit: MXNet's 2-bit compression. Every element sends -threshold, 0 or +threshold and keeps the rest.
 *
 * SPDX-License-Identifier: MIT */
#include "threshold.h"
#include "v16.h"

enum { THRESHOLD, SHARE }; /* the keys */

#define SHARE_FALLBACK 0.1f

static bool accepts(const crumb_codec *codec)
{
	return threshold_accepts(codec->value[THRESHOLD], codec->value[SHARE], SHARE_FALLBACK);
}

static size_t floats(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return n;
}

static size_t code_bytes(size_t n) { return 4 * divide_up(n, V16); }

static size_t bound(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return 4 + code_bytes(n);
}

enum { PAIR = 2 * V16, RUN = 4096 }; /* elements whose codes are made, and turned around, together */

/* The codes of two groups. The first of a byte's four elements is in its least significant bits. */
V16_FN uint64_t codes_of(struct sent a, struct sent b)
{
	const uint32_t plus = v16_bits_of_two(a.plus, b.plus), minus = v16_bits_of_two(a.minus, b.minus);
	return v16_spread(plus) | v16_spread(plus | minus) << 1;
}

/* Turns bytes of codes around, so that the first of four is in the most significant bits. */
static void turn(uint8_t *codes, size_t size)
{
	for (size_t i = 0; i < size; i += 4) {
		uint32_t x = get_u32(codes + i);
		x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
		put_u32(codes + i, (x & 0x0F0F0F0Fu) << 4 | (x >> 4 & 0x0F0F0F0Fu));
	}
}

V16_FN size_t pack_type(struct crumb_packer *p, const void *grad, const enum crumb_dtype type, uint8_t *dst)
{
	float *r = packer_floats(p);
	const size_t n = p->n;
	const float threshold =
	        PER_ISA(threshold)(p->codec.value[THRESHOLD], p->codec.value[SHARE], r, type, grad, n);
	const v16f t = v16_set(threshold), minus_t = v16_set(-threshold);
	uint8_t *const codes = put_f32(dst, threshold);
	for (size_t i = 0, end; i < n; i = end) {
		uint8_t *const first = codes + i / 4;
		end = n - i < RUN ? n : i + RUN;
		for (; i + PAIR <= end; i += PAIR) {
			struct sent sent[2];
			for (size_t k = 0; k < 2; k++) {
				const size_t at = i + V16 * k;
				const v16f x = v16_add(v16_streamf(r + at), v16_stream(type, grad, at));
				v16_storef(r + at, threshold_take(x, t, minus_t, &sent[k]));
			}
			const uint64_t code = codes_of(sent[0], sent[1]);
			memcpy(codes + i / 4, &code, sizeof code);
		}
		for (; i < end; i += V16) {
			const size_t few = end - i < V16 ? end - i : V16;
			struct sent sent;
			const v16f x = v16_add(v16_loadf_few(r + i, few), v16_load_few(type, grad, i, few));
			v16_storef_few(r + i, threshold_take(x, t, minus_t, &sent), few);
			put_u32(codes + i / 4, (uint32_t)codes_of(sent, sent));
		}
		turn(first, (size_t)(codes + code_bytes(end) - first));
	}
	return 4 + code_bytes(n);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   uint16_t *flags)
{
	(void)flags;
#define PACK(TYPE) pack_type(p, grad, TYPE, dst)
	V16_BY_TYPE(type, PACK);
}

static bool check(const struct frame *frame, struct part *part)
{
	(void)part;
	if (frame->flags || frame->size != 4 + code_bytes(frame->n))
		return false;
	const float t = get_f32(frame->payload);
	if (!(t > 0) || !usable(t))
		return false;
	/* Elements past n: whole bytes, and the low bits of the last one that is used. */
	const uint8_t *code = frame->payload + 4;
	unsigned bad = 0;
	for (size_t i = frame->n / 4; i < frame->size - 4; i++) {
		const size_t used = i == frame->n / 4 ? frame->n % 4 : 0;
		bad |= code[i] & (0xFFu >> 2 * used);
	}
	return !bad;
}

static bool clean(const struct frame *frame, const uint8_t *from, const uint8_t *to)
{
	uint32_t bad = 0;
	for (from += from == frame->payload ? 4 : 0; from < to; from += 4) {
		const uint32_t x = get_u32(from);
		bad |= x & ~(x >> 1) & 0x55555555u;
	}
	return !bad;
}

/* What the codes of sixteen elements stand for, the first of which is element i. */
V16_FN v16f values_at(v16t table4, const uint8_t *payload, size_t i)
{
	static const uint32_t place[V16] = {6, 4, 2, 0, 14, 12, 10, 8, 22, 20, 18, 16, 30, 28, 26, 24};
	return v16_lookup_pair(table4, v16_seti(get_u32(payload + 4 + i / 4)), v16_loadi(place));
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	const uint8_t *payload = frame->payload;
	const float v = weight * get_f32(payload);
	const float value[4] = {0, 0, -v, v};
	const v16t table = v16_table4(value);
	size_t i = first;
	for (; i + V16 <= end; i += V16)
		v16_storef(acc + i, v16_add(v16_streamf(acc + i), values_at(table, payload, i)));
	const size_t rest = end - i;
	if (rest) {
		const v16f sum = v16_add(v16_loadf_few(acc + i, rest), values_at(table, payload, i));
		v16_storef_few(acc + i, sum, rest);
	}
}

/* Between so many streams memory comes late unless it is asked for. */
static void unpack_add_few(const struct frame *frame, const float *weight, size_t count, float *acc,
                           size_t first, size_t end)
{
	enum { LINE = 256 /* elements, whose codes are a cache line */ };
	float value[FRAMES_FEW][4] = {0};
	v16t table[FRAMES_FEW];
	const uint8_t *payload[FRAMES_FEW] = {NULL};
	for (size_t f = 0; f < count; f++) {
		payload[f] = frame[f].payload;
		value[f][3] = weight[f] * get_f32(payload[f]);
		value[f][2] = -value[f][3];
		table[f] = v16_table4(value[f]);
	}
	for (size_t i = first; i < end; i += V16) {
		for (size_t f = 0; f < count && i % LINE == 0; f++)
			prefetch(payload[f] + i / 4, AHEAD / 4 / 4);
		v16f sum = v16_streamf(acc + i);
		for (size_t f = 0; f < count; f++)
			sum = v16_add(sum, values_at(table[f], payload[f], i));
		v16_storef(acc + i, sum);
	}
}

static void describe(const struct frame *frame, crumb_frame *out)
{
	out->codec.value[THRESHOLD] = get_f32(frame->payload);
	frame_fact(out, "threshold", get_f32(frame->payload));
	for (size_t i = 4; i < frame->size; i += 4)
		out->sent += (uint64_t)__builtin_popcount(get_u32(frame->payload + i) & 0xAAAAAAAAu);
}

CODEC_INFO(twobit, .id = 3, .flags = CRUMB_RESIDUAL | CRUMB_FIXED, .name = "twobit",
           .brief = "-threshold, 0 or +threshold in 2 bits (MXNet)", .keys = 2,
           .key = {THRESHOLD_KEY(0.5f), THRESHOLD_SHARE(SHARE_FALLBACK)});

const struct codec PER_ISA(twobit) = {
        .info = &crumb_info_twobit,
        .accepts = accepts,
        .floats = floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .clean = clean,
        .unpack_add = unpack_add,
        .unpack_add_few = unpack_add_few,
        .divides = crumb_frame_divides,
        .describe = describe,
};
