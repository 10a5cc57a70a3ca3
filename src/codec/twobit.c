/* twobit: MXNet's 2-bit compression. Every element sends -threshold, 0 or +threshold and keeps the rest as
 * residual.
 *
 * Packing is one pass over memory. In each chunk, comparisons leave two bitmasks, of the elements that send
 * threshold and of those that send -threshold; then tables make codes of four bits of either, in MXNet's
 * order. Frames of several learners are added together, so that acc is loaded and stored once for all of
 * them.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "check/crc32c.h"
#include "select/threshold.h"
#include "v16/two_bits.h"

enum { THRESHOLD, SHARE }; /* the keys */

#define SHARE_FALLBACK 0.1f

static bool accepts(const crumb_codec *codec)
{
	return threshold_accepts(codec->value[THRESHOLD], codec->value[SHARE], SHARE_FALLBACK);
}

static size_t code_bytes(size_t n) { return 4 * divide_up(n, V16); }

static size_t bound(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return 4 + code_bytes(n);
}

/* Elements whose bitmasks are made before their codes. */
enum { CHUNK = 512, PAIR = 2 * V16 };

/* A bit for each element of a chunk: it sends threshold, or -threshold. */
struct bitmasks {
	uint8_t plus[CHUNK / 8], minus[CHUNK / 8];
};

/* Codes of four elements, the first one's in the most significant bits, by four bits of a bitmask, of which
 * the first one's is the least significant. */
static const uint8_t plus_codes[16] = {0x00, 0xC0, 0x30, 0xF0, 0x0C, 0xCC, 0x3C, 0xFC,
                                       0x03, 0xC3, 0x33, 0xF3, 0x0F, 0xCF, 0x3F, 0xFF},
                     minus_codes[16] = {0x00, 0x80, 0x20, 0xA0, 0x08, 0x88, 0x28, 0xA8,
                                        0x02, 0x82, 0x22, 0xA2, 0x0A, 0x8A, 0x2A, 0xAA};

/* Writes the codes of the first bytes of both bitmasks. */
static void put_codes(uint8_t *codes, const struct bitmasks *sent, size_t bytes)
{
	size_t b = 0;
#ifdef P_HAS_PAIRS
	for (; b + P_HAS_PAIRS / 8 <= bytes; b += P_HAS_PAIRS / 8) {
		const pi code =
		        p_ori(p_pairs(sent->plus + b, plus_codes), p_pairs(sent->minus + b, minus_codes));
		memcpy(codes + 2 * b, &code, sizeof code);
	}
#endif
	for (; b < bytes; b++) {
		const unsigned plus = sent->plus[b], minus = sent->minus[b];
		codes[2 * b] = plus_codes[plus & 15] | minus_codes[minus & 15];
		codes[2 * b + 1] = plus_codes[plus >> 4] | minus_codes[minus >> 4];
	}
}

