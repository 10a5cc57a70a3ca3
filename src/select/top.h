/* Selection of the k greatest magnitudes of a tensor, in the pass over memory that adds the gradient:
 *
 * 1. A sample of |r + g| gives a cutoff that somewhat more than k elements should reach.
 * 2. Chunk after chunk, the gradient is added and the elements that reach the cutoff are collected
 * (select/above.h). Whenever these candidates are more than twice k, or nearly all there is room for, the
 * k-th largest of them becomes the cutoff, and the smaller ones are dropped.
 * 3. The k-th largest magnitude of the candidates (select/kth.h) is that of the tensor, since all other
 * elements are below the cutoff, and at least k candidates are not below it.
 *
 * If the sample was wrong, so that fewer than k elements are found or more than there is room for, the k-th
 * largest is selected from the whole tensor, which takes several passes. The answer is the same.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TOP_H
#define TOP_H

#include "base/bytes.h"
#include "base/per_isa.h"
#include "v16/v16.h"

#define top_add  PER_ISA(top_add)
#define top_drop PER_ISA(top_drop)
#define top_take PER_ISA(top_take)

struct top {
	/* Set by the caller. Candidates need memory, since nothing is allocated. */
	size_t k;        /* elements to select, at least 1 */
	size_t room;     /* candidates that the memory holds; 0: there is none */
	uint8_t *value;  /* the candidates' values: f32, not aligned */
	uint8_t *number; /* and the elements that they are: u32, n at most 2^32; NULL: not wanted */
	/* Set by top_add. */
	float threshold; /* the k-th largest magnitude; the least that is not 0, if fewer elements are not 0
	                  */
	bool enough;     /* all elements that reach the threshold are among the candidates, in order */
	size_t count;    /* of the candidates */
	/* Private. */
	size_t most;  /* the cutoff is raised when count is larger */
	float cutoff; /* smaller magnitudes are not collected */
};

/* r += grad, n elements, and sets the threshold. */
void top_add(float *r, const void *grad, enum crumb_dtype type, size_t n, struct top *top);

/* Drops the candidates of magnitude below threshold; the others stay in order. */
void top_drop(struct top *top, float threshold);

/* r += grad, n < 2^32 elements; takes the k elements of the greatest magnitudes out of r: of equal ones the
 * first, and none that is 0. Writes to list their numbers, u32, in order, and behind all of these their
 * values, f32; it holds 8 k bytes. Returns how many they are. */
size_t top_take(float *r, const void *grad, enum crumb_dtype type, size_t n, size_t k, uint8_t *list);

#endif
