/* Payloads of terngrad (doc/FORMAT.md, terngrad): ternary digits under scalers, and sums of such payloads.
 *
 * A sum of N frames of learners that share their scalers has 2N + 1 levels (Wen et al., NeurIPS 2017,
 * section 3.1).
 *
 * SPDX-License-Identifier: MIT */
#ifndef TERNARY_H
#define TERNARY_H

#include "base/bytes.h"
#include "base/frame_view.h"
#include "base/per_isa.h"
#include "payload/trits.h"
#include "coding/blocks.h"

#define ternary_codes       PER_ISA(ternary_codes)
#define ternary_unpack_add  PER_ISA(ternary_unpack_add)
#define ternary_sum_bound   PER_ISA(ternary_sum_bound)
#define ternary_sum         PER_ISA(ternary_sum)
#define ternary_describe    PER_ISA(ternary_describe)
#define ternary_check_chunk PER_ISA(ternary_check_chunk)
#define ternary_check       PER_ISA(ternary_check)

enum { TERNARY_CLIP, TERNARY_BUCKET, TERNARY_SHARED, TERNARY_CODING }; /* keys of the codec */
enum { TERNARY_FLAG_CODING = 3, TERNARY_FLAG_SHARED = 4, TERNARY_FLAG_SUM = 0x100 };
/* The codings of a payload: TRITS, BITS, and these; PLANES has a flag of its own. */
enum { TERNARY_BLOCKS = BITS + 1, TERNARY_GAPS, TERNARY_PLANES };
enum { TERNARY_ENTROPY = BITS + 1 }; /* value of the key coding: the shortest of trits, gaps and blocks */
enum { TERNARY_VARIABLE_WIDTH = TERNARY_BLOCKS & TERNARY_GAPS }; /* the flag that both have */
enum { TERNARY_MAX_BUCKET = 1 << 20 };

/* Digits as symbols, whose fixed-width codes are BITS. */
extern const struct block_code ternary_codes;

/* bucket: 0 for one scaler. */
static inline size_t ternary_scalers(size_t bucket, size_t n) { return bucket ? divide_up(n, bucket) : 1; }

/* The codec's check, check_chunk, unpack_add and describe, and its summing (codec/codec.h). */
bool ternary_check(const struct frame *frame, struct part *part);
bool ternary_check_chunk(const struct frame *frame, const uint8_t *from, const uint8_t *to);
void ternary_unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end);
void ternary_describe(const struct frame *frame, crumb_frame_info *out);
size_t ternary_sum_bound(size_t count, size_t n);
int64_t ternary_sum(const struct frame *frames, size_t count, uint8_t *dst, uint16_t *flags);

#endif
