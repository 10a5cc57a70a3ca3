/* Fully connected layer, of a whole image or at each of its places, on plain matrices, which oneDNN hands to
 * its gemm: weights [units][inputs], where the inputs of an image are [channels][height][width].
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

struct layouts {
	tape_layout tensor_x, tensor_y; /* outside */
	tape_layout image_x;            /* the input, as images in plain layout */
	tape_layout x, w, b, y;         /* inside: matrices; b is NULL without bias */
};

static struct layouts layouts(struct tape *tape, const struct stage *stage)
{
	const int units = stage->l->layer.units, batch = stage->batch;
	const struct shape in = stage->l->in;
	const bool each = stage->l->layer.type == LAYER_LINEAR;
	const int inputs = each ? in.channels : (int)shape_count(in), rows = each ? batch * in.height : batch;
	return (struct layouts){
	        .tensor_x = tape_tensor(tape, batch, in),
	        .tensor_y = tape_tensor(tape, batch, stage->l->out),
	        .image_x = each ? tape_tensor(tape, batch, in)
	                        : tape_plain(tape, 4, (const int[]){batch, in.channels, in.height, in.width}),
	        .x = tape_plain(tape, 2, (const int[]){rows, inputs}),
	        .w = tape_plain(tape, 2, (const int[]){units, inputs}),
	        .b = stage->l->bias > 0 ? tape_plain(tape, 1, &units) : NULL,
	        .y = tape_plain(tape, 2, (const int[]){rows, units}),
	};
}

void fc_forward(struct tape *tape, struct stage *stage)
{
	const struct net_layer *l = stage->l;
	const struct layouts m = layouts(tape, stage);
	const dnnl_status_t status = dnnl_inner_product_forward_primitive_desc_create(
	        &stage->forward, tape_engine(tape), dnnl_forward_training, m.x, m.w, m.b, m.y,
	        tape_attributes(tape));
	stage->forward = tape_described(tape, status, stage->forward);
	stage->x = tape_view(tape, tape_convert(tape, stage->x, m.image_x), m.x);
	stage->y = tape_memory(tape, m.tensor_y);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_WEIGHTS, tape_bound(tape, TAPE_PARAM, l->weights_at, m.w)},
	        {DNNL_ARG_DST, tape_view(tape, stage->y, m.y)},
	        {DNNL_ARG_BIAS, m.b ? tape_bound(tape, TAPE_PARAM, l->bias_at, m.b) : NULL},
	};
	tape_record(tape, stage->forward, m.b ? 4 : 3, arg);
}

static void by_weights(struct tape *tape, const struct stage *stage, const struct layouts *m,
                       dnnl_memory_t dy)
{
	const struct net_layer *l = stage->l;
	dnnl_primitive_desc_t described = NULL;
	const dnnl_status_t status = dnnl_inner_product_backward_weights_primitive_desc_create(
	        &described, tape_engine(tape), m->x, m->w, m->b, m->y, stage->forward, tape_attributes(tape));
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC, stage->x},
	        {DNNL_ARG_DIFF_DST, dy},
	        {DNNL_ARG_DIFF_WEIGHTS, tape_bound(tape, TAPE_GRAD, l->weights_at, m->w)},
	        {DNNL_ARG_DIFF_BIAS, m->b ? tape_bound(tape, TAPE_GRAD, l->bias_at, m->b) : NULL},
	};
	tape_record(tape, tape_described(tape, status, described), m->b ? 4 : 3, arg);
}

static dnnl_memory_t by_data(struct tape *tape, const struct stage *stage, const struct layouts *m,
                             dnnl_memory_t dy)
{
	dnnl_primitive_desc_t described = NULL;
	const dnnl_status_t status = dnnl_inner_product_backward_data_primitive_desc_create(
	        &described, tape_engine(tape), m->x, m->w, m->y, stage->forward, tape_attributes(tape));
	dnnl_memory_t dx = tape_memory(tape, m->image_x);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_DIFF_DST, dy},
	        {DNNL_ARG_WEIGHTS, tape_bound(tape, TAPE_PARAM, stage->l->weights_at, m->w)},
	        {DNNL_ARG_DIFF_SRC, tape_view(tape, dx, m->x)},
	};
	tape_record(tape, tape_described(tape, status, described), 3, arg);
	return tape_convert(tape, dx, m->tensor_x);
}

dnnl_memory_t fc_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	const struct layouts m = layouts(tape, stage);
	dnnl_memory_t matrix = tape_view(tape, dy, m.y);
	by_weights(tape, stage, &m, matrix);
	return want_dx ? by_data(tape, stage, &m, matrix) : NULL;
}
