/* The envelope of a frame (doc/FORMAT.md, 1). SPDX-License-Identifier: MIT */
#ifndef FRAME_H
#define FRAME_H

#include "base/frame_view.h"
#include "crumb_parallel.h"

/* Writes the header before the payload of size bytes that stands at dst + CRUMB_HEADER_BYTES; returns the
 * length of all. */
int64_t crumb_frame_seal(uint8_t *dst, uint32_t id, uint16_t flags, uint64_t n, size_t size);
/* The same of a payload that has that checksum. */
int64_t crumb_frame_seal_summed(uint8_t *dst, uint32_t id, uint16_t flags, uint64_t n, size_t size,
                                uint32_t payload_sum);

/* Returns the length of the frame that the header announces, or an error of the header. */
int64_t crumb_frame_size(const uint8_t *src, size_t len);

/* Checks header, checksums and payload of the frame at src. Returns its length or an error. */
int64_t crumb_frame_open(struct frame *frame, const uint8_t *src, size_t len);

/* The same by parts: what is found of the i-th of them, or an error of the header; and what all of them say.
 */
int crumb_frame_look(crumb_part *found, const uint8_t *src, size_t len, size_t i, size_t parts);
int64_t crumb_frame_join(struct frame *frame, const uint8_t *src, size_t len, const crumb_part *found,
                         size_t parts);

#endif
