/* One learner on its own: a codec, its packer and room for its frame. Where learners would have to agree, it
 * agrees with itself.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LEARNER_H
#define LEARNER_H

#include <crumb.h>

struct learner {
	crumb_packer *packer;
	uint8_t *frame; /* of the last learner_pack */
	size_t cap;
	float *stat; /* what learners would tell each other; grows as needed */
	size_t stats;
};

/* For n elements, not in columns, nothing owed. STATUS_OK, or STATUS_FAILED after a message. On any outcome
 * learner_close may follow. */
int learner_open(struct learner *learner, const crumb_codec *codec, size_t n, uint64_t seed);
void learner_close(struct learner *learner);

/* Agrees on what is due, and packs. The length of the frame, or an error of crumb.h. flags: enum
 * crumb_pack_flags. */
int64_t learner_pack(struct learner *learner, const void *grad, enum crumb_dtype dtype, unsigned flags);

#endif
