/* A frame as codecs see it, and the share of it that one thread validates.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FRAME_VIEW_H
#define FRAME_VIEW_H

#include "base/bytes.h"
#include "crumb.h"
#include <math.h>

/* A frame whose header is in order. */
struct frame {
	uint32_t id;
	uint16_t flags;
	uint64_t n;
	size_t size; /* of the payload */
	const uint8_t *payload;
};

/* What of a frame one thread checks: what begins in the payload's bytes from up to to, either of them a
 * multiple of 16 KiB behind its first byte or its end. */
struct part {
	const uint8_t *from, *to;
	uint64_t bins; /* that end in the part; in the first one less all there are, so that parts add up to 0
	                */
};

/* Of count units of width bytes each, the first of which is at base, those that begin in a part. */
struct units {
	size_t first, end;
};

static inline size_t unit_at(const uint8_t *at, const uint8_t *base, size_t width, size_t count)
{
	const size_t unit = at > base ? divide_up((size_t)(at - base), width) : 0;
	return unit < count ? unit : count;
}

static inline struct units part_units(const struct part *part, const uint8_t *base, size_t width,
                                      size_t count)
{
	return (struct units){unit_at(part->from, base, width, count), unit_at(part->to, base, width, count)};
}

/* Whether it is the part that the payload's first byte is in. */
static inline bool part_leads(const struct part *part, const struct frame *frame)
{
	return part->from == frame->payload && part->from < part->to;
}

/* What pack says of a payload, beside its size. What is written in order can be summed while a cache has it.
 */
struct packed {
	uint16_t flags;
	uint32_t sum;          /* the checksum of the bytes before summed: */
	const uint8_t *summed; /* whole blocks, or all */
};

#define UNUSABLE SIZE_MAX /* pack's answer to an element that is not finite or above 2^120 */
/* The value of a fact or a key on its way into a crumb_frame_info. */
static inline void frame_fact(crumb_frame_info *out, const char *name, double value)
{
	out->fact[out->facts].name = name;
	out->fact[out->facts++].value = value;
}

/* Whether no norm or scaler that pack has written is infinite, as one is of what is not usable. */
static inline bool no_infinity(const uint8_t *norms, size_t count)
{
	bool good = true;
	for (size_t i = 0; i < count; i++)
		good = good && get_f32(norms + 4 * i) < INFINITY;
	return good;
}

#endif
