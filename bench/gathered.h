/* Many learners' frames, each in memory of its own, as a gather leaves them: the last that one learner
 * packed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GATHERED_H
#define GATHERED_H

#include "learner.h"

enum { MANY = 8 };

struct gathered {
	struct learner learner;
	crumb_span frame[MANY]; /* the last one in turn - 1, and so on; empty before there are so many */
	size_t turn;
	uint8_t *room[MANY];
};

/* As learner_open. On any outcome gathered_close may follow. */
int gathered_open(struct gathered *gathered, const crumb_codec *codec, size_t n, uint64_t seed);
void gathered_close(struct gathered *gathered);

/* As learner_pack, of f32, in the room of the oldest frame. */
int64_t gathered_pack(struct gathered *gathered, const float *grad, unsigned flags);

/* The frame packed last. */
crumb_span gathered_last(const struct gathered *gathered);

#endif
