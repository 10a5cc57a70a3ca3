/* Sixteen lanes on every machine: the vocabulary in which codecs are written.
 *
 * A group of sixteen elements is one AVX-512 register, two AVX2, four SSE2 or NEON, or sixteen scalars. The
 * header of an instruction set defines a *part* (a register of V16_LANES lanes) and operations p_... on it.
 * operations.h, memory.h and compaction.h make the sixteen-lane operations v16_... of these. Every operation
 * gives the same bits on every instruction set: there is no fused multiply-add, no reciprocal estimate, no
 * flush to zero.
 *
 * v16f: 16 f32. v16i: 16 u32. v16m: a mask, of whatever shape the machine compares into. v16t: a table of 16,
 * 8 or 4 f32.
 *
 * An instruction set's header defines P_HAS_... where it has operations beyond those that all have.
 * Others have a slower equivalent of these:
 *   BMI                bit scans and pdep of scalars
 *   BITS_OF_TWO        p_bits_of_two
 *   COMPRESS           p_compress_u16, and p_expand_u16 unless it has REFILL
 *   COMPRESS_BOTH      p_compress_both_u16
 *   COMPRESS_NUMBERS   p_compress_numbers
 *   F16                p_load_f16, p_store_f16
 *   FUSED              the operations under #ifndef P_HAS_FUSED in operations.h, in one instruction or two
 *   GT_SIZE            p_gt_size
 *   REFILL             p_refill
 *   TRITS              p_no_trits, p_add_trits, p_put_trits
 * Callers of these have other code for machines without them:
 *   LIST               v16_list_numbers
 *   NIBBLES            v16_load_planes, v16_to_each_byte; v16_lookup sees the lower four bits of a lane alone
 *   ONES               v16_ones
 *   PAIRS              p_pairs; its value is the number of elements
 *   SHIFT_IN           v16_shift_in
 *   WORDS              p_words, p_lower, p_upper and p_...w, on 32 words of 16 bits
 * P_LOOKUP_BITS: the number of a lane's bits that a lookup looks at, or 0 if it needs the number alone.
 *
 * SPDX-License-Identifier: MIT */
#ifndef V16_H
#define V16_H

#include "base/arithmetic.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Elements whose f32 are summed in order, and whose random numbers have one generator (doc/FORMAT.md, 3). */
enum { SUM_BLOCK = 4096 };

/* With V16_CALLS inlining is up to the compiler, so that files compile in less time. */
#ifdef V16_CALLS
#define V16_INLINE
#else
#define V16_INLINE __attribute__((always_inline))
#endif

/* The build chooses, not the compiler's macros: the compiler may be allowed more than the file is for. */
#if defined(V16_AVX512)
#include "v16/avx512.h"
#elif defined(V16_AVX2)
#include "v16/avx2.h"
#elif defined(V16_SSE2)
#include "v16/sse2.h"
#elif defined(V16_NEON)
#include "v16/neon.h"
#else
#include "v16/portable.h"
#endif

#define V16_FN static inline V16_INLINE __attribute__((unused))

enum { V16 = 16, V16_PARTS = V16 / V16_LANES };

#include "v16/operations.h"
#include "v16/memory.h"
#include "v16/compaction.h"

#endif
