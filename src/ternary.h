/* Frames of ternary digits under scalers, and sums of such frames: terngrad's payload (doc/FORMAT.md,
 * terngrad), once it is written.
 *
 * A sum of N frames, of learners that share their scalers, is one of 2N+1 levels (Wen et al., NeurIPS 2017,
 * section 3.2).
 *
 * SPDX-License-Identifier: MIT */
#ifndef TERNARY_H
#define TERNARY_H

#include "codec.h"
#include "digits.h"
#include "symbols.h"

enum { TERNARY_CLIP, TERNARY_BUCKET, TERNARY_SHARED, TERNARY_CODING }; /* the keys */
enum { TERNARY_ENTROPY = BITS + 1 };                     /* the third coding: what is shortest of */
enum { TERNARY_BLOCKS = TERNARY_ENTROPY, TERNARY_GAPS }; /* these, and trits, in a frame's flags */
enum { TERNARY_FLAG_CODING = 3, TERNARY_FLAG_SHARED = 4, TERNARY_FLAG_SUM = 0x100 };
enum { TERNARY_MOST_BUCKET = 1 << 20 };

/* Digits as symbols; two bits each before they are coded. */
extern const struct symbols PER_ISA(ternary_symbols);

/* bucket: 0 for one scaler. */
static inline size_t ternary_scalers(size_t bucket, size_t n) { return bucket ? divide_up(n, bucket) : 1; }

/* The codec's check, clean, unpack_add, divides, describe, sum_bound and sum. */
bool PER_ISA(ternary_check)(const struct frame *frame, struct part *part);
bool PER_ISA(ternary_clean)(const struct frame *frame, const uint8_t *from, const uint8_t *to);
void PER_ISA(ternary_unpack_add)(const struct frame *frame, float weight, float *acc, size_t first,
                                 size_t end);
bool PER_ISA(ternary_divides)(const struct frame *frame);
void PER_ISA(ternary_describe)(const struct frame *frame, crumb_frame *out);
size_t PER_ISA(ternary_sum_bound)(size_t count, size_t n);
int64_t PER_ISA(ternary_sum)(const struct frame *frames, size_t count, uint8_t *dst, uint16_t *flags);

#endif
