/* A network's parameters before the first step.
 *
 * SPDX-License-Identifier: MIT */
#ifndef INIT_H
#define INIT_H
#include "nets/net.h"

#include <stdint.h>

/* Initialises net->parameters floats. Weights are uniform in He's range before a relu, with or without a
 * normalisation in between, in Glorot's elsewhere, within 1/sqrt(units) in an LSTM; in a transformer they
 * have GPT-2's standard deviations. Normalisations scale by 1. Biases are 0, those of an LSTM's forget
 * gates 1. */
void init_parameters(const struct net *net, uint64_t seed, float *param);

#endif
