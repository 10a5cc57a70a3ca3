/* Layer shapes and parameter layout.
 *
 * SPDX-License-Identifier: MIT */
#include "nets/net.h"

#include <stdbool.h>
#include <stdio.h>

/* Returns the number of windows along a side of an image. */
static int windows(const struct layer *layer, int side)
{
	const int stride = layer_stride(layer), rest = side + 2 * layer->pad - layer->size;
	if (layer->type == LAYER_CONV || layer->stride == 0)
		return rest < 0 ? 0 : rest / stride + 1;
	return rest < 0 ? 1 : (rest + stride - 1) / stride + 1;
}

static struct shape shape_after(const struct layer *layer, struct shape in)
{
	switch (layer->type) {
	case LAYER_CONV:
		return (struct shape){layer->units, windows(layer, in.height), windows(layer, in.width)};
	case LAYER_MAX_POOL:
	case LAYER_AVERAGE_POOL:
		return (struct shape){in.channels, windows(layer, in.height), windows(layer, in.width)};
	case LAYER_FC:
		return (struct shape){layer->units, 1, 1};
	case LAYER_LSTM:
	case LAYER_EMBEDDING:
	case LAYER_LINEAR:
		return (struct shape){layer->units, in.height, in.width == 1 ? 1 : 0};
	case LAYER_ATTENTION:
		return (struct shape){in.channels % (3 * layer->size) == 0 ? in.channels / 3 : 0, in.height,
		                      in.width == 1 ? 1 : 0};
	case LAYER_POSITION:
	case LAYER_LAYERNORM:
	case LAYER_GELU:
	case LAYER_RELU:
	case LAYER_BATCHNORM:
	case LAYER_SHORTCUT:
		break;
	}
	return in;
}

/* Returns 0 for a layer that has none, or whose weights are no matrix of units alone. */
static size_t weights_per_unit(const struct net_layer *l)
{
	switch (l->layer.type) {
	case LAYER_CONV:
		return (size_t)l->in.channels * (size_t)l->layer.size * (size_t)l->layer.size;
	case LAYER_FC:
		return shape_count(l->in);
	case LAYER_LINEAR:
		return (size_t)l->in.channels;
	default:
		return 0;
	}
}

static size_t take(struct net *net, size_t n, size_t run, enum crumb_kind kind)
{
	const size_t at = net->parameters;
	net->slice[net->slice_count++] = (struct crumb_slice){.at = at, .n = n, .run = run, .kind = kind};
	net->parameters += n;
	return at;
}

/* Policies have one kind for every normalisation's scales and shifts. */
static void place_norm(struct net *net, struct net_layer *l)
{
	l->weights = l->bias = (size_t)l->in.channels;
	l->weights_at = take(net, l->weights, 0, CRUMB_BATCHNORM);
	l->bias_at = take(net, l->bias, 0, CRUMB_BATCHNORM);
	if (l->layer.type == LAYER_BATCHNORM) {
		l->statistics_at = net->statistics; /* for now, from the first */
		net->statistics += 2 * l->weights;
	}
}

static bool is_norm(const struct net_layer *l)
{
	return l->layer.type == LAYER_BATCHNORM || l->layer.type == LAYER_LAYERNORM;
}

static void place_lstm(struct net *net, struct net_layer *l)
{
	const size_t inputs = (size_t)l->in.channels, units = (size_t)l->layer.units, rows = 4 * units;
	l->weights = rows * inputs;
	l->weights_at = take(net, l->weights, inputs, CRUMB_LSTM);
	l->recurrent = rows * units;
	l->recurrent_at = take(net, l->recurrent, units, CRUMB_LSTM);
	l->bias = rows;
	l->bias_at = take(net, rows, 0, CRUMB_BIAS);
	net->states += 2 * units;
}

static void place_vectors(struct net *net, struct net_layer *l, size_t count, size_t channels)
{
	l->weights = count * channels;
	l->weights_at = take(net, l->weights, channels, CRUMB_EMBEDDING);
}

