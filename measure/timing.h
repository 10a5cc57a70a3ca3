/* CPU time and repetitions, of which speeds are made.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TIMING_H
#define TIMING_H

#include <stddef.h>

/* Returns this thread's CPU time in seconds. */
double timing_now(void);

/* Returns the repetitions on n elements within one timing that make the clock's own cost negligible. n >=
 * 1. */
size_t timing_repeats(size_t n);

#endif
