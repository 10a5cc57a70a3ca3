/* The step of the optimizer.
 *
 * SPDX-License-Identifier: MIT */
#include "train/update/optimizer.h"
#include "train/data/choice.h"

#include <math.h>
#include <stdbool.h>

#define FIELD(name) offsetof(struct optimizer, name)

#define ADAM                                                                                            \
	{                                                                                               \
		{"beta1", FIELD(beta1), 0.9, 0, 0.999999}, {"beta2", FIELD(beta2), 0.999, 0, 0.999999}, \
		{                                                                                       \
			"epsilon", FIELD(epsilon), 1e-8, 1e-30, 1                                       \
		}                                                                                       \
	}

static const struct choice types[] = {
        [OPTIMIZER_SGD] = {"sgd", {{0}}},
        [OPTIMIZER_ADAM] = {"adam", ADAM},
        [OPTIMIZER_ADAMW] = {"adamw", ADAM},
        [OPTIMIZER_RMSPROP] = {"rmsprop",
                               {{"decay", FIELD(beta2), 0.9, 0, 0.999999},
                                {"epsilon", FIELD(epsilon), 1e-8, 1e-30, 1}}},
};

int optimizer_parse(struct optimizer *optimizer, const char *text, const char **bad)
{
	struct optimizer parsed = {.type = OPTIMIZER_SGD};
	const int type = choice_parse(types, sizeof types / sizeof *types, text, &parsed, bad);
	if (type < 0)
		return -1;
	parsed.type = (enum optimizer_type)type;
	*optimizer = parsed;
	return 0;
}

void optimizer_write(const struct optimizer *optimizer, char *text, size_t cap)
{
	choice_write(&types[optimizer->type], optimizer, text, cap);
}

size_t optimizer_moments(const struct optimizer *optimizer)
{
	return optimizer->type == OPTIMIZER_ADAM || optimizer->type == OPTIMIZER_ADAMW ? 2 : 1;
}

static void sgd(float *restrict param, float *restrict velocity, const float *restrict gradient, size_t n,
                float rate, float momentum, float decay)
{
	for (size_t i = 0; i < n; i++) {
		velocity[i] = momentum * velocity[i] + (gradient[i] + decay * param[i]);
		param[i] -= rate * velocity[i];
	}
}

static void adam(const struct optimizer *o, const struct optimizer_step *step, float *restrict param,
                 float *restrict mean, float *restrict square, const float *restrict gradient, size_t n)
{
	const float beta1 = (float)o->beta1, beta2 = (float)o->beta2;
	const bool apart = o->type == OPTIMIZER_ADAMW;
	const float decay = apart ? 0 : (float)step->decay;
	const float keep = apart ? (float)(1 - step->rate * step->decay) : 1;
	const double unbiased1 = 1 - pow(o->beta1, (double)step->number);
	const double unbiased2 = 1 - pow(o->beta2, (double)step->number);
	const float rate = (float)(step->rate / unbiased1), root = (float)(1 / sqrt(unbiased2));
	const float epsilon = (float)o->epsilon;
	for (size_t i = 0; i < n; i++) {
		const float g = gradient[i] + decay * param[i];
		mean[i] = beta1 * mean[i] + (1 - beta1) * g;
		square[i] = beta2 * square[i] + (1 - beta2) * (g * g);
		param[i] = keep * param[i] - rate * mean[i] / (sqrtf(square[i]) * root + epsilon);
	}
}

static void rmsprop(const struct optimizer *o, const struct optimizer_step *step, float *restrict param,
                    float *restrict square, const float *restrict gradient, size_t n)
{
	const float keep = (float)o->beta2, decay = (float)step->decay, rate = (float)step->rate;
	const float epsilon = (float)o->epsilon;
	for (size_t i = 0; i < n; i++) {
		const float g = gradient[i] + decay * param[i];
		square[i] = keep * square[i] + (1 - keep) * (g * g);
		param[i] -= rate * g / (sqrtf(square[i]) + epsilon);
	}
}

void optimizer_move(const struct optimizer *optimizer, const struct optimizer_step *step, float *param,
                    float *const moment[OPTIMIZER_MOST_MOMENTS], const float *gradient, size_t at, size_t n)
{
	switch (optimizer->type) {
	case OPTIMIZER_SGD:
		sgd(param + at, moment[0] + at, gradient + at, n, (float)step->rate, (float)step->momentum,
		    (float)step->decay);
		break;
	case OPTIMIZER_ADAM:
	case OPTIMIZER_ADAMW:
		adam(optimizer, step, param + at, moment[0] + at, moment[1] + at, gradient + at, n);
		break;
	case OPTIMIZER_RMSPROP:
		rmsprop(optimizer, step, param + at, moment[0] + at, gradient + at, n);
		break;
	}
}

void optimizer_move_net(const struct optimizer *optimizer, const struct optimizer_step *step,
                        const struct net *net, float *param, float *const moment[OPTIMIZER_MOST_MOMENTS],
                        const float *gradient, size_t at, size_t n)
{
	for (size_t end = at + n, next; at < end; at = next) {
		struct optimizer_step own = *step;
		bool matrix;
		next = net_tensor_end(net, at, &matrix);
		next = next < end ? next : end;
		if (optimizer->type == OPTIMIZER_ADAMW && !matrix)
			own.decay = 0;
		optimizer_move(optimizer, &own, param, moment, gradient, at, next - at);
	}
}

void optimizer_nesterov(float *restrict param, float *restrict velocity, const float *restrict gradient,
                        size_t n, float rate, float momentum)
{
	for (size_t i = 0; i < n; i++) {
		velocity[i] = momentum * velocity[i] + gradient[i];
		param[i] -= rate * (gradient[i] + momentum * velocity[i]);
	}
}

void optimizer_decay(float *restrict gradient, const float *restrict param, size_t n, float decay)
{
	for (size_t i = 0; i < n; i++)
		gradient[i] += decay * param[i];
}

void optimizer_clip(float *gradient, size_t n, double norm)
{
	double squares = 0;
	for (size_t i = 0; i < n; i++)
		squares += (double)gradient[i] * (double)gradient[i];
	const float factor = (float)(norm / sqrt(squares));
	for (size_t i = 0; i < n && squares > norm * norm && isfinite(squares); i++)
		gradient[i] *= factor;
}

void optimizer_average(float *restrict mean, const float *restrict param, size_t n, float keep)
{
	for (size_t i = 0; i < n; i++)
		mean[i] = keep * mean[i] + (1 - keep) * param[i];
}
