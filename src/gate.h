/* The gate: what may enter a packer. SPDX-License-Identifier: MIT */
#ifndef GATE_H
#define GATE_H

#include "codec.h"

/* Whether all n elements are finite and of magnitude at most 2^120, so that adding a residual cannot
 * overflow. */
bool PER_ISA(finite)(const void *grad, size_t n, enum crumb_dtype type);

#endif
