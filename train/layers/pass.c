/* A network's layers recorded on a tape, first to last and then last to first.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/pass.h"
#include "train/layers/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A layer's parameters, of which backward has computed the gradient. */
struct mark {
	const struct pass *pass;
	size_t at;
};

struct pass {
	const struct net *net;
	struct tape *tape;
	dnnl_memory_t input, logits, logits_gradient;
	struct stage stage[NET_MAX_LAYERS];
	struct mark mark[NET_MAX_LAYERS];
	const struct pass_watch *watch; /* of the backward pass under way; NULL: none */
};

static const struct {
	void (*forward)(struct tape *tape, struct stage *stage);
	dnnl_memory_t (*backward)(struct tape *tape, const struct stage *stage, dnnl_memory_t dy,
	                          bool want_dx);
} layer_types[] = {
        [LAYER_CONV] = {conv_forward, conv_backward},
        [LAYER_MAX_POOL] = {pool_forward, pool_backward},
        [LAYER_AVERAGE_POOL] = {pool_forward, pool_backward},
        [LAYER_FC] = {fc_forward, fc_backward},
        [LAYER_LSTM] = {lstm_forward, lstm_backward},
        [LAYER_RELU] = {activation_forward, activation_backward},
        [LAYER_BATCHNORM] = {batchnorm_forward, batchnorm_backward},
        [LAYER_SHORTCUT] = {shortcut_forward, shortcut_backward},
        [LAYER_EMBEDDING] = {embedding_forward, embedding_backward},
        [LAYER_POSITION] = {position_forward, position_backward},
        [LAYER_LAYERNORM] = {layernorm_forward, layernorm_backward},
        [LAYER_LINEAR] = {fc_forward, fc_backward},
        [LAYER_ATTENTION] = {attention_forward, attention_backward},
        [LAYER_GELU] = {activation_forward, activation_backward},
};

/* Returns the plain layout, that of pass_input. */
static tape_layout plain(struct tape *tape, size_t batch, struct shape s)
{
	return tape_plain(tape, 4, (const int[]){(int)batch, s.channels, s.height, s.width});
}

static void record_forward(struct pass *pass, size_t batch, enum pass_use use)
{
	const struct net *net = pass->net;
	struct tape *tape = pass->tape;
	const tape_layout plain_in = plain(tape, batch, net->input);
	const tape_layout in = tape_tensor(tape, (int)batch, net->input);
	pass->input = tape_memory(tape, plain_in);
	dnnl_memory_t x = tape_convert(tape, pass->input, in);
	for (size_t i = 0; i < net->layer_count; i++) {
		struct stage *stage = &pass->stage[i];
		*stage = (struct stage){
		        .l = &net->layer[i], .batch = (int)batch, .x = x, .test = use == PASS_TEST};
		stage->carries = net->carries;
		if (stage->l->layer.type == LAYER_SHORTCUT)
			stage->shortcut = stage - stage->l->layer.back;
		if (stage->l->layer.tied)
			pass->stage[0].shared = true;
		if (use == PASS_TRAIN && i > 0 && net->dropout > 0 && stage->l->layer.type == LAYER_FC)
			dropout_forward(tape, stage);
		layer_types[stage->l->layer.type].forward(tape, stage);
		x = stage->y;
	}
	pass->logits = x;
}

static dnnl_status_t tell(const void *of, float *const *data)
{
	const struct mark *mark = of;
	(void)data;
	if (mark->pass->watch)
		mark->pass->watch->final(mark->pass->watch->arg, mark->at);
	return dnnl_success;
}

