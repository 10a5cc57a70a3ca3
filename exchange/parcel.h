/* A parcel: many frames in one message, on their way up or down. A head, the lengths of the frames
 * (uint64_t), which the head's hash covers, and the frames. The highest bit of a length may mark its frame.
 * Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PARCEL_H
#define PARCEL_H

#include <stdbool.h>
#include "exchange/message.h"

/* Returns the bytes of a parcel of so many frames without the frames. */
size_t crumb_parcel_overhead(size_t frames);

/* Begins a parcel in message->data. */
void crumb_parcel_begin(struct outgoing *message, size_t frames);

/* Appends the i-th frame and returns its new place. It may lie further on in the same message. */
const uint8_t *crumb_parcel_add(struct outgoing *message, size_t i, crumb_span frame, bool marked);

/* A parcel that came, and is read frame by frame. */
struct parcel {
	const uint8_t *length, *data;
	size_t left;
	bool damaged;
};

struct parcel crumb_parcel_open(crumb_span message, size_t frames);

/* Returns the next frame, not yet checked, empty if the parcel is damaged. marked: NULL if no frame may be.
 */
crumb_span crumb_parcel_next(struct parcel *parcel, bool *marked);

/* Returns true if, after the last frame, the parcel was undamaged and nothing is left of it. */
bool crumb_parcel_ended(const struct parcel *parcel);

#endif
