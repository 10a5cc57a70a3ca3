/* Pooling: the maximum or the mean of a window's pixels inside the image.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

struct windows {
	dnnl_alg_kind_t kind;
	tape_layout x, y;
	dnnl_dims_t size, stride, before, after; /* after: columns of the last window beyond the edge */
};

static const dnnl_dims_t undilated = {0, 0};

static struct windows windows(struct tape *tape, const struct stage *stage)
{
	const struct net_layer *l = stage->l;
	const int size = l->layer.size, stride = layer_stride(&l->layer);
	const int down = (l->out.height - 1) * stride + size - l->in.height;
	const int right = (l->out.width - 1) * stride + size - l->in.width;
	return (struct windows){
	        .kind = l->layer.type == LAYER_MAX_POOL ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding,
	        .x = tape_tensor(tape, stage->batch, l->in),
	        .y = tape_tensor(tape, stage->batch, l->out),
	        .size = {size, size},
	        .stride = {stride, stride},
	        .after = {down > 0 ? down : 0, right > 0 ? right : 0},
	};
}

void pool_forward(struct tape *tape, struct stage *stage)
{
	const struct windows w = windows(tape, stage);
	const dnnl_status_t status = dnnl_pooling_forward_primitive_desc_create(
	        &stage->forward, tape_engine(tape), dnnl_forward_training, w.kind, w.x, w.y, w.stride, w.size,
	        undilated, w.before, w.after, tape_attributes(tape));
	stage->forward = tape_described(tape, status, stage->forward);
	stage->y = tape_memory(tape, w.y);
	dnnl_exec_arg_t arg[] = {{DNNL_ARG_SRC, stage->x}, {DNNL_ARG_DST, stage->y}, {0, NULL}};
	if (w.kind == dnnl_pooling_max) {
		const tape_layout md = tape_wanted(tape, stage->forward, dnnl_query_workspace_md, 0);
		stage->workspace = tape_memory(tape, md);
		arg[2] = (dnnl_exec_arg_t){DNNL_ARG_WORKSPACE, stage->workspace};
	}
	tape_record(tape, stage->forward, w.kind == dnnl_pooling_max ? 3 : 2, arg);
}

dnnl_memory_t pool_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	if (!want_dx)
		return NULL;
	const struct windows w = windows(tape, stage);
	dnnl_primitive_desc_t described = NULL;
	const dnnl_status_t status = dnnl_pooling_backward_primitive_desc_create(
	        &described, tape_engine(tape), w.kind, w.x, w.y, w.stride, w.size, undilated, w.before,
	        w.after, stage->forward, tape_attributes(tape));
	dnnl_memory_t dx = tape_memory(tape, w.x);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dx}, {DNNL_ARG_WORKSPACE, stage->workspace}};
	tape_record(tape, tape_described(tape, status, described), stage->workspace ? 3 : 2, arg);
	return dx;
}
