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

/* A head of a sample begins at these floats of the input, of the output and of the weights. */
struct place {
	size_t in, out, weights;
};

static struct place place(const struct sizes *z, int head_of_all)
{
	const size_t sample = (size_t)(head_of_all / z->heads), n = (size_t)z->places;
	const size_t channel = (size_t)(head_of_all % z->heads * z->head);
	return (struct place){.in = sample * n * (size_t)z->in + channel,
	                      .out = sample * n * (size_t)z->out + channel,
	                      .weights = (size_t)head_of_all * n * n};
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

/* Computes one head of one sample from its queries, which keys and values follow. */
static dnnl_status_t head_forward(const struct sizes *z, const float *q, float *weight, float *y)
{
	const float *k = q + z->out, *v = k + z->out;
	const int n = z->places;
	dnnl_status_t status =
	        dnnl_sgemm('N', 'T', n, n, z->head, z->scale, q, z->in, k, z->in, 0, weight, n);
	for (int t = 0; t < n; t++)
		causal_softmax(weight + t * n, t, n);
	return status ? status : dnnl_sgemm('N', 'N', n, z->head, n, 1, weight, n, v, z->in, 0, y, z->out);
}

/* data: x, y, and the weights, [batch][heads][places][places]. */
static dnnl_status_t forward(const void *of, float *const *data)
{
	const struct stage *stage = of;
	const struct sizes z = sizes(stage);
	dnnl_status_t status = dnnl_success;
	for (int i = 0; i < stage->batch * z.heads && !status; i++) {
		const struct place at = place(&z, i);
		status = head_forward(&z, data[0] + at.in, data[2] + at.weights, data[1] + at.out);
	}
	return status;
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

static dnnl_status_t head_backward(const struct sizes *z, const float *q, const float *weight,
                                   const float *dy, float *dq, float *d)
{
	const float *k = q + z->out, *v = k + z->out;
	float *dk = dq + z->out, *dv = dk + z->out;
	const int n = z->places, head = z->head;
	dnnl_status_t status = dnnl_sgemm('T', 'N', n, head, n, 1, weight, n, dy, z->out, 0, dv, z->in);
	if (!status)
		status = dnnl_sgemm('N', 'T', n, n, head, 1, dy, z->out, v, z->in, 0, d, n);
	for (int t = 0; t < n; t++)
		softmax_gradient(d + t * n, weight + t * n, t, n);
	if (!status)
		status = dnnl_sgemm('N', 'N', n, head, n, z->scale, d, n, k, z->in, 0, dq, z->in);
	return status ? status : dnnl_sgemm('T', 'N', n, head, n, z->scale, d, n, q, z->in, 0, dk, z->in);
}

/* data: x, weights, dy; dx, and room for [places][places]. */
static dnnl_status_t backward(const void *of, float *const *data)
{
	const struct stage *stage = of;
	const struct sizes z = sizes(stage);
	dnnl_status_t status = dnnl_success;
	for (int i = 0; i < stage->batch * z.heads && !status; i++) {
		const struct place at = place(&z, i);
		status = head_backward(&z, data[0] + at.in, data[1] + at.weights, data[2] + at.out,
		                       data[3] + at.in, data[4]);
	}
	return status;
}

void attention_forward(struct tape *tape, struct stage *stage)
{
	const struct sizes z = sizes(stage);
	const int weights[] = {stage->batch, z.heads, z.places, z.places};
	stage->y = tape_memory(tape, tape_tensor(tape, stage->batch, stage->l->out));
	stage->weights = tape_memory(tape, tape_plain(tape, 4, weights));
	tape_call(tape, forward, stage, 3, (dnnl_memory_t[]){stage->x, stage->y, stage->weights});
}

dnnl_memory_t attention_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	const int square[] = {stage->l->in.height, stage->l->in.height};
	if (!want_dx)
		return NULL;
	dnnl_memory_t dx = tape_memory(tape, tape_tensor(tape, stage->batch, stage->l->in));
	dnnl_memory_t room = tape_memory(tape, tape_plain(tape, 2, square));
	tape_call(tape, backward, stage, 5, (dnnl_memory_t[]){stage->x, stage->weights, dy, dx, room});
	return dx;
}
