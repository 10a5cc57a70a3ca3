/* The envelope of a frame (doc/FORMAT.md, 1). SPDX-License-Identifier: MIT */
#ifndef FRAME_H
#define FRAME_H

#include "base/frame_view.h"
#include "crumb_parallel.h"

/* Writes the header of the payload of size bytes at dst + CRUMB_HEADER_BYTES. Returns the frame's length. */
int64_t crumb_frame_seal(uint8_t *dst, uint32_t id, uint16_t flags, uint64_t n, size_t size);
/* crumb_frame_seal of a payload whose checksum is known. */
int64_t crumb_frame_seal_summed(uint8_t *dst, uint32_t id, uint16_t flags, uint64_t n, size_t size,
                                uint32_t payload_sum);

/* Checks header, checksums and payload of the frame at src. Returns its length or an error. */
int64_t crumb_frame_open(struct frame *frame, const uint8_t *src, size_t len);

/* crumb_frame_open in parts (crumb_check_part, crumb_check_join). */
int crumb_frame_check_part(crumb_part *found, const uint8_t *src, size_t len, size_t i, size_t parts);
int64_t crumb_frame_check_join(struct frame *frame, const uint8_t *src, size_t len, const crumb_part *found,
                               size_t parts);

#endif
