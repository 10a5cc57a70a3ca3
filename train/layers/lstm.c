/* Long short-term memory over the rows of an image as steps in time. Weights are [gate][unit][input], gates
 * in the order input, forget, candidate, output. No gradient goes back beyond the first state.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

enum { GATES = 4 };

struct layouts {
	tape_layout tensor_x, tensor_y; /* outside */
	tape_layout seen_x, seen_y;     /* its memory as [time][batch][channels] */
	tape_layout x, y, state;        /* inside: plain */
	tape_layout w, u, b;            /* weights of the input and of the state, and biases, as stored */
	tape_layout any_w, any_u;
};

static tape_layout in_time(struct tape *tape, int batch, struct shape s)
{
	return tape_strided(tape, 3, (const int[]){s.height, batch, s.channels},
	                    (const int[]){s.channels, s.height * s.channels, 1});
}

static tape_layout any(struct tape *tape, int inputs, int units)
{
	return tape_any(tape, 5, (const int[]){1, 1, inputs, GATES, units});
}

static tape_layout weights(struct tape *tape, int inputs, int units)
{
	return tape_strided(
	        tape, 5, (const int[]){1, 1, inputs, GATES, units},
	        (const int[]){GATES * units * inputs, GATES * units * inputs, 1, units * inputs, inputs});
}

static struct layouts layouts(struct tape *tape, const struct stage *stage)
{
	const struct shape in = stage->l->in, out = stage->l->out;
	return (struct layouts){
	        .tensor_x = tape_tensor(tape, stage->batch, in),
	        .tensor_y = tape_tensor(tape, stage->batch, out),
	        .seen_x = in_time(tape, stage->batch, in),
	        .seen_y = in_time(tape, stage->batch, out),
	        .x = tape_plain(tape, 3, (const int[]){in.height, stage->batch, in.channels}),
	        .y = tape_plain(tape, 3, (const int[]){out.height, stage->batch, out.channels}),
	        .state = tape_plain(tape, 4, (const int[]){1, 1, stage->batch, out.channels}),
	        .w = weights(tape, in.channels, out.channels),
	        .u = weights(tape, out.channels, out.channels),
	        .any_w = any(tape, in.channels, out.channels),
	        .any_u = any(tape, out.channels, out.channels),
	        .b = tape_plain(tape, 4, (const int[]){1, 1, GATES, out.channels}),
	};
}

static dnnl_memory_t wanted_param(struct tape *tape, dnnl_primitive_desc_t described, int which, size_t at,
                                  tape_layout md)
{
	const tape_layout wanted = tape_wanted(tape, described, dnnl_query_weights_md, which);
	return tape_convert(tape, tape_bound(tape, TAPE_PARAM, at, md), wanted);
}

void lstm_forward(struct tape *tape, struct stage *stage)
{
	const struct net_layer *l = stage->l;
	const struct layouts m = layouts(tape, stage);
	const tape_layout last = stage->carries ? m.state : NULL;
	const dnnl_status_t status = dnnl_lstm_forward_primitive_desc_create(
	        &stage->forward, tape_engine(tape), dnnl_forward_training, dnnl_unidirectional_left2right,
	        m.x, m.state, m.state, m.any_w, m.any_u, NULL, NULL, m.b, m.y, last, last,
	        dnnl_rnn_flags_undef, tape_attributes(tape));
	stage->forward = tape_described(tape, status, stage->forward);
	const tape_layout workspace = tape_wanted(tape, stage->forward, dnnl_query_workspace_md, 0);
	stage->workspace = tape_memory(tape, workspace);
	stage->x = tape_convert(tape, tape_view(tape, stage->x, m.seen_x), m.x);
	stage->out = tape_memory(tape, m.y);
	for (int i = 0; i < 2; i++) {
		stage->first[i] = tape_zeros(tape, m.state);
		stage->last[i] = last ? tape_memory(tape, m.state) : NULL;
	}
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC_LAYER, stage->x},
	        {DNNL_ARG_WEIGHTS_LAYER, wanted_param(tape, stage->forward, 0, l->weights_at, m.w)},
	        {DNNL_ARG_WEIGHTS_ITER, wanted_param(tape, stage->forward, 1, l->recurrent_at, m.u)},
	        {DNNL_ARG_BIAS, tape_bound(tape, TAPE_PARAM, l->bias_at, m.b)},
	        {DNNL_ARG_DST_LAYER, stage->out},
	        {DNNL_ARG_WORKSPACE, stage->workspace},
	        {DNNL_ARG_SRC_ITER, stage->first[0]},
	        {DNNL_ARG_SRC_ITER_C, stage->first[1]},
	        {DNNL_ARG_DST_ITER, stage->last[0]},
	        {DNNL_ARG_DST_ITER_C, stage->last[1]},
	};
	tape_record(tape, stage->forward, last ? 10 : 8, arg);
	stage->y = tape_memory(tape, m.tensor_y);
	tape_copy(tape, stage->out, tape_view(tape, stage->y, m.seen_y));
}

