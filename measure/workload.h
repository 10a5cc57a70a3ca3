/* Gradients to measure with: Gaussian with a heavy tail, layer by layer.
 *
 * SPDX-License-Identifier: MIT */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

/* Fills grad with layers of 4 Ki to 2.4 Mi elements (the same for every seed), each of its own standard
 * deviation between 1e-5 and 1e-2 before the tail: a Gaussian times a log-normal of sigma 1. */
void workload_gradient(float *grad, size_t n, uint64_t seed);

#endif
