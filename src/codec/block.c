/* block: integers of 8 or 4 bits under a scale a block, rounded to nearest or at random (ZeRO++: Wang et al.
 * 2023).
 *
 * A block's greatest magnitude is found while it comes from memory; its elements are rounded from L1. The
 * payload is written in order, and checksummed from L1, too.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "check/crc32c.h"
#include "v16/rng.h"

enum { BITS, BLOCK, ROUNDING }; /* the keys */
enum { STOCHASTIC, NEAREST };
enum { FLAG_4BIT = 1 };
enum { MOST_BLOCK = 1 << 15 };

/* A block's greatest magnitude is taken to be at least this, so that no factor overflows. */
#define LEAST 0x1p-90f

/* Two groups of sixteen: with 4 bits a byte has an element of either. */
enum { PAIR = 2 * V16 };

/* The division of a tensor into blocks. */
struct shape {
	size_t n, bits, block, count; /* count: blocks */
};

static struct shape shape_of(size_t n, size_t bits, size_t block)
{
	return (struct shape){n, bits, block, divide_up(n, block)};
}

static size_t code_bytes(size_t bits, size_t elements)
{
	return bits == 8 ? elements : divide_up(elements, PAIR) * V16;
}

/* Bytes of a block that is not the last. */
static size_t stride(const struct shape *s) { return 4 + code_bytes(s->bits, s->block); }

static size_t payload_bytes(const struct shape *s)
{
	const size_t before = s->count - 1;
	return 4 + before * stride(s) + 4 + code_bytes(s->bits, s->n - before * s->block);
}

static size_t bound(const crumb_codec *codec, size_t n)
{
	const struct shape s = shape_of(n, (size_t)codec->value[BITS], (size_t)codec->value[BLOCK]);
	return payload_bytes(&s);
}

/* ---- pack ----------------------------------------------------------------------------------- */

/* Returns the greatest magnitude of a block; infinity if an element is not usable. */
V16_FN float greatest(const void *grad, const enum crumb_dtype type, size_t first, size_t end)
{
	v16f max = v16_set(0);
	size_t i = first;
	for (; i + V16 <= end; i += V16)
		max = v16_max_abs_nan(v16_stream(type, grad, i), max);
	if (i < end)
		max = v16_max_abs_nan(v16_load_partial(type, grad, i, end - i), max);
	return v16_usable(max) ? v16_max_lane(max) : INFINITY;
}

/* Elements times factor are codes times 2^24, at most `most` but for the last bit. */
struct rounding {
	v16f factor, most;
	bool nearest;
	rng random;
};

/* Returns the codes of sixteen elements, in the lowest bits. */
V16_FN v16i round_group(struct rounding *r, v16f x, const size_t bits, const bool nearest)
{
	const v16i size = v16_trunc(v16_min(v16_mul(v16_abs(x), r->factor), r->most)),
	           add = nearest ? v16_seti(1u << 23) : rng_bits(&r->random),
	           q = v16_shr(v16_addi(size, add), 24);
	return v16_andi(v16_addi_signed(v16_seti(0), q, x), v16_seti((1u << bits) - 1));
}

/* Writes the codes of 32 elements. */
V16_FN void put_pair(uint8_t *dst, struct rounding *r, v16f x, v16f y, const size_t bits, const bool nearest)
{
	const v16i a = round_group(r, x, bits, nearest), b = round_group(r, y, bits, nearest);
	if (bits == 4) {
		v16_store_u8(dst, v16_ori(a, v16_shl(b, 4)));
	} else {
		v16_store_u8(dst, a);
		v16_store_u8(dst + V16, b);
	}
}

