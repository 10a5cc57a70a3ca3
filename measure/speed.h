/* How fast something packs a gradient and adds what it has packed, and the memory under it.
 *
 * It and the loops that it is compared with run in turns, in one process, so that whatever slows the machine
 * down slows all of them. Time is the thread's CPU time, a figure is the median of its rounds. The gradient
 * is one of several, so that it comes from memory; a hash chooses which, because taking them in order would
 * give every kernel its own.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SPEED_H
#define SPEED_H

#include <crumb.h>
#include <stdbool.h>
#include <stddef.h>

/* pack: the input is known to be finite; pack_safe: it is checked; unpack: added to an accumulator. The
 * others are floors: of read, the sum of the gradient; add, r += g; scale, acc *= s; and copy, memcpy. */
enum speed_kernel {
	SPEED_PACK,
	SPEED_READ,
	SPEED_PACK_SAFE,
	SPEED_ADD,
	SPEED_UNPACK,
	SPEED_SCALE,
	SPEED_COPY,
	SPEED_KERNELS
};

enum { SPEED_GRADIENTS_LOG2 = 2, SPEED_GRADIENTS = 1 << SPEED_GRADIENTS_LOG2 };

/* Everything of n elements, allocated once. */
struct speed {
	size_t n, turn;
	int rounds;
	float *grad[SPEED_GRADIENTS], *residual, *acc, *scaled, *copy;
	volatile float sink; /* keeps the compiler from dropping a sum that nobody wants */
};

/* What is measured; both return an error of crumb.h, or what is not one. */
struct speed_subject {
	int64_t (*pack)(void *self, const float *grad, bool safe);
	int64_t (*unpack)(void *self, float *acc, size_t n);
	void *self;
	int warm_steps; /* that it packs before it is measured */
};

/* Gradients as workload.h makes them, or the n elements of like, rotated. STATUS_OK, or STATUS_FAILED after a
 * message. On any outcome speed_close may follow. */
int speed_open(struct speed *speed, size_t n, const float *like);
void speed_close(struct speed *speed);

/* GB/s of f32 input, by kernel. */
int speed_measure(struct speed *speed, const struct speed_subject *subject, double gbps[SPEED_KERNELS]);

/* The same of a codec, after as many steps as its residual takes to settle. */
int speed_codec(struct speed *speed, const crumb_codec *codec, double gbps[SPEED_KERNELS]);

#endif
