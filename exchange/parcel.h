/* A parcel: the frames of a share in one message, on their way up or down. A head, the lengths of the frames
 * (uint64_t, the highest bit set for a sum), which the head's hash covers, and the frames, [learner][slice of
 * the share]. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PARCEL_H
#define PARCEL_H

#include "exchange/exchange_state.h"

/* Returns the bytes of a parcel up to its first frame. */
size_t crumb_parcel_overhead(size_t frames);

/* Moves the frames of slots [learner][slice] together. Slots lie in the message, in the parcel's order. */
void crumb_parcel_join(const struct crumb_exchange *x, const struct share *share, struct slot *slots,
                       size_t learners, struct outgoing *message);

/* Finds the frames of a share, not yet checked, in the message of rank from: frame[stride * slice + learner],
 * and sums[slice].sum; sums: NULL if no frame may be a sum. Returns 0, or CRUMB_EFRAME and why. */
int crumb_parcel_find(struct crumb_exchange *x, unsigned from, const struct share *share, size_t learners,
                      crumb_span *frame, size_t stride, struct slot *sums);

#endif
