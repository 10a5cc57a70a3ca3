/* Max-pooling in windows that lie side by side.
 *
 * SPDX-License-Identifier: MIT */
#include "layers.h"

static const dnnl_dims_t none = {0, 0};

void max_pool_forward(struct tape *tape, struct stage *stage)
{
	const dnnl_dims_t window = {stage->l->layer.size, stage->l->layer.size};
	const dnnl_memory_desc_t x = tape_tensor(tape, stage->batch, stage->l->in);
	const dnnl_memory_desc_t y = tape_tensor(tape, stage->batch, stage->l->out);
	dnnl_pooling_desc_t pool;
	const dnnl_status_t status = dnnl_pooling_forward_desc_init(
	        &pool, dnnl_forward_training, dnnl_pooling_max, &x, &y, window, window, none, none);
	stage->forward = tape_describe(tape, status, &pool, NULL);
	const dnnl_memory_desc_t workspace = tape_wanted(tape, stage->forward, dnnl_query_workspace_md);
	stage->workspace = tape_memory(tape, &workspace);
	stage->y = tape_memory(tape, &y);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_DST, stage->y},
	        {DNNL_ARG_WORKSPACE, stage->workspace},
	};
	tape_record(tape, stage->forward, 3, arg);
}

dnnl_memory_t max_pool_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	if (!want_dx)
		return NULL;
	const dnnl_dims_t window = {stage->l->layer.size, stage->l->layer.size};
	const dnnl_memory_desc_t x = tape_tensor(tape, stage->batch, stage->l->in);
	const dnnl_memory_desc_t y = tape_tensor(tape, stage->batch, stage->l->out);
	dnnl_pooling_desc_t pool;
	const dnnl_status_t status =
	        dnnl_pooling_backward_desc_init(&pool, dnnl_pooling_max, &x, &y, window, window, none, none);
	dnnl_memory_t dx = tape_memory(tape, &x);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_DIFF_DST, dy},
	        {DNNL_ARG_WORKSPACE, stage->workspace},
	        {DNNL_ARG_DIFF_SRC, dx},
	};
	tape_record(tape, tape_describe(tape, status, &pool, stage->forward), 3, arg);
	return dx;
}
