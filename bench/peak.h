/* How many operations on vectors the CPU carries out, whatever they are: the arithmetic's side of the
 * roofline.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PEAK_H
#define PEAK_H

#include <stdbool.h>
#include <stddef.h>

/* Carries out an instruction on vectors of that set for every sixteen of n elements, eight side by side,
 * without memory; false if it is a set of no such vectors. */
bool peak_run(const char *isa, size_t n);

#endif
