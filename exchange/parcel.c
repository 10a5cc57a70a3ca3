/* Parcels of frames.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/parcel.h"

#include <string.h>

#define MARK (UINT64_C(1) << 63)

size_t crumb_parcel_overhead(size_t frames)
{
	return sizeof(struct message_head) + frames * sizeof(uint64_t);
}

void crumb_parcel_begin(struct outgoing *message, size_t frames)
{
	message->len = crumb_parcel_overhead(frames);
	message->body = frames * sizeof(uint64_t);
}

const uint8_t *crumb_parcel_add(struct outgoing *message, size_t i, crumb_span frame, bool marked)
{
	const uint64_t length = frame.len | (marked ? MARK : 0);
	uint8_t *end = message->data + message->len;

	memcpy(message->data + crumb_parcel_overhead(i), &length, sizeof length);
	if (end != frame.data)
		memmove(end, frame.data, frame.len);
	message->len += frame.len;
	return end;
}

struct parcel crumb_parcel_open(crumb_span message, size_t frames)
{
	const size_t table = frames * sizeof(uint64_t);
	const uint8_t *length = crumb_message_body(message, table);

	if (!length)
		return (struct parcel){.damaged = true};
	return (struct parcel){length, length + table, message.len - crumb_parcel_overhead(frames), false};
}

crumb_span crumb_parcel_next(struct parcel *parcel, bool *marked)
{
	uint64_t length = 0;

	if (!parcel->damaged) {
		memcpy(&length, parcel->length, sizeof length);
		parcel->length += sizeof length;
	}
	if (marked) {
		*marked = length & MARK;
		length &= ~MARK;
	}
	parcel->damaged = parcel->damaged || length > parcel->left;
	if (parcel->damaged)
		return (crumb_span){NULL, 0};
	const crumb_span frame = {parcel->data, length};
	parcel->data += length;
	parcel->left -= length;
	return frame;
}

bool crumb_parcel_ended(const struct parcel *parcel) { return !parcel->damaged && !parcel->left; }
