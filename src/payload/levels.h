/* Levels: a tensor in buckets, each with a norm; an element is worth the norm times one of a few levels in
 * [-1, 1], rounded at random to one of its two neighbours so that its mean is the element (Alistarh et al.,
 * NeurIPS 2017, section 3; Faghri et al., NeurIPS 2020, section 3).
 *
 * The codecs qsgd, nuqsgd, natural, alq, amq and zipml differ in where their levels are, and in nothing else.
 * They share the payload (doc/FORMAT.md, qsgd), norms, rounding, codes and decoding.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LEVELS_H
#define LEVELS_H

#include "base/frame_view.h"
#include "base/packer.h"
#include "base/per_isa.h"
#include "coding/blocks.h"

#define levels_powers      PER_ISA(levels_powers)
#define levels_unpack_add  PER_ISA(levels_unpack_add)
#define levels_pack        PER_ISA(levels_pack)
#define levels_check_chunk PER_ISA(levels_check_chunk)
#define levels_check       PER_ISA(levels_check)
#define levels_bound       PER_ISA(levels_bound)
#define levels_walk        PER_ISA(levels_walk)
#define levels_even        PER_ISA(levels_even)
#define levels_describe    PER_ISA(levels_describe)
#define levels_codes       PER_ISA(levels_codes)

enum { LEVELS_BITS, LEVELS_BUCKET, LEVELS_CODING, LEVELS_OWN }; /* the common keys; a codec's own follow */
enum { LEVELS_MAX_COUNT = 256, LEVELS_BLOCK = 128, LEVELS_MAX_BUCKET = 1 << 15, LEVELS_HEAD = 8 };
enum levels_norm { LEVELS_L2, LEVELS_MAX };
enum levels_coding { LEVELS_FIXED, LEVELS_HUFFMAN, LEVELS_ENTROPY }; /* also the frame's flags */
enum { LEVELS_VARIABLE_WIDTH = LEVELS_HUFFMAN | LEVELS_ENTROPY };

/* A frame's form: it carries no levels, the multiplier of powers, or every level. */
enum levels_form { LEVELS_EVEN, LEVELS_POWERS, LEVELS_TABLE };

struct levels {
	enum levels_form form;
	uint32_t count;             /* 2^bits, or 2^bits - 1 with 0 in the middle */
	float at[LEVELS_MAX_COUNT]; /* strictly increasing from -1 to 1 */
};

/* The keys that every codec of levels begins with, and two that some have. */
// clang-format off
#define LEVELS_KEYS(bits, max_bits, bucket)                                                             \
	{"bits", "bits of a code at fixed width", bits, 2, max_bits, 1, NULL},                          \
	{"bucket", "elements under one norm, a multiple of 128", bucket, LEVELS_BLOCK, LEVELS_MAX_BUCKET,\
	 LEVELS_BLOCK, NULL},                                                                           \
	{"coding", "how codes are written, at most 4 bits if not fixed", 0, 0, LEVELS_ENTROPY, 1,       \
	 CHOICES("fixed", "huffman", "entropy")}
#define LEVELS_ZERO_KEY(default_value)                                                                  \
	{"zero", "1: zero is a level, of one less in all", default_value, 0, 1, 1, CHOICES("0", "1")}
#define LEVELS_NORM_KEY(default_value)                                                                  \
	{"norm", "the norm of a bucket", default_value, 0, 1, 1, CHOICES("l2", "max")}
// clang-format on

/* Returns the number of levels; zero: zero is one of them. */
static inline uint32_t levels_count(const crumb_codec *codec, bool zero)
{
	return (1u << (unsigned)codec->value[LEVELS_BITS]) - zero;
}

/* Sets form and count, and the first sixteen levels to 0. */
static inline void levels_init(struct levels *levels, enum levels_form form, uint32_t count)
{
	levels->form = form;
	levels->count = count;
	__builtin_memset(levels->at, 0, 16 * sizeof *levels->at);
}

/* Sets levels evenly spaced from -1 to 1 (QSGD). */
void levels_even(struct levels *levels, uint32_t count);

/* Sets plus and minus 1, p, p^2, ..., and 0 if count is odd (NUQSGD, AMQ). */
void levels_powers(struct levels *levels, uint32_t count, float p);

/* The codec's accepts. */
static inline bool levels_accepts(const crumb_codec *codec)
{
	return codec->value[LEVELS_CODING] == LEVELS_FIXED || codec->value[LEVELS_BITS] <= 4;
}

/* Returns the most bytes of a payload. */
size_t levels_bound(const crumb_codec *codec, size_t n, enum levels_form form);

/* Takes the coordinates of one block of up to 128, elements divided by their bucket's norm. */
typedef void levels_visit(void *arg, size_t block, bool first_of_bucket, float norm, const float *y,
                          size_t count);
/* Calls visit for the blocks of a tensor in order, up to the first bucket that holds an unusable element. */
typedef void levels_walk_function(const void *grad, enum crumb_dtype type, size_t n, size_t bucket,
                                  enum levels_norm norm, levels_visit *visit, void *arg);
levels_walk_function levels_walk;

/* Returns the block code of count levels, at most BLOCKS_MOST; for bench/codecs. */
struct block_code levels_codes(uint32_t count);

/* The codec's pack, check, check_chunk, unpack_add and describe; zero_key: the first of its own keys says
 * whether zero is a level. */
size_t levels_pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type,
                   const struct levels *levels, enum levels_norm norm, uint8_t *dst, struct packed *out);
bool levels_check(const struct frame *frame, struct part *part);
bool levels_check_chunk(const struct frame *frame, const uint8_t *from, const uint8_t *to);
void levels_unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end);
void levels_describe(const struct frame *frame, crumb_frame_info *out, bool zero_key);

#endif
