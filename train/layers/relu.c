/* Rectifier.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

void relu_forward(struct tape *tape, struct stage *stage)
{
	const dnnl_memory_desc_t x = tape_tensor(tape, stage->batch, stage->l->in);
	dnnl_eltwise_desc_t relu;
	const dnnl_status_t status =
	        dnnl_eltwise_forward_desc_init(&relu, dnnl_forward_training, dnnl_eltwise_relu, &x, 0, 0);
	stage->forward = tape_describe(tape, status, &relu, NULL);
	stage->y = tape_memory(tape, &x);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_DST, stage->y},
	};
	tape_record(tape, stage->forward, 2, arg);
}

dnnl_memory_t relu_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	if (!want_dx)
		return NULL;
	const dnnl_memory_desc_t x = tape_tensor(tape, stage->batch, stage->l->in);
	dnnl_eltwise_desc_t relu;
	const dnnl_status_t status = dnnl_eltwise_backward_desc_init(&relu, dnnl_eltwise_relu, &x, &x, 0, 0);
	dnnl_memory_t dx = tape_memory(tape, &x);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_DIFF_DST, dy},
	        {DNNL_ARG_DIFF_SRC, dx},
	};
	tape_record(tape, tape_describe(tape, status, &relu, stage->forward), 3, arg);
	return dx;
}
