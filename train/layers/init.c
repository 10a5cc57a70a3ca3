/* Initial parameters.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/init.h"
#include "train/data/random.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Draws weights uniformly within 1 / sqrt(units) of 0; the forget gate's biases are 1, the others 0. */
static void init_lstm(const struct net_layer *l, uint64_t seed, size_t i, float *param)
{
	const size_t units = (size_t)l->layer.units;
	const float range = 1 / sqrtf((float)units);
	struct random random = random_stream(seed, RANDOM_WEIGHTS, i);
	for (size_t k = 0; k < l->weights; k++)
		param[l->weights_at + k] = random_between(&random, -range, range);
	for (size_t k = 0; k < l->recurrent; k++)
		param[l->recurrent_at + k] = random_between(&random, -range, range);
	for (size_t k = 0; k < l->bias; k++)
		param[l->bias_at + k] = k / units == 1 ? 1 : 0;
}

/* Draws a transformer's weights with the standard deviation of GPT-2, 0.02; those before a shortcut with that
 * over the root of the number of shortcuts. */
static void init_transformer(const struct net *net, uint64_t seed, size_t i, float *param)
{
	const struct net_layer *l = &net->layer[i];
	size_t shortcuts = 0;
	for (size_t k = 0; k < net->layer_count; k++)
		shortcuts += net->layer[k].layer.type == LAYER_SHORTCUT;
	const bool joins = i + 1 < net->layer_count && net->layer[i + 1].layer.type == LAYER_SHORTCUT;
	const float range = 0.02f * sqrtf(3 / (joins ? (float)shortcuts : 1));
	struct random random = random_stream(seed, RANDOM_WEIGHTS, i);
	for (size_t k = 0; k < l->weights; k++)
		param[l->weights_at + k] = random_between(&random, -range, range);
	memset(param + l->bias_at, 0, l->bias * sizeof *param);
}

static bool of_transformer(enum layer_type type)
{
	return type == LAYER_EMBEDDING || type == LAYER_POSITION || type == LAYER_LINEAR;
}

void init_parameters(const struct net *net, uint64_t seed, float *param)
{
	for (size_t i = 0; i < net->layer_count; i++) {
		const struct net_layer *l = &net->layer[i];
		if (l->weights == 0 || l->layer.tied)
			continue;
		if (of_transformer(l->layer.type)) {
			init_transformer(net, seed, i, param);
			continue;
		}
		if (l->layer.type == LAYER_BATCHNORM || l->layer.type == LAYER_LAYERNORM) {
			for (size_t k = 0; k < l->weights; k++)
				param[l->weights_at + k] = 1;
			memset(param + l->bias_at, 0, l->bias * sizeof *param);
			continue;
		}
		if (l->layer.type == LAYER_LSTM) {
			init_lstm(l, seed, i, param);
			continue;
		}
		const enum layer_type next =
		        i + 1 < net->layer_count ? net->layer[i + 1].layer.type : LAYER_FC;
		const bool relu = next == LAYER_RELU || next == LAYER_BATCHNORM;
		const int window = l->layer.type == LAYER_CONV ? l->layer.size * l->layer.size : 1;
		const double fan_in = (double)l->weights / l->layer.units;
		const double fan_out = (double)l->layer.units * window;
		const float range = (float)sqrt(6 / (relu ? fan_in : fan_in + fan_out));
		struct random random = random_stream(seed, RANDOM_WEIGHTS, i);
		for (size_t k = 0; k < l->weights; k++)
			param[l->weights_at + k] = random_between(&random, -range, range);
		memset(param + l->bias_at, 0, l->bias * sizeof *param);
	}
}
