/* As many frames as a gather leaves, each in memory of its own: of one learner, the first few and the last.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GATHERED_H
#define GATHERED_H

#include "measure/learner.h"

enum { MANY = 8 };

struct gathered {
	struct learner learner;
	uint8_t *room[MANY];    /* for the frames; the first is the learner's own */
	crumb_span frame[MANY]; /* the first is what was packed last, once MANY have been packed */
	size_t packed;          /* up to MANY */
};

/* As learner_open. On any outcome gathered_close may follow. */
int gathered_open(struct gathered *gathered, const crumb_codec *codec, size_t n, uint64_t seed);
void gathered_close(struct gathered *gathered);

/* As learner_pack, of f32. */
int64_t gathered_pack(struct gathered *gathered, const float *grad, unsigned flags);

#endif
