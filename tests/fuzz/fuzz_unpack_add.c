/* Decoding a frame of any bytes: refused, and nothing has changed; or decoded to finite numbers, the same on
 * every instruction set and in two ranges, and then peek takes it, too.
 *
 * SPDX-License-Identifier: MIT */
#include <crumb_parallel.h>
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t isa = fuzz_byte(&data, &size);
	uint8_t *src = fuzz_copy(data, size);
	fuzz_set_isa(isa);
	fuzz_seal(src, size);

	crumb_frame_info frame;
	const int64_t peeked = crumb_peek(&frame, src, size);
	const int64_t count = crumb_frame_count(src, size);
	const size_t n = count >= 0 && count <= FUZZ_MOST ? (size_t)count : 16;
	const float weight = peeked >= 0 ? fuzz_weight(&frame) : 1;
	float *acc = fuzz_floats(n, 1), *plain = fuzz_floats(n, 1), *ranges = fuzz_floats(n, 1);
	const int64_t length = crumb_unpack_add(src, size, weight, acc, n);
	assert(length == (count >= 0 && (uint64_t)count != n ? CRUMB_ELENGTH : peeked));
	for (size_t i = 0; i < n; i++)
		assert(length < 0 ? acc[i] == 1 : isfinite(acc[i]));

	crumb_checked checked;
	assert(crumb_check(&checked, src, size) == peeked);
	if (length >= 0) {
		const size_t middle = n / 2 / CRUMB_RANGE_STEP * CRUMB_RANGE_STEP;
		assert(!crumb_add_range(&checked, &weight, 1, ranges, n, middle, n));
		assert(!crumb_add_range(&checked, &weight, 1, ranges, n, 0, middle));
		assert(!n || !memcmp(acc, ranges, n * sizeof *acc));
	}

	fuzz_set_isa(FUZZ_PORTABLE);
	assert(crumb_unpack_add(src, size, weight, plain, n) == length);
	assert(!n || !memcmp(acc, plain, n * sizeof *acc));
	free(acc);
	free(plain);
	free(ranges);
	free(src);
	return 0;
}
