/* What a speed is made of.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TIMING_H
#define TIMING_H

#include <stddef.h>

/* This thread's CPU time in seconds. */
double timing_now(void);

/* How often to repeat something on n elements within one timing, so that the clock's own cost does not show;
 * n >= 1. */
size_t timing_repeats(size_t n);

#endif