/* Returns memory for a gradient to which oneDNN adds, zeroed each time. */
static dnnl_memory_t from_zero(struct tape *tape, tape_layout md)
{
	dnnl_memory_t memory = tape_memory(tape, md);
	tape_clear(tape, memory);
	return memory;
}

dnnl_memory_t lstm_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	const struct net_layer *l = stage->l;
	const struct layouts m = layouts(tape, stage);
	dnnl_primitive_desc_t described = NULL;
	const tape_layout last = stage->carries ? m.state : NULL;
	dnnl_memory_t no_gradient = last ? tape_zeros(tape, m.state) : NULL;
	const dnnl_status_t status = dnnl_lstm_backward_primitive_desc_create(
	        &described, tape_engine(tape), dnnl_backward, dnnl_unidirectional_left2right, m.x, m.state,
	        m.state, m.any_w, m.any_u, NULL, NULL, m.b, m.y, last, last, m.x, m.state, m.state, m.any_w,
	        m.any_u, NULL, NULL, m.b, m.y, last, last, dnnl_rnn_flags_undef, stage->forward,
	        tape_attributes(tape));
	described = tape_described(tape, status, described);
	const tape_layout wanted_w = tape_wanted(tape, described, dnnl_query_diff_weights_md, 0),
	                  wanted_u = tape_wanted(tape, described, dnnl_query_diff_weights_md, 1);
	dnnl_memory_t dw = from_zero(tape, wanted_w), du = from_zero(tape, wanted_u),
	              db = from_zero(tape, m.b);
	dnnl_memory_t dx = tape_memory(tape, m.x);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC_LAYER, stage->x},
	        {DNNL_ARG_WEIGHTS_LAYER, wanted_param(tape, described, 0, l->weights_at, m.w)},
	        {DNNL_ARG_WEIGHTS_ITER, wanted_param(tape, described, 1, l->recurrent_at, m.u)},
	        {DNNL_ARG_BIAS, tape_bound(tape, TAPE_PARAM, l->bias_at, m.b)},
	        {DNNL_ARG_DST_LAYER, stage->out},
	        {DNNL_ARG_WORKSPACE, stage->workspace},
	        {DNNL_ARG_DIFF_DST_LAYER, tape_convert(tape, tape_view(tape, dy, m.seen_y), m.y)},
	        {DNNL_ARG_DIFF_SRC_LAYER, dx},
	        {DNNL_ARG_DIFF_WEIGHTS_LAYER, dw},
	        {DNNL_ARG_DIFF_WEIGHTS_ITER, du},
	        {DNNL_ARG_DIFF_BIAS, db},
	        {DNNL_ARG_SRC_ITER, stage->first[0]},
	        {DNNL_ARG_SRC_ITER_C, stage->first[1]},
	        {DNNL_ARG_DIFF_SRC_ITER, tape_memory(tape, m.state)},
	        {DNNL_ARG_DIFF_SRC_ITER_C, tape_memory(tape, m.state)},
	        {DNNL_ARG_DST_ITER, stage->last[0]},
	        {DNNL_ARG_DST_ITER_C, stage->last[1]},
	        {DNNL_ARG_DIFF_DST_ITER, no_gradient},
	        {DNNL_ARG_DIFF_DST_ITER_C, no_gradient},
	};
	tape_record(tape, described, last ? 19 : 15, arg);
	tape_copy(tape, dw, tape_bound(tape, TAPE_GRAD, l->weights_at, m.w));
	tape_copy(tape, du, tape_bound(tape, TAPE_GRAD, l->recurrent_at, m.u));
	tape_copy(tape, db, tape_bound(tape, TAPE_GRAD, l->bias_at, m.b));
	if (!want_dx)
		return NULL;
	dnnl_memory_t tensor = tape_memory(tape, m.tensor_x);
	tape_copy(tape, dx, tape_view(tape, tensor, m.seen_x));
	return tensor;
}