/* Writes the codes of n elements. */
V16_FN uint8_t *put_codes(uint8_t *dst, struct rounding *r, const float *x, size_t n, const size_t bits,
                          const bool nearest)
{
	struct rounding own = *r; /* which no store to dst can change */
	size_t i = 0;
	for (; i + PAIR <= n; i += PAIR, dst += code_bytes(bits, PAIR))
		put_pair(dst, &own, v16_loadf(x + i), v16_loadf(x + i + V16), bits, nearest);
	if (i < n) {
		float rest[PAIR] = {0};
		uint8_t code[PAIR];
		memcpy(rest, x + i, (n - i) * sizeof *rest);
		put_pair(code, &own, v16_loadf(rest), v16_loadf(rest + V16), bits, nearest);
		memcpy(dst, code, code_bytes(bits, n - i));
		dst += code_bytes(bits, n - i);
	}
	r->random = own.random;
	return dst;
}

/* Writes a block's codes. Random numbers have a generator for each SUM_BLOCK elements of the tensor. */
static uint8_t *put_block(uint8_t *dst, const struct crumb_packer *p, struct rounding *r, const void *grad,
                          enum crumb_dtype type, size_t first, size_t end)
{
	for (size_t i = first, next; i < end; i = next) {
		next = (i / SUM_BLOCK + 1) * SUM_BLOCK;
		next = next < end ? next : end;
		if (i % SUM_BLOCK == 0)
			r->random = rng_at(p->seed, p->step, i);
		const float *x = (const float *)grad + i;
		float wide[SUM_BLOCK];
		if (type != CRUMB_F32) {
			v16_widen(wide, SUM_BLOCK, type, grad, i, next - i);
			x = wide;
		}
		const size_t n = next - i;
		if (p->codec.value[BITS] == 8)
			dst = r->nearest ? put_codes(dst, r, x, n, 8, true)
			                 : put_codes(dst, r, x, n, 8, false);
		else
			dst = r->nearest ? put_codes(dst, r, x, n, 4, true)
			                 : put_codes(dst, r, x, n, 4, false);
	}
	return dst;
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	const struct shape s = shape_of(p->n, (size_t)p->codec.value[BITS], (size_t)p->codec.value[BLOCK]);
	const float most = s.bits == 8 ? 127 : 7;
	struct rounding r = {.most = v16_set(most * 0x1p24f), .nearest = p->codec.value[ROUNDING] == NEAREST};
	uint8_t *at = put_u32(dst, (uint32_t)s.block);
	out->flags = s.bits == 8 ? 0 : FLAG_4BIT;
	for (size_t first = 0, end; first < s.n; first = end) {
		end = s.n - first < s.block ? s.n : first + s.block;
		const float found = type == CRUMB_F32 ? greatest(grad, CRUMB_F32, first, end)
		                                      : greatest(grad, type, first, end);
		const float max = found > LEAST ? found : LEAST;
		if (max == INFINITY)
			return UNUSABLE;
		r.factor = v16_set(most * 0x1p24f / max);
		at = put_block(put_f32(at, max / most), p, &r, grad, type, first, end);
		packed_to(out, at);
	}
	return (size_t)(at - dst);
}

/* ---- frames --------------------------------------------------------------------------------- */

static struct shape shape_of_frame(const struct frame *frame)
{
	return shape_of(frame->n, frame->flags & FLAG_4BIT ? 4 : 8, get_u32(frame->payload));
}

static const uint8_t *block_at(const struct frame *frame, const struct shape *s, size_t b)
{
	return frame->payload + 4 + b * stride(s);
}

/* Returns true if the codes of 4 bits after the last element are 0. */
static bool ends_clean(const struct frame *frame, const struct shape *s)
{
	const size_t used = s->n % PAIR;
	const uint8_t *const last = frame->payload + frame->size - V16;
	unsigned bad = 0;
	for (size_t k = used; used && s->bits == 4 && k < PAIR; k++)
		bad |= k < V16 ? last[k] & 15u : last[k - V16] >> 4;
	return !bad;
}

