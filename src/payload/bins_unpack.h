/* check, unpack_add and describe of a codec whose frames have bins.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BINS_UNPACK_H
#define BINS_UNPACK_H

#include "base/frame_view.h"
#include "base/per_isa.h"

#define bins_unpack_add PER_ISA(bins_unpack_add)
#define bins_describe   PER_ISA(bins_describe)
#define bins_check      PER_ISA(bins_check)

bool bins_check(const struct frame *frame, struct part *part);
void bins_unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end);
/* coding: the number of the codec's key coding. */
void bins_describe(const struct frame *frame, crumb_frame_info *out, size_t coding);

#endif
