/* Causal self-attention (Vaswani et al., NeurIPS 2017, section 3.2) without its projections, which are linear
 * layers: a place's output is the mean of the values at it and before it, weighted by the softmax of its
 * query's products with their keys over the square root of a head's channels.
 *
 * A row of the input is [query | key | value], each [heads][channels of a head].
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

#include <math.h>

struct sizes {
	int heads, places, head; /* head: channels of one */
	int in, out;             /* floats of a row */
	float scale;
};

static struct sizes sizes(const struct stage *stage)
{
	const struct net_layer *l = stage->l;
	const int head = l->out.channels / l->layer.size;
	return (struct sizes){.heads = l->layer.size,
	                      .places = l->in.height,
	                      .head = head,
	                      .in = l->in.channels,
	                      .out = l->out.channels,
	                      .scale = 1 / sqrtf((float)head)};
}

/* C = factor * op(A) op(B), a row-major m x n matrix. */
static void multiply(char transpose_a, char transpose_b, int m, int n, int k, float factor, const float *a,
                     int a_row, const float *b, int b_row, float *c, int c_row)
{
	dnnl_sgemm(transpose_a, transpose_b, m, n, k, factor, a, a_row, b, b_row, 0, c, c_row);
}

/* The first t + 1 of row t become their softmax, the others 0. */
static void causal_softmax(float *row, int t, int places)
{
	float most = row[0], sum = 0;
	for (int s = 1; s <= t; s++)
		most = row[s] > most ? row[s] : most;
	for (int s = 0; s <= t; s++)
		sum += row[s] = expf(row[s] - most);
	for (int s = 0; s <= t; s++)
		row[s] /= sum;
	for (int s = t + 1; s < places; s++)
		row[s] = 0;
}

/* data: x, y, and the weights, [batch][heads][places][places]. */
static void forward(const void *of, float *const *data)
{
	const struct stage *stage = of;
	const struct sizes z = sizes(stage);
	const size_t square = (size_t)z.places * (size_t)z.places;
	for (int i = 0; i < stage->batch; i++)
		for (int h = 0; h < z.heads; h++) {
			const float *q = data[0] + (size_t)i * (size_t)(z.places * z.in) + h * z.head;
			const float *k = q + z.out, *v = k + z.out;
			float *y = data[1] + (size_t)i * (size_t)(z.places * z.out) + h * z.head;
			float *weight = data[2] + (size_t)(i * z.heads + h) * square;
			multiply('N', 'T', z.places, z.places, z.head, z.scale, q, z.in, k, z.in, weight,
			         z.places);
			for (int t = 0; t < z.places; t++)
				causal_softmax(weight + t * z.places, t, z.places);
			multiply('N', 'N', z.places, z.head, z.places, 1, weight, z.places, v, z.in, y,
			         z.out);
		}
}

/* From the gradient by a row's softmax to that by its scores. */
static void softmax_gradient(float *d, const float *weight, int t, int places)
{
	float along = 0;
	for (int s = 0; s <= t; s++)
		along += d[s] * weight[s];
	for (int s = 0; s <= t; s++)
		d[s] = weight[s] * (d[s] - along);
	for (int s = t + 1; s < places; s++)
		d[s] = 0;
}

/* data: x, weights, dy; dx, and room for [places][places]. */
static void backward(const void *of, float *const *data)
{
	const struct stage *stage = of;
	const struct sizes z = sizes(stage);
	const size_t square = (size_t)z.places * (size_t)z.places;
	float *d = data[4];
	for (int i = 0; i < stage->batch; i++)
		for (int h = 0; h < z.heads; h++) {
			const size_t at = (size_t)i * (size_t)(z.places * z.in) + (size_t)(h * z.head);
			const float *q = data[0] + at, *k = q + z.out, *v = k + z.out;
			float *dq = data[3] + at, *dk = dq + z.out, *dv = dk + z.out;
			const float *weight = data[1] + (size_t)(i * z.heads + h) * square;
			const float *dy = data[2] + (size_t)i * (size_t)(z.places * z.out) + h * z.head;
			multiply('T', 'N', z.places, z.head, z.places, 1, weight, z.places, dy, z.out, dv,
			         z.in);
			multiply('N', 'T', z.places, z.places, z.head, 1, dy, z.out, v, z.in, d, z.places);
			for (int t = 0; t < z.places; t++)
				softmax_gradient(d + t * z.places, weight + t * z.places, t, z.places);
			multiply('N', 'N', z.places, z.head, z.places, z.scale, d, z.places, k, z.in, dq,
			         z.in);
			multiply('T', 'N', z.places, z.head, z.places, z.scale, d, z.places, q, z.in, dk,
			         z.in);
		}
}

void attention_forward(struct tape *tape, struct stage *stage)
{
	const struct sizes z = sizes(stage);
	const int weights[] = {stage->batch, z.heads, z.places, z.places};
	stage->y = tape_memory(tape, tape_tensor(tape, stage->batch, stage->l->out));
	stage->state = tape_memory(tape, tape_plain(tape, 4, weights));
	tape_call(tape, forward, stage, 3, (dnnl_memory_t[]){stage->x, stage->y, stage->state});
}

dnnl_memory_t attention_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	const int square[] = {stage->l->in.height, stage->l->in.height};
	if (!want_dx)
		return NULL;
	dnnl_memory_t dx = tape_memory(tape, tape_tensor(tape, stage->batch, stage->l->in));
	dnnl_memory_t room = tape_memory(tape, tape_plain(tape, 2, square));
	tape_call(tape, backward, stage, 5, (dnnl_memory_t[]){stage->x, stage->state, dy, dx, room});
	return dx;
}
