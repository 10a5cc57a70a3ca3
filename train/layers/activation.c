/* Rectifier, and GELU (Hendrycks and Gimpel, arXiv 1606.08415) in its form by tanh.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

static dnnl_alg_kind_t function(const struct stage *stage)
{
	return stage->l->layer.type == LAYER_RELU ? dnnl_eltwise_relu : dnnl_eltwise_gelu_tanh;
}

void activation_forward(struct tape *tape, struct stage *stage)
{
	const tape_layout x = tape_tensor(tape, stage->batch, stage->l->in);
	const dnnl_status_t status = dnnl_eltwise_forward_primitive_desc_create(
	        &stage->forward, tape_engine(tape), dnnl_forward_training, function(stage), x, x, 0, 0,
	        tape_attributes(tape));
	stage->forward = tape_described(tape, status, stage->forward);
	stage->y = tape_memory(tape, x);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_DST, stage->y},
	};
	tape_record(tape, stage->forward, 2, arg);
}

dnnl_memory_t activation_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy,
                                  bool want_dx)
{
	if (!want_dx)
		return NULL;
	const tape_layout x = tape_tensor(tape, stage->batch, stage->l->in);
	dnnl_primitive_desc_t described = NULL;
	const dnnl_status_t status = dnnl_eltwise_backward_primitive_desc_create(
	        &described, tape_engine(tape), function(stage), x, x, x, 0, 0, stage->forward,
	        tape_attributes(tape));
	dnnl_memory_t dx = tape_memory(tape, x);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_DIFF_DST, dy},
	        {DNNL_ARG_DIFF_SRC, dx},
	};
	tape_record(tape, tape_described(tape, status, described), 3, arg);
	return dx;
}
