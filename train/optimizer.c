/* The step of the optimizer.
 *
 * SPDX-License-Identifier: MIT */
#include "optimizer.h"

void optimizer_step(float *restrict param, float *restrict velocity, const float *restrict gradient, size_t n,
                    float rate, float momentum, float decay)
{
	for (size_t i = 0; i < n; i++) {
		velocity[i] = momentum * velocity[i] + (gradient[i] + decay * param[i]);
		param[i] -= rate * velocity[i];
	}
}
