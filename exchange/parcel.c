/* Parcels of frames.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/parcel.h"

#include <string.h>

#define SUM (UINT64_C(1) << 63)

size_t crumb_parcel_overhead(size_t frames)
{
	return sizeof(struct message_head) + frames * sizeof(uint64_t);
}

void crumb_parcel_join(const struct crumb_exchange *x, const struct share *share, struct slot *slots,
                       size_t learners, struct outgoing *message)
{
	const size_t frames = learners * share->count;
	uint8_t *length = message->data + sizeof(struct message_head),
	        *end = length + frames * sizeof(uint64_t);

	message->body = (size_t)(end - length);
	for (size_t i = 0; i < frames; i++, length += sizeof(uint64_t)) {
		const size_t l = i / share->count, s = x->order[share->first + i % share->count];
		struct slot *slot = &slots[l * x->slices + s];
		const uint64_t bytes = (uint64_t)slot->length, entry = bytes | (slot->sum ? SUM : 0);
		memcpy(length, &entry, sizeof entry);
		if (end != slot->data)
			memmove(end, slot->data, bytes);
		slot->frame = end;
		end += bytes;
	}
	message->len = (size_t)(end - message->data);
}

int crumb_parcel_find(struct crumb_exchange *x, unsigned from, const struct share *share, size_t learners,
                      crumb_span *frame, size_t stride, struct slot *sums)
{
	const size_t frames = learners * share->count, table = frames * sizeof(uint64_t);
	const uint8_t *length = crumb_message_body(x->messages.in[from], table);

	if (!length)
		return crumb_swap_damaged(x, from);
	const uint8_t *data = length + table;
	size_t left = x->messages.in[from].len - crumb_parcel_overhead(frames);
	for (size_t i = 0; i < frames; i++, length += sizeof(uint64_t)) {
		const size_t l = i / share->count, s = x->order[share->first + i % share->count];
		uint64_t bytes;
		memcpy(&bytes, length, sizeof bytes);
		if (sums) {
			sums[s].sum = bytes & SUM;
			bytes &= ~SUM;
		}
		if (bytes > left)
			return crumb_swap_damaged(x, from);
		frame[stride * s + l] = (crumb_span){data, bytes};
		data += bytes;
		left -= bytes;
	}
	return left ? crumb_swap_damaged(x, from) : 0;
}
