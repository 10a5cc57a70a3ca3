/* What a codec is to the rest of the library, and what it sees of packers and frames.
 *
 * A codec file is compiled once per instruction set; PER_ISA(name) is its name there. The API (crumb.c) has
 * checked everything before it calls a codec: arguments, space, finiteness (but where a codec gates), and of
 * a frame the header and, but for check and clean, the checksums.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CODEC_H
#define CODEC_H

#include <math.h>
#include <stdbool.h>
#include "crumb.h"

#ifndef V16_ISA
#define V16_ISA portable
#define V16_PORTABLE
#endif
#define PASTE_(a, b)  a##_##b
#define PASTE(a, b)   PASTE_(a, b)
#define PER_ISA(name) PASTE(crumb_##name, V16_ISA)

/* The flat block behind a packer; the codec's floats follow it. With CRUMB_RESIDUAL the first n are the
 * residual. */
struct crumb_packer {
	char magic[8];
	uint64_t size; /* of the whole block */
	crumb_codec codec;
	uint64_t n, run, seed;
	uint64_t step;     /* frames packed */
	uint32_t agreed;   /* the numbers that this step's crumb_pack wants are in the codec's floats */
	uint32_t measured; /* crumb_measure has been called for this step */
	uint64_t zero[4];
};
_Static_assert(sizeof(struct crumb_packer) == 128, "a packer's floats begin on a cache line");

static inline float *packer_floats(struct crumb_packer *p) { return (float *)(p + 1); }

/* A frame whose header is in order. */
struct frame {
	uint32_t id;
	uint16_t flags;
	uint64_t n;
	size_t size; /* of the payload */
	const uint8_t *payload;
};

/* What of a frame one thread checks: what begins in the payload's bytes from up to to, either of them a
 * multiple of 16 KiB behind its first byte or its end. */
struct part {
	const uint8_t *from, *to;
	uint64_t bins; /* that end in the part; in the first one less all there are, so that parts add up to 0
	                */
};

/* Of count units of width bytes each, the first of which is at base, those that begin in a part. */
struct units {
	size_t first, end;
};
/* frame.c */
struct units crumb_part_units(const struct part *part, const uint8_t *base, size_t width, size_t count);

/* Whether it is the part that the payload's first byte is in. */
static inline bool part_leads(const struct part *part, const struct frame *frame)
{
	return part->from == frame->payload && part->from < part->to;
}

/* What pack says of a payload, beside its size. What is written in order can be summed while a cache has it.
 */
struct packed {
	uint16_t flags;
	uint32_t sum;          /* the checksum of the bytes before summed: */
	const uint8_t *summed; /* whole blocks, or all */
};

#define UNUSABLE SIZE_MAX /* pack's answer to an element that is not finite or above 2^120 */
enum { FRAMES_FEW = 8 };  /* that are added at once */

/* What a codec is for its users is the same for every instruction set, and only once in the library. */
#ifdef V16_PORTABLE
#define CODEC_INFO(name, ...) const crumb_codec_info crumb_info_##name = {__VA_ARGS__}
#else
#define CODEC_INFO(name, ...) extern const crumb_codec_info crumb_info_##name
#endif
#define CHOICES(...) ((const char *const[]){__VA_ARGS__, NULL})

struct codec {
	const crumb_codec_info *info;
	/* Whether a combination of values, each in its range, is one that the codec takes; NULL: any. */
	bool (*accepts)(const crumb_codec *codec);
	/* Floats of memory that a packer has. */
	size_t (*floats)(const crumb_codec *codec, size_t n);
	/* Most bytes of a payload; n > 0. 0: a tensor of n elements is too large for the codec. */
	size_t (*bound)(const crumb_codec *codec, size_t n);
	/* Writes the payload, moves the residual on, returns the payload's size; n > 0. */
	size_t (*pack)(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
	               struct packed *out);
	/* In place of pack and gates, where a payload is bound / n bytes an element, one after another:
	 * writes those of elements first to end - 1 to dst and returns how many. Ranges come in order, and
	 * but for the last one are 16 KiB of payload; the API has looked at each before. */
	size_t (*put)(const struct crumb_packer *p, const void *grad, enum crumb_dtype type, size_t first,
	              size_t end, uint8_t *dst, struct packed *out);
	/* Whether pack itself looks for what is not usable: it then returns UNUSABLE, and has written to dst
	 * at most. NULL or false: the API has looked before, and pack cannot fail. */
	bool (*gates)(const crumb_codec *codec);
	/* Whether flags and the payload's head are well-formed, and so is what begins in the part, but for
	 * what clean sees to; n > 0. */
	bool (*check)(const struct frame *frame, struct part *part);
	/* Whether no code among the payload's bytes from up to to stands for nothing, in a frame that passed
	 * check: from is a multiple of 16 KiB behind the payload's first byte, and to is the next one or the
	 * payload's end, so that heads are among them. Called beside their checksum, while they are in the
	 * cache. NULL: check sees to all. The functions below are called on frames all parts of which passed
	 * both. */
	bool (*clean)(const struct frame *frame, const uint8_t *from, const uint8_t *to);
	/* acc[i] += weight * decoded[i], for i from first < end to end - 1; first is a multiple of
	 * CRUMB_RANGE, which is one of every block in which codes of fixed width come, and end is one or n.
	 */
	void (*unpack_add)(const struct frame *frame, float weight, float *acc, size_t first, size_t end);
	/* The same of up to FRAMES_FEW frames, to the bit as one after another, where end too is a multiple
	 * of CRUMB_RANGE; NULL: it would gain nothing. */
	void (*unpack_add_few)(const struct frame *frame, const float *weight, size_t count, float *acc,
	                       size_t first, size_t end);
	/* Whether a range costs no more than its share, however short it is (crumb_frame_divides: of every
	 * frame); NULL: never. */
	bool (*divides)(const struct frame *frame);
	/* Sets codec values, sent and facts; the rest is done. */
	void (*describe)(const struct frame *frame, crumb_frame *out);

