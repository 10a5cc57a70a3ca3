/* One step of an optimizer with the mean of the gradients.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPTIMIZER_H
#define OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>
#include "nets/net.h"

/* g is the gradient plus decay times the parameter, with adamw the gradient.
 * - sgd: v = momentum v + g; p -= rate v
 * - adam (Kingma and Ba, ICLR 2015, Algorithm 1): m and v are the means of g and g^2 with weights falling by
 *   beta1 and beta2 a step, taken without their bias towards 0; p -= rate m / (sqrt(v) + epsilon)
 * - adamw (Loshchilov and Hutter, ICLR 2019, Algorithm 2): adam after p -= rate decay p
 * - rmsprop (Tieleman and Hinton, 2012): v = beta2 v + (1 - beta2) g^2; p -= rate g / (sqrt(v) + epsilon) */
enum optimizer_type { OPTIMIZER_SGD, OPTIMIZER_ADAM, OPTIMIZER_ADAMW, OPTIMIZER_RMSPROP };

struct optimizer {
	enum optimizer_type type;
	double beta1, beta2, epsilon;
};

/* Parses "sgd", "adam:beta1=0.9,beta2=0.999,epsilon=1e-8", the same with adamw, or
 * "rmsprop:decay=0.9,epsilon=1e-8"; keys not named take these defaults. 0, or -1 with *bad at the first
 * offending character. */
int optimizer_parse(struct optimizer *optimizer, const char *text, const char **bad);

/* Writes a text that optimizer_parse makes the same of. */
void optimizer_write(const struct optimizer *optimizer, char *text, size_t cap);

/* Returns the number of arrays, each as long as the parameters and zeros at first, that it remembers. */
#define OPTIMIZER_MOST_MOMENTS 2
size_t optimizer_moments(const struct optimizer *optimizer);

struct optimizer_step {
	double rate, momentum, decay;
	uint64_t number; /* from 1: steps that were skipped do not count */
};

/* Moves the parameters [at, at + n). */
void optimizer_move(const struct optimizer *optimizer, const struct optimizer_step *step, float *param,
                    float *const moment[OPTIMIZER_MOST_MOMENTS], const float *gradient, size_t at, size_t n);

/* Moves a network's parameters likewise; adamw decays the matrices alone. */
void optimizer_move_net(const struct optimizer *optimizer, const struct optimizer_step *step,
                        const struct net *net, float *param, float *const moment[OPTIMIZER_MOST_MOMENTS],
                        const float *gradient, size_t at, size_t n);

/* An outer step, by the mean of what n parameters have moved by: v = momentum v + g; p -= rate (g + momentum
 * v). */
void optimizer_nesterov(float *param, float *velocity, const float *gradient, size_t n, float rate,
                        float momentum);

/* Adds decay times the parameters to a gradient of n elements: the gradient of the loss with its L2 term. */
void optimizer_decay(float *gradient, const float *param, size_t n, float decay);

/* Scales a gradient of n elements down to this norm if its own is larger and finite. */
void optimizer_clip(float *gradient, size_t n, double norm);

/* mean = keep * mean + (1 - keep) * param, for n elements. */
void optimizer_average(float *mean, const float *param, size_t n, float keep);

#endif
