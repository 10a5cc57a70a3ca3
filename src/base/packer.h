/* A packer as codecs see it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PACKER_H
#define PACKER_H

#include "crumb.h"

/* The head of a flat block; the codec's floats follow it. With CRUMB_CODEC_RESIDUAL the first n of them are
 * the residual, and with momentum the next n the velocity. */
struct crumb_packer {
	char magic[8];
	uint64_t size; /* bytes of the whole block */
	crumb_codec codec;
	uint64_t n, run, seed;
	uint64_t step;     /* frames packed */
	uint32_t agreed;   /* 1: the shared statistics of this step are in the codec's floats */
	uint32_t measured; /* 1: crumb_measure has been called for this step */
	uint64_t reserved[3];
};
_Static_assert(sizeof(struct crumb_packer) == 128, "a packer's floats begin on a cache line");

/* Every RESIDUAL_STEPS-th step first limits residuals to 2^120. With every codec but chunk, which limits them
 * itself, a residual that was within 2^120 is within (k + 1) 2^121 after k steps more. So it stays below
 * PACKER_MOST, as all floats of a packer do, and sums with gradients do not overflow. */
enum { RESIDUAL_STEPS = 32 };
#define PACKER_MOST 0x1.4p126f

static inline float *packer_floats(struct crumb_packer *p) { return (float *)(p + 1); }

/* The floats of a struct codec whose packer holds a residual and nothing else. */
static inline __attribute__((unused)) size_t residual_floats(const crumb_codec *codec, size_t n)
{
	(void)codec;
	return n;
}

#endif
