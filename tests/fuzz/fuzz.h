/* Shared by the fuzz targets: instruction sets, heap blocks of exactly the data's size, frames with valid
 * checksums. A law that does not hold is a failed assertion, which libFuzzer reports as a crash.
 *
 * The first byte of every input picks the instruction set; the portable one is what it is compared with.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_H
#define FUZZ_H

#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "frame.h"

enum { FUZZ_MOST = 2048 }; /* elements that a target decodes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes the next byte of the input; 0 when there is none. */
static inline uint8_t fuzz_byte(const uint8_t **data, size_t *size)
{
	if (!*size)
		return 0;
	--*size;
	return *(*data)++;
}

/* Selects instruction set `number`, or the best one if this machine does not have it. */
static inline void fuzz_set_isa(uint8_t number)
{
	static const char *const names[] = {"portable", "sse2", "avx2", "avx512", "neon"};
	if (crumb_set_isa(names[number % (sizeof names / sizeof *names)]))
		crumb_set_isa(NULL);
}
enum { FUZZ_PORTABLE };

/* Returns a copy in a heap block of exactly that size, which the caller frees: a sanitizer reports reads past
 * its end. */
static inline void *fuzz_copy(const void *data, size_t size)
{
	void *copy = malloc(size);
	assert(copy || !size);
	if (size)
		memcpy(copy, data, size);
	return copy;
}

static inline uint64_t fuzz_u64(const uint8_t *src)
{
	uint64_t x;
	memcpy(&x, src, sizeof x);
	return x;
}

/* Writes valid checksums into the frame at src and returns its length. A payload longer than src by its
 * header is cut at src's end. Returns 0, and changes nothing, if src does not begin with a header of this
 * format. */
static inline size_t fuzz_seal(uint8_t *src, size_t size)
{
	static const uint8_t head[] = {'C', 'R', 'M', 'B', CRUMB_FORMAT};
	if (size < CRUMB_HEADER_BYTES || memcmp(src, head, sizeof head) != 0)
		return 0;
	const uint64_t room = size - CRUMB_HEADER_BYTES, told = fuzz_u64(src + 16);
	uint16_t flags;
	memcpy(&flags, src + 6, sizeof flags);
	return (size_t)crumb_frame_seal(src, src[5], flags, fuzz_u64(src + 8),
	                                (size_t)(told < room ? told : room));
}

/* Returns n floats of that value, which the caller frees. */
static inline float *fuzz_floats(size_t n, float value)
{
	float *floats = malloc(n * sizeof *floats);
	assert(floats || !n);
	for (size_t i = 0; i < n; i++)
		floats[i] = value;
	return floats;
}

/* Returns a weight with which the peeked frame decodes to finite numbers: 1, or 1 / learners for a sum. */
static inline float fuzz_weight(const crumb_frame_info *frame)
{
	for (size_t i = 0; i < frame->facts; i++)
		if (!strcmp(frame->fact[i].name, "learners"))
			return 1 / (float)frame->fact[i].value;
	return 1;
}

#endif
