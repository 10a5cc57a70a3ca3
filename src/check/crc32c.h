/* CRC-32C, and the checksum of a payload. SPDX-License-Identifier: MIT */
#ifndef CRC32C_H
#define CRC32C_H

#include "base/frame_view.h"
#include "base/per_isa.h"

#define crc32c        PER_ISA(crc32c)
#define crc32c_blocks PER_ISA(crc32c_blocks)

/* Returns the CRC of size bytes, one after another; meant for few. */
uint32_t crc32c(const uint8_t *data, size_t size);

/* Returns a payload's checksum, the CRC of the CRCs of its 4 KiB blocks (doc/FORMAT.md, 1). before: the
 * checksum of the whole blocks before data; 0 if there are none. */
uint32_t crc32c_blocks(uint32_t before, const uint8_t *data, size_t size);

/* Adds whole chunks of a payload that is written in order up to end to its checksum, while they are in L1. */
static inline void packed_to(struct packed *out, const uint8_t *end)
{
	const size_t size = (size_t)(end - out->summed) / CHECK_CHUNK * CHECK_CHUNK;
	if (size) {
		out->sum = crc32c_blocks(out->sum, out->summed, size);
		out->summed += size;
	}
}

#endif
