/* The envelope of a frame (doc/FORMAT.md, 1).
 *
 * SPDX-License-Identifier: MIT */
#include "frame.h"
#include <string.h>

static const uint8_t magic[4] = {'C', 'R', 'M', 'B'};

/* The header as it stands in memory: every field lies on a multiple of its size. */
struct header {
	uint8_t magic[4];
	uint8_t format, id;
	uint16_t flags;
	uint64_t n, size;
	uint32_t payload_sum, header_sum;
};
_Static_assert(sizeof(struct header) == CRUMB_HEADER_BYTES, "the header has no holes");

static uint32_t header_crc(const struct header *h)
{
	return crumb_isa_now()->crc((const uint8_t *)h, offsetof(struct header, header_sum));
}

int64_t crumb_frame_seal(uint8_t *dst, uint32_t id, uint16_t flags, uint64_t n, size_t size)
{
	const uint32_t sum = crumb_isa_now()->checksum(0, dst + CRUMB_HEADER_BYTES, size);
	return crumb_frame_seal_summed(dst, id, flags, n, size, sum);
}

int64_t crumb_frame_seal_summed(uint8_t *dst, uint32_t id, uint16_t flags, uint64_t n, size_t size,
                                uint32_t payload_sum)
{
	struct header h = {.format = CRUMB_FORMAT,
	                   .id = (uint8_t)id,
	                   .flags = flags,
	                   .n = n,
	                   .size = size,
	                   .payload_sum = payload_sum};
	memcpy(h.magic, magic, sizeof magic);
	h.header_sum = header_crc(&h);
	memcpy(dst, &h, sizeof h);
	return (int64_t)(sizeof h + size);
}

/* Whether the payload has that checksum, and whether it is well-formed; what clean sees to in one reading. */
static bool intact(const struct frame *frame, const struct codec *codec, uint32_t payload_sum, bool *formed)
{
	enum { PART = 1 << 14 }; /* whole blocks of the checksum, which the first cache holds */
	const uint8_t *const end = frame->payload + frame->size;
	uint32_t sum = 0;
	*formed = frame->n ? codec->check(frame) : !frame->size;
	for (const uint8_t *from = frame->payload, *to; from < end; from = to) {
		to = end - from < PART ? end : from + PART;
		sum = crumb_isa_now()->checksum(sum, from, (size_t)(to - from));
		*formed = *formed && (!codec->clean || codec->clean(frame, from, to));
	}
	return sum == payload_sum;
}

int64_t crumb_frame_open(struct frame *frame, const uint8_t *src, size_t len)
{
	struct header h;
	if (len < sizeof h)
		return len < sizeof magic || !memcmp(src, magic, sizeof magic) ? CRUMB_ESHORT : CRUMB_EFRAME;
	memcpy(&h, src, sizeof h);
	if (memcmp(h.magic, magic, sizeof magic) != 0)
		return CRUMB_EFRAME;
	if (h.header_sum != header_crc(&h))
		return CRUMB_ECHECKSUM;
	if (h.format != CRUMB_FORMAT)
		return CRUMB_EVERSION;
	if (h.n >> 48 || h.size >> 52)
		return CRUMB_EFRAME;
	if (h.size > len - sizeof h)
		return CRUMB_ESHORT;
	const struct codec *codec = crumb_codec_find(h.id);
	if (!codec)
		return CRUMB_EVERSION;
	*frame = (struct frame){h.id, h.flags, h.n, (size_t)h.size, src + sizeof h};
	bool formed;
	if (!intact(frame, codec, h.payload_sum, &formed))
		return CRUMB_ECHECKSUM;
	if (!formed)
		return CRUMB_EFRAME;
	return (int64_t)(sizeof h + frame->size);
}

bool crumb_frame_divides(const struct frame *frame)
{
	(void)frame;
	return true;
}
