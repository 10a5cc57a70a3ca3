/* What others do, in plain C: the rules of MXNet's 2-bit compression, BytePS's onebit, a plain top-k and
 * QSGD, one element after another, as whoever needs them once would write them. These are statements of the
 * published rules and share no code with those projects.
 *
 * Gradients are n f32. pack moves the residual on, where there is one; add is acc += weight * what was
 * packed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RULES_H
#define RULES_H

#include <stddef.h>
#include <stdint.h>

/* All a rule needs, for n elements. */
struct rule_state {
	size_t n, k; /* k: elements that a top-k sends */
	float *residual;
	uint32_t *word; /* n */
	float *value;   /* n */
};

struct rule {
	const char *name;
	double share; /* sent, of a top-k */
	void (*pack)(struct rule_state *s, const float *grad);
	void (*add)(const struct rule_state *s, float weight, float *acc);
};

extern const struct rule rules[];
extern const size_t rules_count;

#endif
