/* One learner on its own: a codec, its packer and memory for its frame. A codec whose learners have to agree
 * agrees with this one alone.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LEARNER_H
#define LEARNER_H

#include <crumb.h>

struct learner {
	crumb_packer *packer;
	uint8_t *frame; /* of the last learner_pack */
	size_t cap;
	float *stat; /* statistics that learners would share; grows as needed */
	size_t stats;
};

/* Opens a learner of n elements without columns. STATUS_OK, or STATUS_FAILED after a message. On any outcome
 * learner_close may follow. */
int learner_open(struct learner *learner, const crumb_codec *codec, size_t n, uint64_t seed);
void learner_close(struct learner *learner);

/* Agrees if the codec wants that, and packs. Returns the frame's length, or an error of crumb.h. flags: enum
 * crumb_pack_flags. */
int64_t learner_pack(struct learner *learner, const void *grad, enum crumb_dtype dtype, unsigned flags);

#endif
