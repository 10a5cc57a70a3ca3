/* The speed of packing a gradient and adding the frame, beside the memory's.
 *
 * The codec and the baselines alternate in one process, so that a disturbance of the machine slows them
 * alike. Time is the thread's CPU time, a figure is the median of its rounds. The gradient is one of several,
 * so that it comes from memory; a hash chooses which, because a fixed order would give every kernel its own
 * gradient.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SPEED_H
#define SPEED_H

#include <crumb.h>
#include <stdbool.h>
#include <stddef.h>

/* pack: the input is known to be finite; pack_safe: it is checked; unpack: added to an accumulator. The
 * others are baselines: read, the sum of the gradient; add, r += g; scale, acc *= s; and copy, memcpy. */
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

/* Buffers of n elements, allocated once. */
struct speed {
	size_t n, turn;
	int rounds;
	float *grad[SPEED_GRADIENTS], *residual, *acc, *scaled, *copy;
	volatile float sink; /* keeps the compiler from dropping an unused sum */
};

/* The measured functions, which return an error of crumb.h or a value that is not negative. */
struct speed_subject {
	int64_t (*pack)(void *self, const float *grad, bool safe);
	int64_t (*unpack)(void *self, float *acc, size_t n);
	void *self;
	int warm_steps; /* packed before the measurement */
};

/* Allocates, and fills the gradients with workload.h's, or with the n elements of like, rotated. STATUS_OK,
 * or STATUS_FAILED after a message. On any outcome speed_close may follow. */
int speed_open(struct speed *speed, size_t n, const float *like);
void speed_close(struct speed *speed);

/* Measures GB/s of f32 input for each kernel. */
int speed_measure(struct speed *speed, const struct speed_subject *subject, double gbps[SPEED_KERNELS]);

/* Measures a codec, after as many steps as its residual takes to settle. */
int speed_codec(struct speed *speed, const crumb_codec *codec, double gbps[SPEED_KERNELS]);

#endif
