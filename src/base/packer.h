/* The memory of one tensor on one worker.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PACKER_H
#define PACKER_H

#include "crumb.h"

/* A flat block: this head, then the codec's floats. With CRUMB_CODEC_RESIDUAL the first n of them are the
 * residual. */
struct crumb_packer {
	char magic[8];
	uint64_t size; /* of the whole block */
	crumb_codec codec;
	uint64_t n, run, seed;
	uint64_t step;     /* frames packed */
	uint32_t agreed;   /* the numbers that this step's crumb_pack wants are in the codec's floats */
	uint32_t measured; /* crumb_measure has been called for this step */
	uint64_t zero[4];
};
_Static_assert(sizeof(struct crumb_packer) == 128, "a packer's floats begin on a cache line");

static inline float *packer_floats(struct crumb_packer *p) { return (float *)(p + 1); }

#endif
