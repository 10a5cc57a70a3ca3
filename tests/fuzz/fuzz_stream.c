/* Frames one after another, garbage between them, the last one cut: a reader goes from frame to frame by the
 * lengths it gets and over garbage byte by byte, never reads past the end, and decodes a frame as if it stood
 * alone.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

static void assert_stands_alone(const uint8_t *src, size_t left, size_t length, const crumb_frame_info *frame)
{
	const size_t n = (size_t)frame->n;
	const float weight = fuzz_weight(frame);
	uint8_t *alone = fuzz_copy(src, length);
	float *acc = fuzz_floats(n, 1), *same = fuzz_floats(n, 1);
	assert(crumb_unpack_add(src, left, weight, acc, n) == (int64_t)length);
	assert(crumb_unpack_add(alone, length, weight, same, n) == (int64_t)length);
	assert(!n || !memcmp(acc, same, n * sizeof *acc));
	free(acc);
	free(same);
	free(alone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t isa = fuzz_byte(&data, &size), cut = fuzz_byte(&data, &size);
	uint8_t *whole = fuzz_copy(data, size);
	fuzz_set_isa(isa);
	for (size_t at = 0; at < size;) {
		const size_t length = fuzz_seal(whole + at, size - at);
		at += length ? length : 1;
	}
	const size_t end = size - (cut < size ? cut : 0);
	uint8_t *stream = fuzz_copy(whole, end);
	for (size_t at = 0; at < end;) {
		crumb_frame_info frame;
		const int64_t length = crumb_peek(&frame, stream + at, end - at);
		assert(length < 0 || (uint64_t)length <= end - at);
		if (length >= 0 && frame.n <= FUZZ_MOST)
			assert_stands_alone(stream + at, end - at, (size_t)length, &frame);
		at += length < 0 ? 1 : (size_t)length;
	}
	free(stream);
	free(whole);
	return 0;
}
