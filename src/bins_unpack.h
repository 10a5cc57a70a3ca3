/* Frames of bins: the codec's check, unpack_add and describe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BINS_UNPACK_H
#define BINS_UNPACK_H

#include "codec.h"

bool PER_ISA(bins_check)(const struct frame *frame, struct part *part);
void PER_ISA(bins_unpack_add)(const struct frame *frame, float weight, float *acc, size_t first, size_t end);
/* coding: the number of this key. */
void PER_ISA(bins_describe)(const struct frame *frame, crumb_frame *out, size_t coding);

#endif
