/* Peeking into a frame of any bytes and of any number of elements.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

static void assert_same(const crumb_frame_info *a, const crumb_frame_info *b)
{
	assert(!memcmp(&a->codec, &b->codec, sizeof a->codec) && a->n == b->n && a->bytes == b->bytes);
	assert(a->sent == b->sent && a->facts == b->facts && a->facts <= CRUMB_MAX_FACTS);
	for (size_t i = 0; i < a->facts; i++) {
		assert(!strcmp(a->fact[i].name, b->fact[i].name) && isfinite(a->fact[i].value));
		assert(a->fact[i].value == b->fact[i].value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t isa = fuzz_byte(&data, &size), cut = fuzz_byte(&data, &size);
	uint8_t *src = fuzz_copy(data, size);
	fuzz_set_isa(isa);
	fuzz_seal(src, size);

	crumb_frame_info untouched, frame, plain;
	memset(&untouched, 7, sizeof untouched);
	frame = plain = untouched;
	const int64_t length = crumb_peek(&frame, src, size);
	if (length < 0) {
		assert(!memcmp(&frame, &untouched, sizeof frame));
	} else {
		assert(length >= CRUMB_HEADER_BYTES && (uint64_t)length <= size);
		assert(frame.bytes == (uint64_t)length && frame.sent <= frame.n);
		uint8_t *part = fuzz_copy(src, (size_t)cut % (size_t)length);
		assert(crumb_peek(&plain, part, (size_t)cut % (size_t)length) == CRUMB_ESHORT);
		free(part);
	}
	fuzz_set_isa(FUZZ_PORTABLE);
	assert(crumb_peek(&plain, src, size) == length);
	if (length >= 0)
		assert_same(&frame, &plain);
	free(src);
	return 0;
}