	/* The rest only where learners agree, or where frames can be added. */
	size_t (*agree_count)(const struct crumb_packer *p);
	void (*measure)(struct crumb_packer *p, const void *grad, enum crumb_dtype type, float *stat);
	void (*agree)(struct crumb_packer *p, const float *stat, size_t learners);
	/* Whether a packer's floats, finite ones, are such as pack leaves them; NULL: any are. */
	bool (*sound)(const struct crumb_packer *p);
	/* The sum of checked frames of one n: its payload's size, or CRUMB_EAGREE if they cannot be added. */
	size_t (*sum_bound)(size_t count, size_t n);
	int64_t (*sum)(const struct frame *frames, size_t count, uint8_t *dst, uint16_t *flags);
};

/* frame.c */
bool crumb_frame_divides(const struct frame *frame);

/* What is compiled once per instruction set. */
struct isa {
	const char *name;
	const struct codec *const *codecs; /* in order of id, which begins at 1; NULL at the end */
	bool (*finite)(const void *grad, size_t n, enum crumb_dtype type);
	/* The CRC-32C of a few bytes. */
	uint32_t (*crc)(const uint8_t *data, size_t size);
	/* The CRC of the CRCs of the 4 KiB blocks (doc/FORMAT.md, 1); it goes on from that of the blocks
	 * before, or 0. The bytes are copied meanwhile, unless copy is NULL. */
	uint32_t (*checksum)(uint32_t before, const uint8_t *data, size_t size, uint8_t *copy);
};

extern const struct isa crumb_isa_portable, crumb_isa_sse2, crumb_isa_avx2, crumb_isa_avx512, crumb_isa_neon;

/* isa.c: the one in use. */
const struct isa *crumb_isa_now(void);

/* spec.c: whether each value is in its range, and the codec of that id; NULL if there is none. */
const struct codec *crumb_codec_find(uint32_t id);
const struct codec *crumb_codec_valid(const crumb_codec *codec);

/* The value of a fact or a key on its way into a crumb_frame. */
static inline void frame_fact(crumb_frame *out, const char *name, double value)
{
	out->fact[out->facts].name = name;
	out->fact[out->facts++].value = value;
}

/* gates, for a codec that always does. */
static inline __attribute__((unused)) bool always_gates(const crumb_codec *codec)
{
	(void)codec;
	return true;
}

static inline bool usable(float x) { return x <= 0x1p120f && x >= -0x1p120f; }

static inline float float_of_bits(uint32_t bits)
{
	float x;
	__builtin_memcpy(&x, &bits, sizeof x);
	return x;
}
static inline uint32_t bits_of_float(float x)
{
	uint32_t bits;
	__builtin_memcpy(&bits, &x, sizeof bits);
	return bits;
}
static inline float get_f32(const uint8_t *src)
{
	float x;
	__builtin_memcpy(&x, src, sizeof x);
	return x;
}

static inline uint32_t get_u32(const uint8_t *src)
{
	uint32_t x;
	__builtin_memcpy(&x, src, sizeof x);
	return x;
}
static inline uint16_t get_u16(const uint8_t *src)
{
	uint16_t x;
	__builtin_memcpy(&x, src, sizeof x);
	return x;
}
static inline uint8_t *put_f32(uint8_t *dst, float x)
{
	__builtin_memcpy(dst, &x, sizeof x);
	return dst + sizeof x;
}
static inline uint8_t *put_u32(uint8_t *dst, uint32_t x)
{
	__builtin_memcpy(dst, &x, sizeof x);
	return dst + sizeof x;
}
static inline uint8_t *put_u16(uint8_t *dst, uint16_t x)
{
	__builtin_memcpy(dst, &x, sizeof x);
	return dst + sizeof x;
}

static inline size_t divide_up(size_t a, size_t b) { return a / b + (a % b != 0); }

/* Whether no norm or scaler that pack has written is infinite, as one is of what is not usable. */
static inline bool no_infinity(const uint8_t *norms, size_t count)
{
	bool good = true;
	for (size_t i = 0; i < count; i++)
		good = good && get_f32(norms + 4 * i) < INFINITY;
	return good;
}

#endif
