/* The envelope of a frame (doc/FORMAT.md, 1).
 *
 * SPDX-License-Identifier: MIT */
#include "frame.h"
#include "codec/codec.h"
#include "isa.h"
#include <string.h>

static const uint8_t magic[4] = {'C', 'R', 'M', 'B'};

/* The header, byte for byte: every field lies on a multiple of its size. */
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

/* ---- checking ------------------------------------------------------------------------------- */

enum { BLOCK = 4096 }; /* bytes of the payload that one CRC covers */

/* Returns where the i-th of so many parts of the payload begins; it ends where the next one begins. */
static const uint8_t *part_at(const struct frame *frame, size_t i, size_t parts)
{
	return frame->payload +
	       (i == parts ? frame->size : frame->size / CHECK_CHUNK * i / parts * CHECK_CHUNK);
}

/* Returns the product of two polynomials modulo that of the CRC; the highest bit is the coefficient of x^0.
 */
static uint32_t product(uint32_t a, uint32_t b)
{
	uint32_t sum = 0;
	for (; a; a <<= 1, b = b >> 1 ^ (b & 1 ? 0x82F63B78 : 0))
		sum ^= a >> 31 ? b : 0;
	return sum;
}

/* Returns the CRC of two consecutive stretches from their CRCs: before * x^(8 bytes) + after. bytes: the
 * length of the second. */
static uint32_t crc_join(uint32_t before, uint32_t after, size_t bytes)
{
	for (uint32_t by = 1u << 23; before && bytes; bytes /= 2, by = product(by, by))
		before = bytes & 1 ? product(before, by) : before;
	return before ^ after;
}

/* Reads a header and checks it alone. Returns 0 or an error. */
static int read_header(struct header *h, const uint8_t *src, size_t len)
{
	if (!src)
		return CRUMB_EINVAL;
	if (len < sizeof *h)
		return memcmp(src, magic, len < sizeof magic ? len : sizeof magic) ? CRUMB_EFRAME
		                                                                   : CRUMB_ESHORT;
	memcpy(h, src, sizeof *h);
	if (memcmp(h->magic, magic, sizeof magic) != 0)
		return CRUMB_EFRAME;
	if (h->header_sum != header_crc(h))
		return CRUMB_ECHECKSUM;
	if (h->format != CRUMB_FORMAT)
		return CRUMB_EVERSION;
	if (h->n >> 48 || h->size >> 52)
		return CRUMB_EFRAME;
	return 0;
}

int64_t crumb_frame_length(const void *src, size_t len)
{
	struct header h;
	const int error = read_header(&h, src, len);
	return error ? error : (int64_t)(sizeof h + h.size);
}

int64_t crumb_frame_count(const void *src, size_t len)
{
	struct header h;
	const int error = read_header(&h, src, len);
	return error ? error : (int64_t)h.n;
}

/* Reads and checks a header whose payload is there. Returns 0 or an error. */
static int open_header(struct frame *frame, struct header *h, const uint8_t *src, size_t len)
{
	const int error = read_header(h, src, len);
	if (error)
		return error;
	if (h->size > len - sizeof *h)
		return CRUMB_ESHORT;
	if (!crumb_codec_find(h->id))
		return CRUMB_EVERSION;
	if (too_many(h->n)) /* from a 64-bit host */
		return CRUMB_EFRAME;
	*frame = (struct frame){h->id, h->flags, h->n, (size_t)h->size, src + sizeof *h};
	return 0;
}

int crumb_frame_check_part(crumb_part *found, const uint8_t *src, size_t len, size_t i, size_t parts)
{
	struct header h;
	struct frame frame;
	const int error = open_header(&frame, &h, src, len);
	if (error)
		return error;
	const struct codec *codec = crumb_codec_find(frame.id);
	struct part part = {part_at(&frame, i, parts), part_at(&frame, i + 1, parts), 0};
	bool formed = frame.n ? codec->check(&frame, &part) : !frame.size;
	uint32_t sum = 0;
	for (const uint8_t *from = part.from, *to; from < part.to; from = to) {
		to = part.to - from < CHECK_CHUNK ? part.to : from + CHECK_CHUNK;
		sum = crumb_isa_now()->checksum(sum, from, (size_t)(to - from));
		formed = formed && (!codec->check_chunk || codec->check_chunk(&frame, from, to));
	}
	*found = (crumb_part){part.bins, sum, formed};
	return 0;
}

int64_t crumb_frame_check_join(struct frame *frame, const uint8_t *src, size_t len, const crumb_part *found,
                               size_t parts)
{
	struct header h;
	const int error = open_header(frame, &h, src, len);
	if (error)
		return error;
	uint64_t bins = 0;
	uint32_t sum = 0;
	bool formed = true;
	for (size_t i = 0; i < parts; i++) {
		const ptrdiff_t size = part_at(frame, i + 1, parts) - part_at(frame, i, parts);
		sum = crc_join(sum, found[i].sum, sizeof sum * divide_up((size_t)size, BLOCK));
		bins += found[i].bins;
		formed = formed && found[i].formed;
	}
	return sum != h.payload_sum ? CRUMB_ECHECKSUM
	       : !formed || bins    ? CRUMB_EFRAME
	                            : (int64_t)(sizeof h + frame->size);
}

int64_t crumb_frame_open(struct frame *frame, const uint8_t *src, size_t len)
{
	crumb_part whole;
	const int error = crumb_frame_check_part(&whole, src, len, 0, 1);
	return error ? error : crumb_frame_check_join(frame, src, len, &whole, 1);
}
