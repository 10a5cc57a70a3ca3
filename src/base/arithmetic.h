/* The arithmetic that the frame format asks of the compiler (doc/FORMAT.md): each operation is rounded to its
 * own type, in the order that is written, and NaN, infinities and signed zeros are what IEEE 754 says.
 * Options that no macro tells of are left to crumb_self_check.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ARITHMETIC_H
#define ARITHMETIC_H

#include <float.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
        defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "crumb has to be compiled without -ffast-math, -Ofast and what they imply: its frames would be wrong"
#endif

/* 16: only _Float16 has a type of its own. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "crumb needs float arithmetic in float: on 32-bit x86 compile it with -msse2 -mfpmath=sse"
#endif

_Static_assert(sizeof 0.1 == sizeof(double), "crumb has to be compiled without -fsingle-precision-constant");

/* No fused multiply-add. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#endif
