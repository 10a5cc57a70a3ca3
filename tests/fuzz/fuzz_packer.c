/* Takes arbitrary bytes for a packer: crumb_packer_check refuses them, or the packer packs a frame within the
 * bound. The frame decodes or is refused for its payload: a packer has no checksum, and damage may have left
 * amq levels whose multiplier is none.
 *
 * SPDX-License-Identifier: MIT */
#include "base/packer.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_set_isa(fuzz_byte(&data, &size));
	crumb_packer *packer = fuzz_copy(data, size);
	if (size > offsetof(crumb_packer, codec))
		packer->size = size;
	if (!crumb_packer_check(packer, size) && packer->n <= FUZZ_MOST) {
		const size_t n = crumb_packer_count(packer), due = crumb_agree_count(packer);
		const size_t cap = crumb_bound(crumb_packer_codec(packer), n);
		float *g = fuzz_floats(n, 0.25f), *stat = fuzz_floats(due, 0);
		uint8_t *frame = malloc(cap);
		assert(frame);
		assert(!due ||
		       (!crumb_measure(packer, g, n, CRUMB_F32, stat) && !crumb_agree(packer, stat, 1)));
		const int64_t length = crumb_pack(packer, g, n, CRUMB_F32, 0, frame, cap);
		assert(length >= CRUMB_HEADER_BYTES && (size_t)length <= cap);
		const int64_t taken = crumb_unpack_add(frame, (size_t)length, 1, g, n);
		assert(taken == length || taken == CRUMB_EFRAME);
		free(g);
		free(stat);
		free(frame);
	}
	free(packer);
	return 0;
}
