/* Codecs as text: any text is a codec, which prints and parses back to itself, or has a first offending
 * character.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_set_isa(fuzz_byte(&data, &size));
	char *text = malloc(size + 1);
	assert(text);
	if (size)
		memcpy(text, data, size);
	text[size] = 0;

	const crumb_codec untouched = {.id = 77};
	crumb_codec codec = untouched, again;
	const char *bad = NULL;
	const int error = crumb_parse(&codec, text, &bad);
	if (error) {
		assert(error == CRUMB_ESPEC && bad >= text && bad <= text + strlen(text));
		assert(!memcmp(&codec, &untouched, sizeof codec));
	} else {
		char whole[CRUMB_SPEC_MAX];
		const int length = crumb_print(&codec, whole, sizeof whole);
		assert(length > 0 && (size_t)length == strlen(whole));
		char *exact = malloc((size_t)length + 1);
		assert(exact);
		assert(crumb_print(&codec, exact, (size_t)length) == CRUMB_ESPACE);
		assert(crumb_print(&codec, exact, (size_t)length + 1) == length);
		assert(!crumb_parse(&again, exact, &bad) && !memcmp(&again, &codec, sizeof codec));
		assert(crumb_bound(&codec, size) >= CRUMB_HEADER_BYTES && crumb_packer_size(&codec, size));
		free(exact);
	}
	free(text);
	return 0;
}
