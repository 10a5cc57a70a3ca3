/* Published rules in plain C: those of MXNet's 2-bit compression, BytePS's onebit, a plain top-k and QSGD,
 * one element after another, as a first implementation would be. They share no code with those projects.
 *
 * Gradients are n f32. pack updates the residual, if there is one; add is acc += weight * the packed values.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RULES_H
#define RULES_H

#include <stddef.h>
#include <stdint.h>

/* A rule's buffers, for n elements. */
struct rule_state {
	size_t n, k; /* k: elements that a top-k sends */
	float *residual;
	uint32_t *word; /* n */
	float *value;   /* n */
};

struct rule {
	const char *name;
	double share; /* of the elements, that a top-k sends */
	void (*pack)(struct rule_state *s, const float *grad);
	void (*add)(const struct rule_state *s, float weight, float *acc);
};

extern const struct rule rules[];
extern const size_t rules_count;

#endif