static void record_backward(struct pass *pass, size_t batch)
{
	const struct net *net = pass->net;
	struct tape *tape = pass->tape;
	const struct shape out = net->layer[net->layer_count - 1].out;
	const tape_layout gradient = tape_tensor(tape, (int)batch, out);
	struct {
		const struct stage *stage; /* the shortcut that starts here */
		dnnl_memory_t dy;
	} taken[NET_MAX_LAYERS] = {{NULL, NULL}};
	dnnl_memory_t dy = pass->logits_gradient = tape_memory(tape, gradient);
	for (size_t i = net->layer_count; i-- > 0;) {
		const struct stage *stage = &pass->stage[i];
		if (taken[i].stage)
			dy = shortcut_join(tape, taken[i].stage, taken[i].dy, dy);
		if (stage->shortcut) {
			const size_t from = (size_t)(stage->shortcut - pass->stage);
			taken[from].stage = stage;
			taken[from].dy = dy;
		}
		dy = layer_types[stage->l->layer.type].backward(tape, stage, dy, i > 0);
		if (stage->mask)
			dy = dropout_backward(tape, stage, dy);
		if (stage->l->weights > 0 && !stage->l->layer.tied) {
			pass->mark[i] = (struct mark){pass, stage->l->weights_at};
			tape_call(tape, tell, &pass->mark[i], 0, NULL);
		}
	}
}

struct pass *pass_open(const struct net *net, size_t batch, enum pass_use use, char *why, size_t cap)
{
	struct pass *pass = calloc(1, sizeof *pass);
	if (!pass || !(pass->tape = tape_open())) {
		snprintf(why, cap, "out of memory");
		pass_close(pass);
		return NULL;
	}
	pass->net = net;
	record_forward(pass, batch, use);
	tape_turn(pass->tape);
	if (use == PASS_TRAIN)
		record_backward(pass, batch);
	if (tape_ready(pass->tape) < 0) {
		snprintf(why, cap, "%s with batches of %zu: %s", net->model->name, batch,
		         tape_why(pass->tape));
		pass_close(pass);
		return NULL;
	}
	return pass;
}

void pass_close(struct pass *pass)
{
	if (!pass)
		return;
	tape_close(pass->tape);
	free(pass);
}

float *pass_input(struct pass *pass) { return tape_data(pass->input); }

void pass_drop(struct pass *pass, size_t sample, struct random random)
{
	for (size_t i = 0; i < pass->net->layer_count; i++)
		if (pass->stage[i].mask)
			dropout_draw(&pass->stage[i], sample, pass->net->dropout, &random);
}

void pass_begin_state(struct pass *pass, size_t sample, const float *from)
{
	for (size_t i = 0; i < pass->net->layer_count; i++) {
		const struct stage *stage = &pass->stage[i];
		const size_t units = stage->l->layer.type == LAYER_LSTM ? (size_t)stage->l->layer.units : 0;
		for (int k = 0; k < 2 && units; k++) {
			float *first = tape_data(stage->first[k]) + sample * units;
			if (!from) {
				memset(first, 0, units * sizeof *first);
				continue;
			}
			memcpy(first, from, units * sizeof *first);
			from += units;
		}
	}
}

void pass_end_state(const struct pass *pass, size_t sample, float *to)
{
	for (size_t i = 0; i < pass->net->layer_count; i++) {
		const struct stage *stage = &pass->stage[i];
		const size_t units = stage->l->layer.type == LAYER_LSTM ? (size_t)stage->l->layer.units : 0;
		for (int k = 0; k < 2 && units; k++, to += units)
			memcpy(to, tape_data(stage->last[k]) + sample * units, units * sizeof *to);
	}
}

const float *pass_logits(const struct pass *pass) { return tape_data(pass->logits); }

void pass_statistics(const struct pass *pass, float *to)
{
	for (size_t i = 0; i < pass->net->layer_count; i++) {
		const struct stage *stage = &pass->stage[i];
		if (stage->l->layer.type != LAYER_BATCHNORM)
			continue;
		const size_t bytes = (size_t)stage->l->in.channels * sizeof *to;
		float *at = to + stage->l->statistics_at - pass->net->parameters;
		memcpy(at, tape_data(stage->mean), bytes);
		memcpy(at + stage->l->in.channels, tape_data(stage->variance), bytes);
	}
}

float *pass_logits_gradient(struct pass *pass) { return tape_data(pass->logits_gradient); }

int pass_forward(struct pass *pass, const float *param) { return tape_forward(pass->tape, param); }

int pass_backward(struct pass *pass, float *grad, const struct pass_watch *watch)
{
	pass->watch = watch;
	return tape_backward(pass->tape, grad);
}

const char *pass_why(const struct pass *pass) { return tape_why(pass->tape); }
