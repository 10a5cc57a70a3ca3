/* CRC-32C. SPDX-License-Identifier: MIT */
#ifndef CRC32C_H
#define CRC32C_H

#include "crumb.h"
#include "base/frame_view.h"
#include "base/per_isa.h"

#define crc32c_blocks PER_ISA(crc32c_blocks)
#define crc32c        PER_ISA(crc32c)

/* isa.c: whether the CPU carries out two of its CRC instructions a cycle. Set before there are threads. */
extern bool crumb_crc_in_pairs;

/* Of the few bytes of a header. */
uint32_t crc32c(const uint8_t *data, size_t size);

/* Of a payload: the CRC of the CRCs of its 4 KiB blocks (doc/FORMAT.md, 1). It goes on from that of the whole
 * blocks before, or 0. The bytes are copied meanwhile, unless copy is NULL. */
uint32_t crc32c_blocks(uint32_t before, const uint8_t *data, size_t size, uint8_t *copy);

/* The same of a payload that is written in order, up to end, once it is worth it. */
static inline void packed_to(struct packed *out, const uint8_t *end)
{
	enum { ENOUGH = 1 << 14 }; /* blocks that go side by side, or do not wait long for the first */
	const size_t size = (size_t)(end - out->summed) / ENOUGH * ENOUGH;
	if (size) {
		out->sum = crc32c_blocks(out->sum, out->summed, size, NULL);
		out->summed += size;
	}
}

#endif
