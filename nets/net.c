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
		return (struct shape){layer->units, in.height, in.width == 1 ? 1 : 0};
	case LAYER_RELU:
	case LAYER_BATCHNORM:
	case LAYER_SHORTCUT:
		break;
	}
	return in;
}

static size_t weights_per_unit(const struct net_layer *l)
{
	switch (l->layer.type) {
	case LAYER_CONV:
		return (size_t)l->in.channels * (size_t)l->layer.size * (size_t)l->layer.size;
	case LAYER_FC:
		return shape_count(l->in);
	case LAYER_LSTM:
		return (size_t)l->in.channels;
	case LAYER_MAX_POOL:
	case LAYER_AVERAGE_POOL:
	case LAYER_RELU:
	case LAYER_BATCHNORM:
	case LAYER_SHORTCUT:
		break;
	}
	return 0;
}

static size_t take(struct net *net, size_t n, size_t run, enum crumb_kind kind)
{
	const size_t at = net->parameters;
	net->slice[net->slice_count++] = (struct crumb_slice){.at = at, .n = n, .run = run, .kind = kind};
	net->parameters += n;
	return at;
}

static void place_batchnorm(struct net *net, struct net_layer *l)
{
	const size_t channels = (size_t)l->in.channels;
	l->weights = l->bias = channels;
	l->weights_at = take(net, channels, 0, CRUMB_BATCHNORM);
	l->bias_at = take(net, channels, 0, CRUMB_BATCHNORM);
	l->statistics_at = net->statistics; /* for now, from the first */
	net->statistics += 2 * channels;
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

static void place_parameters(struct net *net, struct net_layer *l, bool last, bool bias)
{
	const size_t run = weights_per_unit(l), units = (size_t)l->layer.units;
	if (l->layer.type == LAYER_BATCHNORM)
		place_batchnorm(net, l);
	if (l->layer.type == LAYER_LSTM)
		place_lstm(net, l);
	if (run == 0 || l->layer.type == LAYER_LSTM)
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

/* Returns true unless layer i is a shortcut from a layer whose image cannot be added to its own. */
static bool fits(const struct net *net, size_t i)
{
	const struct net_layer *l = &net->layer[i];
	if (l->layer.type != LAYER_SHORTCUT)
		return true;
	if (l->layer.back < 1 || (size_t)l->layer.back > i)
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
			snprintf(why, cap, "an input of %d x %d x %d is too small for %s", input.channels,
			         input.height, input.width, model->name);
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

void net_flatten(struct net *net)
{
	net->slice[0] = (struct crumb_slice){.n = net->parameters, .kind = CRUMB_FC};
	net->slice_count = 1;
}
