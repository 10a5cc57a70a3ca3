/* The test that gradients are finite. SPDX-License-Identifier: MIT */
#ifndef FINITE_H
#define FINITE_H

#include "crumb.h"
#include <stdbool.h>
#include "base/per_isa.h"

#define gradient_finite PER_ISA(gradient_finite)

/* Returns true if all n elements are finite and of magnitude at most 2^120, so that adding a residual cannot
 * overflow. */
bool gradient_finite(const void *grad, size_t n, enum crumb_dtype type);

#endif
