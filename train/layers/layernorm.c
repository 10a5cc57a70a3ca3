/* Layer normalisation (Ba et al., arXiv 1607.06450): each place by the mean and variance of its own channels,
 * then times a scale and plus a shift.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

#include <math.h>
#include <string.h>

static const float epsilon = 1e-5f;

static int rows(const struct stage *stage) { return stage->batch * stage->l->in.height * stage->l->in.width; }

/* data: x, scales, shifts, y, and of each row what makes it: (x - mean) * factor. */
enum { X, SCALE, SHIFT, Y, MEAN, FACTOR, FORWARD_DATA };

static dnnl_status_t forward(const void *of, float *const *data)
{
	const struct stage *stage = of;
	const size_t channels = (size_t)stage->l->in.channels, count = (size_t)rows(stage);
	const float *scale = data[SCALE], *shift = data[SHIFT];
	for (size_t r = 0; r < count; r++) {
		const float *x = data[X] + r * channels;
		float *y = data[Y] + r * channels, sum = 0, squares = 0;
		for (size_t c = 0; c < channels; c++)
			sum += x[c];
		const float mean = sum / (float)channels;
		for (size_t c = 0; c < channels; c++)
			squares += (x[c] - mean) * (x[c] - mean);
		const float factor = 1 / sqrtf(squares / (float)channels + epsilon);
		for (size_t c = 0; c < channels; c++)
			y[c] = (x[c] - mean) * factor * scale[c] + shift[c];
		data[MEAN][r] = mean;
		data[FACTOR][r] = factor;
	}
	return dnnl_success;
}

/* data: x, scales, means, factors, dy; dx, and the gradients by scales and shifts. */
enum { B_X, B_SCALE, B_MEAN, B_FACTOR, B_DY, B_DX, B_DSCALE, B_DSHIFT, BACKWARD_DATA };

static dnnl_status_t backward(const void *of, float *const *data)
{
	const struct stage *stage = of;
	const size_t channels = (size_t)stage->l->in.channels, count = (size_t)rows(stage);
	const float *scale = data[B_SCALE];
	float *dscale = data[B_DSCALE], *dshift = data[B_DSHIFT];
	memset(dscale, 0, channels * sizeof *dscale);
	memset(dshift, 0, channels * sizeof *dshift);
	for (size_t r = 0; r < count; r++) {
		const float *x = data[B_X] + r * channels, *dy = data[B_DY] + r * channels;
		const float mean = data[B_MEAN][r], factor = data[B_FACTOR][r];
		float *dx = data[B_DX] + r * channels, sum = 0, along = 0;
		for (size_t c = 0; c < channels; c++) {
			const float normal = (x[c] - mean) * factor, g = dy[c] * scale[c];
			dscale[c] += dy[c] * normal;
			dshift[c] += dy[c];
			sum += g;
			along += g * normal;
		}
		sum /= (float)channels;
		along /= (float)channels;
		for (size_t c = 0; c < channels; c++)
			dx[c] = factor * (dy[c] * scale[c] - sum - (x[c] - mean) * factor * along);
	}
	return dnnl_success;
}

static dnnl_memory_t vector(struct tape *tape, enum tape_base base, size_t at, size_t count)
{
	const int n = (int)count;
	return tape_bound(tape, base, at, tape_plain(tape, 1, &n));
}

void layernorm_forward(struct tape *tape, struct stage *stage)
{
	const struct net_layer *l = stage->l;
	const int n = rows(stage);
	stage->y = tape_memory(tape, tape_tensor(tape, stage->batch, l->out));
	stage->mean = tape_memory(tape, tape_plain(tape, 1, &n));
	stage->variance = tape_memory(tape, tape_plain(tape, 1, &n));
	const dnnl_memory_t data[FORWARD_DATA] = {
	        [X] = stage->x,
	        [SCALE] = vector(tape, TAPE_PARAM, l->weights_at, l->weights),
	        [SHIFT] = vector(tape, TAPE_PARAM, l->bias_at, l->bias),
	        [Y] = stage->y,
	        [MEAN] = stage->mean,
	        [FACTOR] = stage->variance,
	};
	tape_call(tape, forward, stage, FORWARD_DATA, data);
}

dnnl_memory_t layernorm_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	const struct net_layer *l = stage->l;
	dnnl_memory_t dx = tape_memory(tape, tape_tensor(tape, stage->batch, l->in));
	const dnnl_memory_t data[BACKWARD_DATA] = {
	        [B_X] = stage->x,
	        [B_SCALE] = vector(tape, TAPE_PARAM, l->weights_at, l->weights),
	        [B_MEAN] = stage->mean,
	        [B_FACTOR] = stage->variance,
	        [B_DY] = dy,
	        [B_DX] = dx,
	        [B_DSCALE] = vector(tape, TAPE_GRAD, l->weights_at, l->weights),
	        [B_DSHIFT] = vector(tape, TAPE_GRAD, l->bias_at, l->bias),
	};
	tape_call(tape, backward, stage, BACKWARD_DATA, data);
	return want_dx ? dx : NULL;
}
