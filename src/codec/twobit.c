/* twobit: MXNet's 2-bit compression. Every element sends -threshold, 0 or +threshold and keeps the rest.
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

/* Elements whose codes are made together. Memory would wait for those of a long run. */
enum { PAIR = 2 * V16, RUN = 4096, RUN_OF_MEMORY = 512 };

/* Of a run, a bit an element: whether it sends threshold, and -threshold. */
struct run {
	uint8_t plus[RUN / 8], minus[RUN / 8];
};

/* Of 32 elements, the first of a byte's four in its least significant bits. */
static inline uint64_t code_of(uint32_t plus, uint32_t minus)
{
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

/* The codes of a run of so many groups. */
static __attribute__((noinline)) void put_codes(uint8_t *codes, const struct run *run, size_t groups)
{
	size_t g = 0;
#ifdef P_HAS_PAIRS
	static const uint8_t three[16] = {0x00, 0xC0, 0x30, 0xF0, 0x0C, 0xCC, 0x3C, 0xFC,
	                                  0x03, 0xC3, 0x33, 0xF3, 0x0F, 0xCF, 0x3F, 0xFF},
	                     two[16] = {0x00, 0x80, 0x20, 0xA0, 0x08, 0x88, 0x28, 0xA8,
	                                0x02, 0x82, 0x22, 0xA2, 0x0A, 0x8A, 0x2A, 0xAA};
	for (; g + P_HAS_PAIRS / V16 <= groups; g += P_HAS_PAIRS / V16) {
		const pi code = p_ori(p_pairs(run->plus + 2 * g, three), p_pairs(run->minus + 2 * g, two));
		memcpy(codes + 4 * g, &code, sizeof code);
	}
#endif
	uint8_t *const rest = codes + 4 * g;
	for (; g + 2 <= groups; g += 2) {
		const uint64_t code = code_of(get_u32(run->plus + 2 * g), get_u32(run->minus + 2 * g));
		memcpy(codes + 4 * g, &code, sizeof code);
	}
	if (g < groups)
		put_u32(codes + 4 * g,
		        (uint32_t)code_of(get_u16(run->plus + 2 * g), get_u16(run->minus + 2 * g)));
	turn(rest, (size_t)(codes + 4 * groups - rest));
}

/* cached: nothing has to be asked for. */
V16_FN size_t pack_type(struct crumb_packer *p, const void *grad, const enum crumb_dtype type, uint8_t *dst,
                        const bool cached, struct packed *out)
{
	float *r = packer_floats(p);
	const size_t n = p->n, most = n <= L2_ELEMENTS ? RUN : RUN_OF_MEMORY;
	const float threshold =
	        threshold_choose(p->codec.value[THRESHOLD], p->codec.value[SHARE], r, type, grad, n);
	const v16f t = v16_set(threshold), minus_t = v16_set(-threshold);
	uint8_t *const codes = put_f32(dst, threshold);
	struct run run;
	for (size_t first = 0, end; first < n; first = end) {
		size_t i = first;
		end = n - first < most ? n : first + most;
		for (; i + PAIR <= end; i += PAIR) {
			struct sent sent[2];
			for (size_t k = 0; k < 2; k++) {
				const size_t at = i + V16 * k;
				const v16f x =
				        cached ? v16_add(v16_loadf(r + at), v16_load(type, grad, at))
				               : v16_add(v16_streamf(r + at), v16_stream(type, grad, at));
				v16_storef(r + at, threshold_take(x, t, minus_t, &sent[k]));
			}
			put_u32(run.plus + (i - first) / 8, v16_bits_of_two(sent[0].plus, sent[1].plus));
			put_u32(run.minus + (i - first) / 8, v16_bits_of_two(sent[0].minus, sent[1].minus));
		}
		for (; i < end; i += V16) {
			const size_t few = end - i < V16 ? end - i : V16;
			struct sent sent;
			const v16f x =
			        v16_add(v16_loadf_partial(r + i, few), v16_load_partial(type, grad, i, few));
			v16_storef_partial(r + i, threshold_take(x, t, minus_t, &sent), few);
			put_u16(run.plus + (i - first) / 8, (uint16_t)v16_bits(sent.plus));
			put_u16(run.minus + (i - first) / 8, (uint16_t)v16_bits(sent.minus));
		}
		put_codes(codes + first / 4, &run, divide_up(end - first, V16));
		packed_to(out, codes + end / 4);
	}
	return 4 + code_bytes(n);
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	if (V16_LANES == 16 && type == CRUMB_F32 && p->n <= L2_ELEMENTS)
		return pack_type(p, grad, CRUMB_F32, dst, true, out);
#define PACK(TYPE) pack_type(p, grad, TYPE, dst, false, out)
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

/* What the codes of sixteen elements stand for, the first of which is element i. */
V16_FN v16f values_at(v16t table4, const uint8_t *payload, size_t i)
{
	static const uint32_t place[V16] = {6, 4, 2, 0, 14, 12, 10, 8, 22, 20, 18, 16, 30, 28, 26, 24};
	return v16_lookup_pair(table4, v16_seti(get_u32(payload + 4 + i / 4)), v16_loadi(place));
}

static void add_one(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
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

/* Adds several frames of whole groups. The hardware prefetcher does not follow so many streams. */
static void add_together(const struct frame *frame, const float *weight, size_t count, float *acc,
                         size_t first, size_t end)
{
	enum { LINE = 256 /* elements, whose codes are a cache line */ };
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

static size_t unpack_add(const struct frame *frame, const float *weight, size_t count, float *acc,
                         size_t first, size_t end)
{
	count = count < TOGETHER ? count : TOGETHER;
	if (count == 1 || end % V16) {
		add_one(frame, *weight, acc, first, end);
		return 1;
	}
	add_together(frame, weight, count, acc, first, end);
	return count;
}

static void describe(const struct frame *frame, crumb_frame_info *out)
{
	out->codec.value[THRESHOLD] = get_f32(frame->payload);
	frame_fact(out, "threshold", get_f32(frame->payload));
	for (size_t i = 4; i < frame->size; i += 4)
		out->sent += (uint64_t)__builtin_popcount(get_u32(frame->payload + i) & 0xAAAAAAAAu);
}

CODEC_INFO(twobit, .id = 3, .flags = CRUMB_CODEC_RESIDUAL | CRUMB_CODEC_FIXED, .name = "twobit",
           .brief = "-threshold, 0 or +threshold in 2 bits (MXNet)", .keys = 2,
           .key = {THRESHOLD_KEY(0.5f), THRESHOLD_SHARE(SHARE_FALLBACK)});

const struct codec PER_ISA(twobit) = {
        .info = &crumb_info_twobit,
        .accepts = accepts,
        .floats = residual_floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .check_chunk = check_chunk,
        .unpack_add = unpack_add,
        .describe = describe,
};
