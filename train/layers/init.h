/* A network's parameters before the first step.
 *
 * SPDX-License-Identifier: MIT */
#ifndef INIT_H
#define INIT_H
#include "nets/net.h"

#include <stdint.h>

/* Initialises net->parameters floats. Weights are uniform in He's range before a relu, in Glorot's elsewhere,
 * in a transformer of GPT-2's standard deviations; biases are 0. */
void init_parameters(const struct net *net, uint64_t seed, float *param);

#endif
