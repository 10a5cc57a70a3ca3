/* As many frames as a gather delivers, each in memory of its own: one learner's first few and its last.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GATHERED_H
#define GATHERED_H

#include "measure/learner.h"

enum { MANY = 8 };

struct gathered {
	struct learner learner;
	uint8_t *room[MANY];    /* memory of the frames; the first is the learner's own */
	crumb_span frame[MANY]; /* the first is the last one packed, once MANY have been packed */
	size_t packed;          /* up to MANY */
};

/* Opens like learner_open. On any outcome gathered_close may follow. */
int gathered_open(struct gathered *gathered, const crumb_codec *codec, size_t n, uint64_t seed);
void gathered_close(struct gathered *gathered);

/* Packs f32 like learner_pack. */
int64_t gathered_pack(struct gathered *gathered, const float *grad, unsigned flags);

#endif
