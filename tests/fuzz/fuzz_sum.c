/* Adding frames of any bytes: refused, or a frame within the bound that decodes, the same bytes from every
 * instruction set.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

enum { MOST_FRAMES = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t isa = fuzz_byte(&data, &size);
	crumb_span span[MOST_FRAMES];
	size_t count = 0;
	uint8_t *src = fuzz_copy(data, size);
	fuzz_set_isa(isa);
	for (size_t at = 0; at < size && count < MOST_FRAMES;) {
		const size_t length = fuzz_seal(src + at, size - at);
		if (length)
			span[count++] = (crumb_span){src + at, length};
		at += length ? length : 1;
	}

	crumb_frame_info frame = {0};
	if (count)
		crumb_peek(&frame, span[0].data, span[0].len);
	const size_t n = frame.n <= FUZZ_MOST ? (size_t)frame.n : 0;
	const size_t cap = crumb_sum_bound(count, n);
	uint8_t *sum = malloc(cap), *plain = malloc(cap);
	assert(sum && plain);
	const int64_t length = crumb_sum(span, count, sum, cap);
	fuzz_set_isa(FUZZ_PORTABLE);
	assert(crumb_sum(span, count, plain, cap) == length);
	if (length >= 0) {
		float *acc = fuzz_floats(n, 1);
		assert((uint64_t)length <= cap && !memcmp(sum, plain, (size_t)length));
		assert(crumb_peek(&frame, sum, (size_t)length) == length && frame.n == n);
		assert(crumb_unpack_add(sum, (size_t)length, fuzz_weight(&frame), acc, n) == length);
		for (size_t i = 0; i < n; i++)
			assert(isfinite(acc[i]));
		free(acc);
	}
	free(sum);
	free(plain);
	free(src);
	return 0;
}