static bool check(const struct frame *frame, struct part *part)
{
	if (frame->flags & ~FLAG_4BIT || frame->size < 4)
		return false;
	const uint32_t block = get_u32(frame->payload);
	if (block < PAIR || block > MOST_BLOCK || block % PAIR)
		return false;
	const struct shape s = shape_of_frame(frame);
	if (frame->size != payload_bytes(&s))
		return false;
	const struct units own = part_units(part, frame->payload + 4, stride(&s), s.count);
	bool good = ends_clean(frame, &s);
	for (size_t b = own.first; b < own.end; b++) {
		const float scale = get_f32(block_at(frame, &s, b));
		good = good && usable(scale) && bits_of_float(scale) >> 31 == 0;
	}
	return good;
}

/* Returns the values, over the scale, of 16 codes of bits bits. */
V16_FN v16f values_of(v16i code, const size_t bits)
{
	const uint32_t sign = 1u << (bits - 1);
	return v16_sub(v16_float_of(v16_xori(code, v16_seti(sign))), v16_set((float)sign));
}

V16_FN void add_bits(const struct frame *frame, float weight, float *acc, size_t first, size_t end,
                     const size_t bits)
{
	const struct shape s = shape_of_frame(frame);
	for (size_t b = first / s.block; b * s.block < end; b++) {
		const size_t begin = b * s.block, from = begin < first ? first : begin,
		             to = end - begin < s.block ? end : begin + s.block;
		const uint8_t *const head = block_at(frame, &s, b),
		                     *code = head + 4 + (from - begin) * bits / 8;
		const v16f scale = v16_set(weight * get_f32(head));
		for (size_t i = from; i < to; i += PAIR, code += PAIR * bits / 8) {
			uint8_t rest[PAIR] = {0};
			const uint8_t *src = code;
			if (to - i < PAIR && bits == 8)
				src = memcpy(rest, code, to - i);
			v16i low = v16_load_u8(src), high = low;
			if (bits == 8)
				high = v16_load_u8(src + V16);
			else
				low = v16_andi(low, v16_seti(15)), high = v16_shr(high, 4);
			v16_add_some(acc + i, v16_mul(scale, values_of(low, bits)), to - i);
			if (to - i > V16)
				v16_add_some(acc + i + V16, v16_mul(scale, values_of(high, bits)),
				             to - i - V16);
		}
	}
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	if (frame->flags & FLAG_4BIT)
		add_bits(frame, weight, acc, first, end, 4);
	else
		add_bits(frame, weight, acc, first, end, 8);
}

static void describe(const struct frame *frame, crumb_frame_info *out)
{
	const struct shape s = shape_of_frame(frame);
	out->codec.value[BITS] = (float)s.bits;
	out->codec.value[BLOCK] = (float)s.block;
	for (size_t b = 0; b < s.count; b++) {
		const uint8_t *const head = block_at(frame, &s, b), *const code = head + 4;
		const size_t rest = s.n - b * s.block,
		             bytes = code_bytes(s.bits, rest < s.block ? rest : s.block);
		for (size_t i = 0; i < bytes && get_f32(head) > 0; i++)
			out->sent +=
			        s.bits == 8 ? code[i] != 0 : (size_t)(code[i] % 16 != 0) + (code[i] > 15);
	}
}

CODEC_INFO(block, .id = 19, .flags = CRUMB_CODEC_RANDOM | CRUMB_CODEC_FIXED, .name = "block",
           .brief = "integers of 8 or 4 bits, a scale a block (ZeRO++: Wang et al. 2023)", .keys = 3,
           .key = {{"bits", "of an element, 4 or 8", 8, 4, 8, 4, NULL},
                   {"block", "elements under one scale", 512, PAIR, MOST_BLOCK, PAIR, NULL},
                   {"rounding", "stochastic: at random, so that the mean is the element; nearest", STOCHASTIC,
                    0, 1, 1, CHOICES("stochastic", "nearest")}});

const struct codec PER_ISA(block) = {
        .info = &crumb_info_block,
        .checks_itself = true,
        .bound = bound,
        .pack = pack,
        .check = check,
        .unpack_add = unpack_add,
        .describe = describe,
};
