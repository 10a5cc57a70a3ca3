/* Softmax and cross-entropy.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LOSS_H
#define LOSS_H

#include <stddef.h>
#include <stdint.h>

/* Returns the sum of the n losses; NaN if a logit is. logits: [n][classes]. *errors (may be NULL): the
 * samples whose largest logit is not their label's, ties and NaNs included. */
double loss_sum(const float *logits, const uint8_t *label, size_t n, size_t classes, size_t *errors);

/* Writes the gradient, [n][classes], of weight * loss_sum by the logits. */
void loss_gradient(const float *logits, const uint8_t *label, size_t n, size_t classes, float weight,
                   float *gradient);

#endif
