/* crumb for threads that share a frame: check it in parts, then add a range of elements each.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CRUMB_PARALLEL_H
#define CRUMB_PARALLEL_H

#include <crumb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CRUMB_MAX_PARTS  256 /* most parts in which a frame is checked */
#define CRUMB_RANGE_STEP 640 /* ranges begin and end at multiples of this, or at the tensor's end */

/* A frame that passed crumb_check, as it stands in the caller's bytes, which have to stay there unchanged. */
typedef struct crumb_checked {
	const void *payload;
	size_t size; /* bytes of the payload */
	uint64_t n;  /* elements */
	uint32_t id;
	uint32_t flags;
} crumb_checked;

/* Checks a frame as crumb_unpack_add does, and adds nothing. Returns its length. */
CRUMB_API int64_t crumb_check(crumb_checked *frame, const void *src, size_t len);

/* The findings on one part; the members mean nothing outside the library. */
typedef struct crumb_part {
	uint64_t bins;
	uint32_t sum, formed;
} crumb_part;

/* Parallel crumb_check. Call crumb_check_part once for each i < parts <= CRUMB_MAX_PARTS, in any thread and
 * order; then crumb_check_join(found[0..parts)) returns what crumb_check would. src, len and the bytes are
 * the same in all calls. On a bad header every call returns that error and ignores found. */
CRUMB_API int crumb_check_part(crumb_part *found, const void *src, size_t len, size_t i, size_t parts);
CRUMB_API int64_t crumb_check_join(crumb_checked *frame, const void *src, size_t len, const crumb_part *found,
                                   size_t parts);

/* Adds elements [first, end) of what crumb_unpack_add_all adds, of count <= CRUMB_MAX_FRAMES checked frames.
 * Ranges that make up the whole leave the same bits, whatever they are. acc: all n elements. first and end:
 * multiples of CRUMB_RANGE_STEP, or n. A range of a frame whose codes have fixed width costs its share; of
 * any other frame what comes before the range is decoded, too. Returns 0; or CRUMB_EINVAL or CRUMB_ELENGTH,
 * and nothing is added. */
CRUMB_API int crumb_add_range(const crumb_checked *frames, const float *weight, size_t count, float *acc,
                              size_t n, size_t first, size_t end);

#ifdef __cplusplus
}
#endif

#endif
