/* Policies as text: any text is a policy of valid codecs, or has a first offending character.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"
#include "exchange/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_set_isa(fuzz_byte(&data, &size));
	char *text = malloc(size + 1);
	assert(text);
	if (size)
		memcpy(text, data, size);
	text[size] = 0;

	struct policy policy;
	memset(&policy, 0, sizeof policy);
	const char *bad = NULL;
	const int error = crumb_policy_parse(&policy, text, &bad);
	if (error)
		assert(error == CRUMB_ESPEC && bad >= text && bad <= text + strlen(text));
	for (int kind = 0; kind < CRUMB_KINDS; kind++) {
		if (error) {
			assert(policy.codec[kind].id == 0);
			continue;
		}
		assert(crumb_bound(&policy.codec[kind], 1));
		const crumb_codec chosen = crumb_policy_choose(&policy, (enum crumb_kind)kind, size);
		assert(crumb_bound(&chosen, size) <= CRUMB_HEADER_BYTES + size * sizeof(float));
	}
	free(text);
	return 0;
}
