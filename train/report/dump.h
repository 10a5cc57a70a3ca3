/* Gradients in files for crumb pack and crumb compare, before compression: a flat file of the whole network
 * and a file for each slice of weights (biases, which go raw, are in the flat file only). The names sort by
 * step: step0000120-flat.npy, step0000120-slice02-conv.npy; slices are counted from 0, biases included.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DUMP_H
#define DUMP_H

#include "nets/net.h"

#include <stdbool.h>

/* Makes the folder if there is none; with `anew` one that holds gradients is refused, which would be mixed
 * with the run's own. Both: 0, or -1 with a line in why, which names the file. */
int dump_open(const char *folder, bool anew, char *why, size_t cap);
int dump_gradient(const char *folder, const struct net *net, const float *grad, size_t step, char *why,
                  size_t cap);

#endif