V16_FN size_t pack_type(struct crumb_packer *p, const void *grad, const enum crumb_dtype type, uint8_t *dst,
                        struct packed *out)
{
	float *r = packer_floats(p);
	const size_t n = p->n;
	const float threshold =
	        threshold_choose(p->codec.value[THRESHOLD], p->codec.value[SHARE], r, type, grad, n);
	const v16f t = v16_set(threshold), minus_t = v16_set(-threshold);
	uint8_t *const codes = put_f32(dst, threshold);
	struct bitmasks chunk;
	for (size_t first = 0, end; first < n; first = end) {
		size_t i = first;
		end = n - first < CHUNK ? n : first + CHUNK;
		for (; i + PAIR <= end; i += PAIR) {
			struct sent sent[2];
			for (size_t k = 0; k < 2; k++) {
				const size_t at = i + V16 * k;
				const v16f x = v16_add(v16_streamf(r + at), v16_stream(type, grad, at));
				v16_storef(r + at, threshold_take(x, t, minus_t, &sent[k]));
			}
			put_u32(chunk.plus + (i - first) / 8, v16_bits_of_two(sent[0].plus, sent[1].plus));
			put_u32(chunk.minus + (i - first) / 8, v16_bits_of_two(sent[0].minus, sent[1].minus));
		}
		for (; i < end; i += V16) {
			const size_t rest = end - i < V16 ? end - i : V16;
			struct sent sent;
			const v16f x = v16_add(v16_loadf_partial(r + i, rest),
			                       v16_load_partial(type, grad, i, rest));
			v16_storef_partial(r + i, threshold_take(x, t, minus_t, &sent), rest);
			put_u16(chunk.plus + (i - first) / 8, (uint16_t)v16_bits(sent.plus));
			put_u16(chunk.minus + (i - first) / 8, (uint16_t)v16_bits(sent.minus));
		}
		put_codes(codes + first / 4, &chunk, 2 * divide_up(end - first, V16));
		packed_to(out, codes + end / 4);
	}
	return 4 + code_bytes(n);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
#define PACK(TYPE) return pack_type(p, grad, TYPE, dst, out)
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

static bool check_chunk(const struct frame *frame, const uint8_t *from, const uint8_t *to)
{
	uint32_t bad = 0;
	for (from += from == frame->payload ? 4 : 0; from < to; from += 4) {
		const uint32_t x = get_u32(from);
		bad |= x & ~(x >> 1) & 0x55555555u;
	}
	return !bad;
}

/* Returns the values of sixteen codes, those of element i and the next ones. */
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
		const v16f sum = v16_add(v16_loadf_partial(acc + i, rest), values_at(table, payload, i));
		v16_storef_partial(acc + i, sum, rest);
	}
}

enum { TOGETHER = 8 /* frames added in a register */ };

/* Adds at most TOGETHER frames over whole groups. Codes are prefetched, since the hardware prefetcher does
 * not follow so many streams. */
static void add_together(const struct frame *frame, const float *weight, size_t count, float *acc,
                         size_t first, size_t end)
{
	enum { LINE = 256 /* elements whose codes fill a cache line */ };
	float value[TOGETHER][4] = {0};
	v16t table[TOGETHER];
	const uint8_t *payload[TOGETHER] = {NULL};
	for (size_t f = 0; f < count; f++) {
		payload[f] = frame[f].payload;
		value[f][3] = weight[f] * get_f32(payload[f]);
		value[f][2] = -value[f][3];
		table[f] = v16_table4(value[f]);
	}
	for (size_t i = first; i < end; i += V16) {
		for (size_t f = 0; f < count && i % LINE == 0; f++)
			prefetch(payload[f] + i / 4, PREFETCH_BYTES / 4 / 4);
		v16f sum = v16_streamf(acc + i);
		for (size_t f = 0; f < count; f++)
			sum = v16_add(sum, values_at(table[f], payload[f], i));
		v16_storef(acc + i, sum);
	}
}

static void unpack_add_many(const struct frame *frame, const float *weight, size_t count, float *acc,
                            size_t first, size_t end)
{
	const size_t whole = end - end % V16;
	for (size_t f = 0; f < count; f += TOGETHER)
		add_together(frame + f, weight + f, count - f < TOGETHER ? count - f : TOGETHER, acc, first,
		             whole);
	for (size_t f = 0; f < count && whole < end; f++)
		unpack_add(frame + f, weight[f], acc, whole, end);
}

static void describe(const struct frame *frame, crumb_frame_info *out)
{
	out->codec.value[THRESHOLD] = get_f32(frame->payload);
	frame_fact(out, "threshold", get_f32(frame->payload));
	for (size_t i = 4; i < frame->size; i += 4)
		out->sent += (uint64_t)__builtin_popcount(get_u32(frame->payload + i) & 0xAAAAAAAAu);
}

CODEC_INFO(twobit, .id = 3, .flags = CRUMB_CODEC_RESIDUAL | CRUMB_CODEC_FIXED, .name = "twobit",
           .brief = "-threshold, 0 or +threshold in 2 bits (MXNet)", .keys = 3,
           .key = {THRESHOLD_KEY(0.5f), THRESHOLD_SHARE(SHARE_FALLBACK), DECAY_KEY});

const struct codec PER_ISA(twobit) = {
        .info = &crumb_info_twobit,
        .accepts = accepts,
        .floats = residual_floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .check_chunk = check_chunk,
        .unpack_add = unpack_add,
        .unpack_add_many = unpack_add_many,
        .describe = describe,
};
