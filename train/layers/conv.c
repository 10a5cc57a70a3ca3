/* Convolution.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

struct layouts {
	dnnl_dims_t stride, pad;
	tape_layout x, y, b;  /* b is NULL without bias */
	tape_layout w, any_w; /* weights as stored, and as oneDNN prefers them */
};

static const dnnl_dims_t undilated = {0, 0};

static struct layouts layouts(struct tape *tape, const struct stage *stage)
{
	const struct net_layer *l = stage->l;
	const int size = l->layer.size;
	const int stride = layer_stride(&l->layer), pad = l->layer.pad;
	const int weights[] = {l->layer.units, l->in.channels, size, size};
	return (struct layouts){
	        .stride = {stride, stride},
	        .pad = {pad, pad},
	        .x = tape_tensor(tape, stage->batch, l->in),
	        .y = tape_tensor(tape, stage->batch, l->out),
	        .b = l->bias > 0 ? tape_plain(tape, 1, &l->layer.units) : NULL,
	        .w = tape_plain(tape, 4, weights),
	        .any_w = tape_any(tape, 4, weights),
	};
}

/* Returns the weights in the layout that a described operation wants. */
static dnnl_memory_t weights(struct tape *tape, const struct stage *stage, const struct layouts *m,
                             dnnl_primitive_desc_t described)
{
	const tape_layout wanted = tape_wanted(tape, described, dnnl_query_weights_md, 0);
	return tape_convert(tape, tape_bound(tape, TAPE_PARAM, stage->l->weights_at, m->w), wanted);
}

void conv_forward(struct tape *tape, struct stage *stage)
{
	const struct layouts m = layouts(tape, stage);
	const dnnl_status_t status = dnnl_convolution_forward_primitive_desc_create(
	        &stage->forward, tape_engine(tape), dnnl_forward_training, dnnl_convolution_direct, m.x,
	        m.any_w, m.b, m.y, m.stride, undilated, m.pad, m.pad, tape_attributes(tape));
	stage->forward = tape_described(tape, status, stage->forward);
	stage->y = tape_memory(tape, m.y);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_WEIGHTS, weights(tape, stage, &m, stage->forward)},
	        {DNNL_ARG_DST, stage->y},
	        {DNNL_ARG_BIAS, m.b ? tape_bound(tape, TAPE_PARAM, stage->l->bias_at, m.b) : NULL},
	};
	tape_record(tape, stage->forward, m.b ? 4 : 3, arg);
}

static void by_weights(struct tape *tape, const struct stage *stage, const struct layouts *m,
                       dnnl_memory_t dy)
{
	dnnl_primitive_desc_t described = NULL;
	const dnnl_status_t status = dnnl_convolution_backward_weights_primitive_desc_create(
	        &described, tape_engine(tape), dnnl_convolution_direct, m->x, m->any_w, m->b, m->y, m->stride,
	        undilated, m->pad, m->pad, stage->forward, tape_attributes(tape));
	described = tape_described(tape, status, described);
	const tape_layout wanted = tape_wanted(tape, described, dnnl_query_diff_weights_md, 0);
	dnnl_memory_t grad = tape_bound(tape, TAPE_GRAD, stage->l->weights_at, m->w);
	dnnl_memory_t dw = tape_fitting(tape, grad, wanted);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_DIFF_DST, dy},
	        {DNNL_ARG_DIFF_WEIGHTS, dw},
	        {DNNL_ARG_DIFF_BIAS, m->b ? tape_bound(tape, TAPE_GRAD, stage->l->bias_at, m->b) : NULL},
	};
	tape_record(tape, described, m->b ? 4 : 3, arg);
	tape_copy(tape, dw, grad);
}

static dnnl_memory_t by_data(struct tape *tape, const struct stage *stage, const struct layouts *m,
                             dnnl_memory_t dy)
{
	dnnl_primitive_desc_t described = NULL;
	const dnnl_status_t status = dnnl_convolution_backward_data_primitive_desc_create(
	        &described, tape_engine(tape), dnnl_convolution_direct, m->x, m->any_w, m->y, m->stride,
	        undilated, m->pad, m->pad, stage->forward, tape_attributes(tape));
	described = tape_described(tape, status, described);
	dnnl_memory_t dx = tape_memory(tape, m->x);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_DIFF_DST, dy},
	        {DNNL_ARG_WEIGHTS, weights(tape, stage, m, described)},
	        {DNNL_ARG_DIFF_SRC, dx},
	};
	tape_record(tape, described, 3, arg);
	return dx;
}

dnnl_memory_t conv_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	const struct layouts m = layouts(tape, stage);
	by_weights(tape, stage, &m, dy);
	return want_dx ? by_data(tape, stage, &m, dy) : NULL;
}
