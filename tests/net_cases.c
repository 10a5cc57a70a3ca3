/* Small networks that have every kind of layer between them.
 *
 * SPDX-License-Identifier: MIT */
#include "net_cases.h"

#include <stdlib.h>
#include "train/data/random.h"

void fill(float *to, size_t n, uint64_t seed, float range)
{
	struct random r = random_stream(seed, RANDOM_WEIGHTS, 0);
	for (size_t i = 0; i < n; i++)
		to[i] = random_between(&r, -range, range);
}

float *new_floats(size_t n)
{
	float *floats = calloc(n, sizeof *floats);
	assert_non_null(floats);
	return floats;
}

void open_net(struct net *net, const struct model *model, struct shape input)
{
	char why[256];
	if (net_open(net, model, input, why, sizeof why) < 0)
		fail_msg("%s", why);
}

struct pass *open_pass(const struct net *net, size_t batch)
{
	char why[256];
	struct pass *pass = pass_open(net, batch, PASS_TRAIN, why, sizeof why);
	if (!pass)
		fail_msg("%s", why);
	return pass;
}

static const struct layer every_layer[] = {
        {.type = LAYER_CONV, .units = 3, .size = 2},
        {.type = LAYER_RELU},
        {.type = LAYER_MAX_POOL, .size = 2},
        {.type = LAYER_CONV, .units = 18, .size = 2},
        {.type = LAYER_FC, .units = 5},
        {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 4},
};

/* Padding, strides, and windows that overlap and hang over the edge. */
static const struct layer every_window[] = {
        {.type = LAYER_CONV, .units = 3, .size = 3, .pad = 2},
        {.type = LAYER_MAX_POOL, .size = 3, .stride = 2},
        {.type = LAYER_CONV, .units = 5, .size = 3, .stride = 2, .pad = 1},
        {.type = LAYER_AVERAGE_POOL, .size = 3, .stride = 2},
        {.type = LAYER_FC, .units = 4},
};

/* A block that keeps the shape, and one that halves the image. */
static const struct layer blocks[] = {
        {.type = LAYER_CONV, .units = 3, .size = 3, .pad = 1},
        {.type = LAYER_RELU},
        {.type = LAYER_CONV, .units = 3, .size = 3, .pad = 1},
        {.type = LAYER_BATCHNORM},
        {.type = LAYER_SHORTCUT, .back = 3},
        {.type = LAYER_RELU},
        {.type = LAYER_CONV, .units = 7, .size = 3, .pad = 1, .stride = 2},
        {.type = LAYER_BATCHNORM},
        {.type = LAYER_RELU},
        {.type = LAYER_CONV, .units = 7, .size = 3, .pad = 1},
        {.type = LAYER_BATCHNORM},
        {.type = LAYER_SHORTCUT, .back = 6},
        {.type = LAYER_FC, .units = 4},
};

/* Three steps in time, each with a layer of its own on top. */
static const struct layer recurrent[] = {
        {.type = LAYER_LSTM, .units = 5},
        {.type = LAYER_LSTM, .units = 3},
        {.type = LAYER_CONV, .units = 4, .size = 1},
};

/* Tokens at five places; a block of a transformer of two heads; a head of its own, and one tied to the
 * embedding. */
#define ONE_BLOCK                                                                                    \
	{.type = LAYER_EMBEDDING, .units = 6}, {.type = LAYER_POSITION}, {.type = LAYER_LAYERNORM},  \
	        {.type = LAYER_LINEAR, .units = 18}, {.type = LAYER_ATTENTION, .size = 2},           \
	        {.type = LAYER_LINEAR, .units = 6}, {.type = LAYER_SHORTCUT, .back = 5},             \
	        {.type = LAYER_LAYERNORM}, {.type = LAYER_LINEAR, .units = 9}, {.type = LAYER_GELU}, \
	        {.type = LAYER_LINEAR, .units = 6}, {.type = LAYER_SHORTCUT, .back = 5},             \
	{                                                                                            \
		.type = LAYER_LAYERNORM                                                              \
	}
static const struct layer transformer[] = {ONE_BLOCK, {.type = LAYER_LINEAR, .units = 4}};
static const struct layer tied_transformer[] = {ONE_BLOCK, {.type = LAYER_LINEAR, .units = 7, .tied = true}};

#define MODEL(layers, ...)                                        \
	{                                                         \
		"small", "", {__VA_ARGS__}, layers, COUNT(layers) \
	}
const struct model small_model[SMALL_MODELS] = {
        [EVERY_LAYER] = MODEL(every_layer, 2, 9, 8), /* the pool leaves a column out */
        [EVERY_WINDOW] = MODEL(every_window, 2, 9, 8),
        [BLOCKS] = MODEL(blocks, 2, 8, 6),
        [RECURRENT] = MODEL(recurrent, 6, 3, 1),
        [TRANSFORMER] = MODEL(transformer, 7, 5, 1),
        [TIED_TRANSFORMER] = MODEL(tied_transformer, 7, 5, 1),
};
