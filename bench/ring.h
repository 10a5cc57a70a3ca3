/* The baseline of exchanges: MPI's own all-reduce of float32.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RING_H
#define RING_H

#include <stddef.h>

/* Replaces x by its mean over all ranks. Open MPI's parameters choose the algorithm (bench/run). */
void ring_mean(float *x, size_t n);

void ring_barrier(void);
double ring_most(double x); /* maximum over all ranks */

/* Returns the seconds of a message of so many bytes from rank 0 to rank 1 and an empty answer. */
double ring_transfer(size_t bytes);

#endif
