/* Stochastic gradient descent with momentum and weight decay.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPTIMIZER_H
#define OPTIMIZER_H

#include <stddef.h>

/* velocity = momentum * velocity + (gradient + decay * param); param -= rate * velocity; for n elements. */
void optimizer_step(float *param, float *velocity, const float *gradient, size_t n, float rate,
                    float momentum, float decay);

#endif
