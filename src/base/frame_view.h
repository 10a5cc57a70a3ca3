/* A frame as codecs see it, the share of it that one thread validates, and what pack returns.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FRAME_VIEW_H
#define FRAME_VIEW_H

#include "base/bytes.h"
#include "crumb.h"
#include <math.h>

/* Bytes of a payload that are checksummed, validated or written together: whole blocks of the checksum that
 * fit L1. */
enum { CHECK_CHUNK = 1 << 14 };

/* A frame whose header is valid. */
struct frame {
	uint32_t id;
	uint16_t flags;
	uint64_t n;
	size_t size; /* bytes of the payload */
	const uint8_t *payload;
};

/* One thread's share of validating a payload: every unit that starts in [from, to). Both are CHECK_CHUNK
 * aligned within the payload, or its end. */
struct part {
	const uint8_t *from, *to;
	uint64_t bins; /* bins that end in this share; the first share starts at minus the total, so a valid
	                  frame sums to 0 */
};

/* Indices [first, end) of units. */
struct units {
	size_t first, end;
};

static inline size_t unit_at(const uint8_t *at, const uint8_t *base, size_t width, size_t count)
{
	const size_t unit = at > base ? divide_up((size_t)(at - base), width) : 0;
	return unit < count ? unit : count;
}

/* Returns which of count units of width bytes each, the first at base, start in the part. */
static inline struct units part_units(const struct part *part, const uint8_t *base, size_t width,
                                      size_t count)
{
	return (struct units){unit_at(part->from, base, width, count), unit_at(part->to, base, width, count)};
}

/* Returns true for the part that holds the payload's first byte. */
static inline bool part_leads(const struct part *part, const struct frame *frame)
{
	return part->from == frame->payload && part->from < part->to;
}

/* The request to pack, and what it returns beside the payload's size. A codec that writes its payload in
 * order may checksum chunks while they are in L1 (packed_to). */
struct packed {
	bool check; /* in: look for unusable elements, if the codec checks_itself */
	uint16_t flags;
	uint32_t sum;          /* checksum of the payload before summed */
	const uint8_t *summed; /* end of what sum covers, whole blocks; in: the payload's first byte */
};

/* Returned by pack for an element that is not finite or above 2^120. */
#define UNUSABLE SIZE_MAX

static inline void frame_fact(crumb_frame_info *out, const char *name, double value)
{
	out->fact[out->facts].name = name;
	out->fact[out->facts++].value = value;
}

/* Returns true if none of count f32 norms or scalers is infinite, as that of a bucket with an unusable
 * element is. */
static inline bool no_infinity(const uint8_t *norms, size_t count)
{
	bool good = true;
	for (size_t i = 0; i < count; i++)
		good = good && get_f32(norms + 4 * i) < INFINITY;
	return good;
}

#endif
