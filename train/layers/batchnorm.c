/* Batch normalisation (Ioffe and Szegedy, ICML 2015): by the mean and variance of each channel over the
 * batch, or in a test by given ones; then times a scale and plus a shift.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

static const float epsilon = 1e-5f;

struct layouts {
	tape_layout x, one; /* one: scales, shifts, means, or variances */
};

static struct layouts layouts(struct tape *tape, const struct stage *stage)
{
	const int channels = stage->l->in.channels;
	return (struct layouts){
	        .x = tape_tensor(tape, stage->batch, stage->l->in),
	        .one = tape_plain(tape, 1, &channels),
	};
}

void batchnorm_forward(struct tape *tape, struct stage *stage)
{
	const struct net_layer *l = stage->l;
	const struct layouts m = layouts(tape, stage);
	const dnnl_status_t status = dnnl_batch_normalization_forward_primitive_desc_create(
	        &stage->forward, tape_engine(tape),
	        stage->test ? dnnl_forward_inference : dnnl_forward_training, m.x, m.x, epsilon,
	        dnnl_use_scale | dnnl_use_shift | (stage->test ? dnnl_use_global_stats : 0),
	        tape_attributes(tape));
	stage->forward = tape_described(tape, status, stage->forward);
	stage->y = tape_memory(tape, m.x);
	if (stage->test) {
		stage->mean = tape_bound(tape, TAPE_PARAM, l->statistics_at, m.one);
		stage->variance =
		        tape_bound(tape, TAPE_PARAM, l->statistics_at + (size_t)l->in.channels, m.one);
	} else {
		stage->mean = tape_memory(tape, m.one);
		stage->variance = tape_memory(tape, m.one);
	}
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_DST, stage->y},
	        {DNNL_ARG_SCALE, tape_bound(tape, TAPE_PARAM, l->weights_at, m.one)},
	        {DNNL_ARG_SHIFT, tape_bound(tape, TAPE_PARAM, l->weights_at + (size_t)l->in.channels, m.one)},
	        {DNNL_ARG_MEAN, stage->mean},
	        {DNNL_ARG_VARIANCE, stage->variance},
	};
	tape_record(tape, stage->forward, 6, arg);
}

dnnl_memory_t batchnorm_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	(void)want_dx; /* oneDNN always computes dx too */
	const struct layouts m = layouts(tape, stage);
	const size_t scale = stage->l->weights_at, shift = scale + (size_t)stage->l->in.channels;
	dnnl_primitive_desc_t described = NULL;
	const dnnl_status_t status = dnnl_batch_normalization_backward_primitive_desc_create(
	        &described, tape_engine(tape), dnnl_backward, m.x, m.x, m.x, epsilon,
	        dnnl_use_scale | dnnl_use_shift, stage->forward, tape_attributes(tape));
	dnnl_memory_t dx = tape_memory(tape, m.x);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_MEAN, stage->mean},
	        {DNNL_ARG_VARIANCE, stage->variance},
	        {DNNL_ARG_DIFF_DST, dy},
	        {DNNL_ARG_SCALE, tape_bound(tape, TAPE_PARAM, scale, m.one)},
	        {DNNL_ARG_DIFF_SRC, dx},
	        {DNNL_ARG_DIFF_SCALE, tape_bound(tape, TAPE_GRAD, scale, m.one)},
	        {DNNL_ARG_DIFF_SHIFT, tape_bound(tape, TAPE_GRAD, shift, m.one)},
	        {DNNL_ARG_SHIFT, tape_bound(tape, TAPE_PARAM, shift, m.one)},
	};
	tape_record(tape, tape_described(tape, status, described), 8 + ONEDNN_BACKWARD_TAKES_SHIFT, arg);
	return dx;
}
