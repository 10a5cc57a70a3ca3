/* Speeds of kernels that alternate in one process.
 *
 * SPDX-License-Identifier: MIT */
#include "measure/speed.h"
#include "measure/baseline.h"
#include "measure/learner.h"
#include "measure/timing.h"
#include "measure/workload.h"
#include "program/program.h"

#include "exchange/seconds.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 21, WARM_STEPS = 3, WARM_STEPS_RESIDUAL = 40 };

static const float *next_gradient(struct speed *speed)
{
	return speed->grad[speed->turn++ * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SPEED_GRADIENTS_LOG2)];
}

static int64_t run_kernel(struct speed *speed, const struct speed_subject *subject, enum speed_kernel kernel)
{
	const float *grad = next_gradient(speed);
	switch (kernel) {
	case SPEED_PACK:
		return subject->pack(subject->self, grad, false);
	case SPEED_PACK_SAFE:
		return subject->pack(subject->self, grad, true);
	case SPEED_UNPACK:
		return subject->unpack(subject->self, speed->acc, speed->n);
	case SPEED_READ:
		speed->sink = baseline_sum(grad, speed->n);
		return 0;
	case SPEED_ADD:
		baseline_add(speed->residual, grad, speed->n);
		return 0;
	case SPEED_SCALE:
		baseline_scale(speed->scaled, 1.0f, speed->n);
		return 0;
	case SPEED_COPY:
		memcpy(speed->copy, grad, speed->n * sizeof *grad);
		return 0;
	case SPEED_KERNELS:
		break;
	}
	return CRUMB_EINVAL;
}

int speed_measure(struct speed *speed, const struct speed_subject *subject, double gbps[SPEED_KERNELS])
{
	static double sample[SPEED_KERNELS][ROUNDS];
	int64_t result = 0;
	for (int step = 0; step < subject->warm_steps && result >= 0; step++)
		result = subject->pack(subject->self, next_gradient(speed), true);
	const size_t repeats = timing_repeats(speed->n);
	for (int round = 0; round < speed->rounds; round++)
		for (int k = 0; k < SPEED_KERNELS; k++) {
			const double start = timing_now();
			for (size_t i = 0; i < repeats && result >= 0; i++)
				result = run_kernel(speed, subject, (enum speed_kernel)k);
			sample[k][round] = 4e-9 * (double)(speed->n * repeats) / (timing_now() - start);
		}
	if (result < 0)
		return program_fail("%s", crumb_strerror((int)result));
	for (int k = 0; k < SPEED_KERNELS; k++)
		gbps[k] = crumb_seconds_median(sample[k], (size_t)speed->rounds);
	return STATUS_OK;
}

static int64_t pack_frame(void *self, const float *grad, bool safe)
{
	return learner_pack(self, grad, CRUMB_F32, safe ? 0 : CRUMB_KNOWN_FINITE);
}

static int64_t unpack_frame(void *self, float *acc, size_t n)
{
	const struct learner *learner = self;
	return crumb_unpack_add(learner->frame, learner->cap, 0.125f, acc, n);
}

int speed_codec(struct speed *speed, const crumb_codec *codec, double gbps[SPEED_KERNELS])
{
	struct learner learner;
	int status = learner_open(&learner, codec, speed->n, 1);
	const bool owes = crumb_codec_info_of(codec)->flags & CRUMB_CODEC_RESIDUAL;
	const struct speed_subject subject = {pack_frame, unpack_frame, &learner,
	                                      owes ? WARM_STEPS_RESIDUAL : WARM_STEPS};
	if (!status)
		status = speed_measure(speed, &subject, gbps);
	learner_close(&learner);
	return status;
}

/* Copies like, rotated by some elements. */
static void rotate(float *grad, const float *like, size_t n, size_t by)
{
	memcpy(grad, like + by, (n - by) * sizeof *grad);
	memcpy(grad + (n - by), like, by * sizeof *grad);
}

int speed_open(struct speed *speed, size_t n, const float *like)
{
	*speed = (struct speed){.n = n, .rounds = ROUNDS};
	float **const array[] = {&speed->grad[0],  &speed->grad[1], &speed->grad[2], &speed->grad[3],
	                         &speed->residual, &speed->acc,     &speed->scaled,  &speed->copy};
	for (size_t i = 0; i < sizeof array / sizeof *array; i++) {
		if (!(*array[i] = program_memory(n * sizeof **array)))
			return STATUS_FAILED;
		if (like)
			rotate(*array[i], like, n, n / 8 * i);
		else
			workload_gradient(*array[i], n, i);
	}
	return STATUS_OK;
}

void speed_close(struct speed *speed)
{
	for (size_t i = 0; i < SPEED_GRADIENTS; i++)
		free(speed->grad[i]);
	free(speed->residual);
	free(speed->acc);
	free(speed->scaled);
	free(speed->copy);
}
