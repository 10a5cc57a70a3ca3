/* Batch normalisation (Ioffe and Szegedy, ICML 2015): by the mean and variance of each channel over the
 * batch, or in a test by given ones; then times a scale and plus a shift.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

static const float epsilon = 1e-5f;

struct layouts {
	dnnl_memory_desc_t x, pair, one; /* pair: scale and shift, as stored; one: means, or variances */
};

static struct layouts layouts(struct tape *tape, const struct stage *stage)
{
	const int channels = stage->l->in.channels;
	return (struct layouts){
	        .x = tape_tensor(tape, stage->batch, stage->l->in),
	        .pair = tape_plain(tape, 2, (const int[]){2, channels}),
	        .one = tape_plain(tape, 1, &channels),
	};
}

void batchnorm_forward(struct tape *tape, struct stage *stage)
{
	const struct net_layer *l = stage->l;
	const struct layouts m = layouts(tape, stage);
	dnnl_batch_normalization_desc_t norm;
	const dnnl_status_t status = dnnl_batch_normalization_forward_desc_init(
	        &norm, stage->test ? dnnl_forward_inference : dnnl_forward_training, &m.x, epsilon,
	        dnnl_use_scaleshift | (stage->test ? dnnl_use_global_stats : 0));
	stage->forward = tape_describe(tape, status, &norm, NULL);
	stage->y = tape_memory(tape, &m.x);
	if (stage->test) {
		stage->mean = tape_bound(tape, TAPE_PARAM, l->statistics_at, &m.one);
		stage->variance =
		        tape_bound(tape, TAPE_PARAM, l->statistics_at + (size_t)l->in.channels, &m.one);
	} else {
		stage->mean = tape_memory(tape, &m.one);
		stage->variance = tape_memory(tape, &m.one);
	}
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_DST, stage->y},
	        {DNNL_ARG_SCALE_SHIFT, tape_bound(tape, TAPE_PARAM, l->weights_at, &m.pair)},
	        {DNNL_ARG_MEAN, stage->mean},
	        {DNNL_ARG_VARIANCE, stage->variance},
	};
	tape_record(tape, stage->forward, 5, arg);
}

dnnl_memory_t batchnorm_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	(void)want_dx; /* oneDNN always computes dx too */
	const struct layouts m = layouts(tape, stage);
	dnnl_batch_normalization_desc_t norm;
	const dnnl_status_t status = dnnl_batch_normalization_backward_desc_init(
	        &norm, dnnl_backward, &m.x, &m.x, epsilon, dnnl_use_scaleshift);
	dnnl_memory_t dx = tape_memory(tape, &m.x);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_MEAN, stage->mean},
	        {DNNL_ARG_VARIANCE, stage->variance},
	        {DNNL_ARG_DIFF_DST, dy},
	        {DNNL_ARG_SCALE_SHIFT, tape_bound(tape, TAPE_PARAM, stage->l->weights_at, &m.pair)},
	        {DNNL_ARG_DIFF_SRC, dx},
	        {DNNL_ARG_DIFF_SCALE_SHIFT, tape_bound(tape, TAPE_GRAD, stage->l->weights_at, &m.pair)},
	};
	tape_record(tape, tape_describe(tape, status, &norm, stage->forward), 7, arg);
	return dx;
}
