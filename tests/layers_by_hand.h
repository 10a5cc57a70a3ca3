/* Layers by their definitions, in f64: what the trainer's passes are compared with.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LAYERS_BY_HAND_H
#define LAYERS_BY_HAND_H

#include <stddef.h>
#include "nets/net.h"

/* Computes a batch's outputs y of a layer from its inputs x; a sample is [channels][height][width]. A
 * shortcut adds `from`, samples of shape `back`; other layers do not read it. */
void layer_by_hand(const struct net_layer *l, const float *param, size_t batch, const double *x,
                   struct shape back, const double *from, double *y);

#endif
