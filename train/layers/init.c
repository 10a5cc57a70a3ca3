/* Initial parameters.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/init.h"
#include "train/data/random.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Returns GPT-2's range, of standard deviation 0.02; before a shortcut that over the root of the number of
 * shortcuts. */
static float range_of_transformer(const struct net *net, bool joins)
{
	size_t shortcuts = 0;
	for (size_t k = 0; k < net->layer_count; k++)
		shortcuts += net->layer[k].layer.type == LAYER_SHORTCUT;
	return 0.02f * sqrtf(3 / (joins ? (float)shortcuts : 1));
}

/* Returns by how much a layer's weights are at most apart from 0. */
static float range_of(const struct net *net, size_t i)
{
	const struct net_layer *l = &net->layer[i];
	const enum layer_type type = l->layer.type,
	                      next = i + 1 < net->layer_count ? net->layer[i + 1].layer.type : LAYER_FC;
	if (type == LAYER_LSTM)
		return 1 / sqrtf((float)l->layer.units);
	if (type == LAYER_EMBEDDING || type == LAYER_POSITION || type == LAYER_LINEAR)
		return range_of_transformer(net, next == LAYER_SHORTCUT);
	const bool relu = next == LAYER_RELU || next == LAYER_BATCHNORM;
	const int window = type == LAYER_CONV ? l->layer.size * l->layer.size : 1;
	const double fan_in = (double)l->weights / l->layer.units, fan_out = (double)l->layer.units * window;
	return (float)sqrt(6 / (relu ? fan_in : fan_in + fan_out));
}

static void draw(float *param, size_t n, struct random *random, float range)
{
	for (size_t k = 0; k < n; k++)
		param[k] = random_between(random, -range, range);
}

void init_parameters(const struct net *net, uint64_t seed, float *param)
{
	for (size_t i = 0; i < net->layer_count; i++) {
		const struct net_layer *l = &net->layer[i];
		const size_t units = (size_t)l->layer.units;
		if (l->weights == 0 || l->layer.tied)
			continue;
		memset(param + l->bias_at, 0, l->bias * sizeof *param);
		if (l->layer.type == LAYER_BATCHNORM || l->layer.type == LAYER_LAYERNORM) {
			for (size_t k = 0; k < l->weights; k++)
				param[l->weights_at + k] = 1;
			continue;
		}
		struct random random = random_stream(seed, RANDOM_WEIGHTS, i);
		const float range = range_of(net, i);
		draw(param + l->weights_at, l->weights, &random, range);
		draw(param + l->recurrent_at, l->recurrent, &random, range);
		for (size_t k = units; k < 2 * units && l->layer.type == LAYER_LSTM; k++)
			param[l->bias_at + k] = 1; /* of the forget gate */
	}
}