static void place_parameters(struct net *net, struct net_layer *l, bool last, bool bias)
{
	const size_t run = weights_per_unit(l), units = (size_t)l->layer.units;
	if (l->layer.type == LAYER_EMBEDDING)
		place_vectors(net, l, (size_t)l->in.channels, units);
	if (l->layer.type == LAYER_POSITION)
		place_vectors(net, l, (size_t)l->in.height, (size_t)l->in.channels);
	if (is_norm(l))
		place_norm(net, l);
	if (l->layer.type == LAYER_LSTM)
		place_lstm(net, l);
	if (l->layer.tied) {
		l->weights = net->layer[0].weights;
		l->weights_at = net->layer[0].weights_at;
		return;
	}
	if (run == 0)
		return;
	const enum crumb_kind kind = last                          ? CRUMB_KIND_LAST
	                             : l->layer.type == LAYER_CONV ? CRUMB_CONV
	                                                           : CRUMB_FC;
	l->weights = units * run;
	l->weights_at = take(net, l->weights, run, kind);
	if (bias) {
		l->bias = units;
		l->bias_at = take(net, units, 0, CRUMB_BIAS);
	}
}

/* Returns true if layer i's weights can be the embedding's, which one layer may have. */
static bool fits_embedding(const struct net *net, size_t i)
{
	const struct net_layer *first = &net->layer[0], *l = &net->layer[i];
	for (size_t k = 0; k < i; k++)
		if (net->layer[k].layer.tied)
			return false;
	return first->layer.type == LAYER_EMBEDDING && l->layer.units == first->in.channels &&
	       l->in.channels == first->layer.units;
}

/* Returns true unless layer i is a shortcut from a layer whose image cannot be added to its own, or is tied
 * to what is no embedding of its size. */
static bool fits(const struct net *net, size_t i)
{
	const struct net_layer *l = &net->layer[i];
	if (l->layer.tied)
		return fits_embedding(net, i);
	if (l->layer.type != LAYER_SHORTCUT)
		return true;
	if (l->layer.back < 1 || (size_t)l->layer.back > i)
		return false;
	for (size_t k = 0; k < i; k++) /* an image's gradient waits for one shortcut */
		if (net->layer[k].layer.type == LAYER_SHORTCUT &&
		    k - (size_t)net->layer[k].layer.back == i - (size_t)l->layer.back)
			return false;
	const struct shape from = net->layer[i - (size_t)l->layer.back].out, to = l->out;
	const int step = to.height > 0 ? from.height / to.height : 0;
	return step >= 1 && from.channels <= to.channels && from.height == step * to.height &&
	       from.width == step * to.width;
}

int net_open(struct net *net, const struct model *model, struct shape input, char *why, size_t cap)
{
	if (model->layer_count > NET_MAX_LAYERS) {
		snprintf(why, cap, "%s has more than %d layers", model->name, NET_MAX_LAYERS);
		return -1;
	}
	*net = (struct net){.model = model, .input = input, .layer_count = model->layer_count};
	struct shape shape = input;
	for (size_t i = 0; i < model->layer_count; i++) {
		struct net_layer *l = &net->layer[i];
		l->layer = model->layers[i];
		l->in = shape;
		l->out = shape = shape_after(&l->layer, shape);
		if (shape.channels < 1 || shape.height < 1 || shape.width < 1) {
			snprintf(why, cap, "an input of %d x %d x %d is too small for %s, or of another kind",
			         input.channels, input.height, input.width, model->name);
			return -1;
		}
		if (!fits(net, i)) {
			snprintf(why, cap, "an input of %d x %d x %d does not suit %s", input.channels,
			         input.height, input.width, model->name);
			return -1;
		}
		const bool normed =
		        i + 1 < model->layer_count && model->layers[i + 1].type == LAYER_BATCHNORM;
		place_parameters(net, l, i + 1 == model->layer_count, !normed);
	}
	for (size_t i = 0; i < net->layer_count; i++)
		net->layer[i].statistics_at += net->parameters;
	net->classes = shape.channels;
	net->places = shape.height * shape.width;
	return 0;
}

size_t net_tensor_end(const struct net *net, size_t at, bool *matrix)
{
	for (size_t i = 0; i < net->layer_count; i++) {
		const struct net_layer *l = &net->layer[i];
		const size_t part[][2] = {
		        {l->weights_at, l->weights}, {l->recurrent_at, l->recurrent}, {l->bias_at, l->bias}};
		for (size_t k = 0; k < 3; k++)
			if (at >= part[k][0] && at < part[k][0] + part[k][1]) {
				*matrix = k < 2 && !is_norm(l);
				return part[k][0] + part[k][1];
			}
	}
	*matrix = false;
	return net->parameters;
}

void net_flatten(struct net *net)
{
	net->slice[0] = (struct crumb_slice){.n = net->parameters, .kind = CRUMB_FC};
	net->slice_count = 1;
}
