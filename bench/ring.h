/* What crumb is measured against: MPI's own all-reduce of float32. The only file under bench/ that knows MPI.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RING_H
#define RING_H

#include <stddef.h>

/* x becomes its mean over all ranks. Which algorithm sums is for Open MPI's parameters to say
 * (bench/exchange). */
void ring_mean(float *x, size_t n);

void ring_barrier(void);
double ring_most(double x); /* over all ranks */

/* Seconds that so many bytes take from rank 0 to rank 1 and an empty answer back. */
double ring_transfer(size_t bytes);

#endif
