/* The table of networks.
 *
 * SPDX-License-Identifier: MIT */
#include "nets/model.h"

#include <string.h>

/* Caffe's LeNet, which the TernGrad paper trains on MNIST: 431,080 parameters. */
static const struct layer lenet[] = {
        {.type = LAYER_CONV, .units = 20, .size = 5},
        {.type = LAYER_MAX_POOL, .size = 2},
        {.type = LAYER_CONV, .units = 50, .size = 5},
        {.type = LAYER_MAX_POOL, .size = 2},
        {.type = LAYER_FC, .units = 500},
        {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 10},
};

/* The AdaComp paper's network for MNIST, of the same size, with ReLU after the convolutions. */
static const struct layer lenet_relu[] = {
        {.type = LAYER_CONV, .units = 20, .size = 5},
        {.type = LAYER_RELU},
        {.type = LAYER_MAX_POOL, .size = 2},
        {.type = LAYER_CONV, .units = 50, .size = 5},
        {.type = LAYER_RELU},
        {.type = LAYER_MAX_POOL, .size = 2},
        {.type = LAYER_FC, .units = 500},
        {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 10},
};

/* Fully connected layers alone: 10,020,874 parameters on images of 28 x 28. */
static const struct layer mlp[] = {
        {.type = LAYER_FC, .units = 2048}, {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 2048}, {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 2048}, {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 10},
};

/* Caffe's cifar10_full, which the AdaComp paper trains on CIFAR-10, without its response normalisation:
 * 89,578 parameters on images of 3 x 32 x 32. */
static const struct layer cifar_cnn[] = {
        {.type = LAYER_CONV, .units = 32, .size = 5, .pad = 2},
        {.type = LAYER_MAX_POOL, .size = 3, .stride = 2},
        {.type = LAYER_RELU},
        {.type = LAYER_CONV, .units = 32, .size = 5, .pad = 2},
        {.type = LAYER_RELU},
        {.type = LAYER_AVERAGE_POOL, .size = 3, .stride = 2},
        {.type = LAYER_CONV, .units = 64, .size = 5, .pad = 2},
        {.type = LAYER_RELU},
        {.type = LAYER_AVERAGE_POOL, .size = 3, .stride = 2},
        {.type = LAYER_FC, .units = 10},
};

/* TernGrad's, from TensorFlow's tutorial, without its response normalisation: 1,068,298 parameters on crops
 * of 3 x 24 x 24. */
static const struct layer cifarnet[] = {
        {.type = LAYER_CONV, .units = 64, .size = 5, .pad = 2},
        {.type = LAYER_RELU},
        {.type = LAYER_MAX_POOL, .size = 3, .stride = 2},
        {.type = LAYER_CONV, .units = 64, .size = 5, .pad = 2},
        {.type = LAYER_RELU},
        {.type = LAYER_MAX_POOL, .size = 3, .stride = 2},
        {.type = LAYER_FC, .units = 384},
        {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 192},
        {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 10},
};

/* The AdaComp paper's speech network of 440-1024x5-5999, with as many outputs as the spoken digits have:
 * thirds of ten words. */
static const struct layer bn50_dnn[] = {
        {.type = LAYER_FC, .units = 1024}, {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 1024}, {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 1024}, {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 1024}, {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 1024}, {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 30},
};

#define NORMED_CONV(n, step) \
	{.type = LAYER_CONV, .units = n, .size = 3, .stride = step, .pad = 1}, { .type = LAYER_BATCHNORM }
#define BLOCK(n, step)                                                                                      \
	NORMED_CONV(n, step), {.type = LAYER_RELU}, NORMED_CONV(n, 1), {.type = LAYER_SHORTCUT, .back = 6}, \
	{                                                                                                   \
		.type = LAYER_RELU                                                                          \
	}

/* ResNets for CIFAR-10 (He et al., CVPR 2016, section 4.2): 269,722 and 464,154 parameters. */
static const struct layer resnet20[] = {
        NORMED_CONV(16, 1),
        {.type = LAYER_RELU},
        BLOCK(16, 1),
        BLOCK(16, 1),
        BLOCK(16, 1),
        BLOCK(32, 2),
        BLOCK(32, 1),
        BLOCK(32, 1),
        BLOCK(64, 2),
        BLOCK(64, 1),
        BLOCK(64, 1),
        {.type = LAYER_AVERAGE_POOL, .size = 8},
        {.type = LAYER_FC, .units = 10},
};

static const struct layer resnet32[] = {
        NORMED_CONV(16, 1),
        {.type = LAYER_RELU},
        BLOCK(16, 1),
        BLOCK(16, 1),
        BLOCK(16, 1),
        BLOCK(16, 1),
        BLOCK(16, 1),
        BLOCK(32, 2),
        BLOCK(32, 1),
        BLOCK(32, 1),
        BLOCK(32, 1),
        BLOCK(32, 1),
        BLOCK(64, 2),
        BLOCK(64, 1),
        BLOCK(64, 1),
        BLOCK(64, 1),
        BLOCK(64, 1),
        {.type = LAYER_AVERAGE_POOL, .size = 8},
        {.type = LAYER_FC, .units = 10},
};

/* The AdaComp paper's language model, on sequences of 50 of 67 characters: 3,321,411 parameters. The last
 * layer is fully connected at each character. */
static const struct layer char_lstm[] = {
        {.type = LAYER_LSTM, .units = 512},
        {.type = LAYER_LSTM, .units = 512},
        {.type = LAYER_CONV, .units = 67, .size = 1},
};

/* Pre-norm blocks of a transformer, as GPT-2 has them (Radford et al. 2019). */
#define GPT_BLOCK(channels, heads)                                                                   \
	{.type = LAYER_LAYERNORM}, {.type = LAYER_LINEAR, .units = 3 * (channels)},                  \
	        {.type = LAYER_ATTENTION, .size = heads}, {.type = LAYER_LINEAR, .units = channels}, \
	        {.type = LAYER_SHORTCUT, .back = 5}, {.type = LAYER_LAYERNORM},                      \
	        {.type = LAYER_LINEAR, .units = 4 * (channels)}, {.type = LAYER_GELU},               \
	        {.type = LAYER_LINEAR, .units = channels},                                           \
	{                                                                                            \
		.type = LAYER_SHORTCUT, .back = 5                                                    \
	}

/* On sequences of 64 of 67 characters, with a head of its own: 1,017,027 parameters. */
static const struct layer gpt_mini[] = {
        {.type = LAYER_EMBEDDING, .units = 128},
        {.type = LAYER_POSITION},
        GPT_BLOCK(128, 4),
        GPT_BLOCK(128, 4),
        GPT_BLOCK(128, 4),
        GPT_BLOCK(128, 4),
        GPT_BLOCK(128, 4),
        {.type = LAYER_LAYERNORM},
        {.type = LAYER_LINEAR, .units = 67},
};

/* On sequences of 256 of 67 characters, with the head tied to the embedding: 10,771,584 parameters. */
static const struct layer gpt_small[] = {
        {.type = LAYER_EMBEDDING, .units = 384},
        {.type = LAYER_POSITION},
        GPT_BLOCK(384, 6),
        GPT_BLOCK(384, 6),
        GPT_BLOCK(384, 6),
        GPT_BLOCK(384, 6),
        GPT_BLOCK(384, 6),
        GPT_BLOCK(384, 6),
        {.type = LAYER_LAYERNORM},
        {.type = LAYER_LINEAR, .units = 67, .tied = true},
};

#define LAYERS(table) table, sizeof(table) / sizeof(table[0])

static const struct model models[] = {
        {"lenet",
         "conv 20 5x5, max-pool 2, conv 50 5x5, max-pool 2, fc 500, relu, fc 10",
         {1, 28, 28},
         LAYERS(lenet)},
        {"lenet-relu", "the same with relu after each convolution", {1, 28, 28}, LAYERS(lenet_relu)},
        {"mlp", "three times fc 2048, relu; fc 10", {1, 28, 28}, LAYERS(mlp)},
        {"cifar-cnn",
         "conv 32 5x5, max-pool 3/2, relu, conv 32 5x5, relu, average-pool 3/2, conv 64 5x5, relu, "
         "average-pool 3/2, fc 10; no response normalisation",
         {3, 32, 32},
         LAYERS(cifar_cnn)},
        {"cifarnet",
         "conv 64 5x5, relu, max-pool 3/2, conv 64 5x5, relu, max-pool 3/2, fc 384, relu, fc 192, relu, "
         "fc 10; no response normalisation; for --augment crop",
         {3, 24, 24},
         LAYERS(cifarnet)},
        {"resnet20",
         "for CIFAR-10: conv 16 3x3, 3 blocks each of 16, 32 and 64, average-pool 8, fc 10",
         {3, 32, 32},
         LAYERS(resnet20)},
        {"resnet32", "the same with 5 blocks each", {3, 32, 32}, LAYERS(resnet32)},
        {"char-lstm", "two LSTMs of 512, fc 67 at each of 50 characters", {67, 50, 1}, LAYERS(char_lstm)},
        {"gpt-mini",
         "a transformer of 5 blocks of 128 channels, 4 heads each, on 64 characters",
         {67, 64, 1},
         LAYERS(gpt_mini)},
        {"gpt-small",
         "6 blocks of 384 channels, 6 heads each, on 256 characters; the head is tied to the embedding",
         {67, 256, 1},
         LAYERS(gpt_small)},
        {"bn50-dnn", "five times fc 1024, relu; fc 30", {1, 11, 40}, LAYERS(bn50_dnn)},
};

const struct model *model_list(size_t i)
{
	return i < sizeof(models) / sizeof(models[0]) ? &models[i] : NULL;
}

const struct model *model_find(const char *name)
{
	const struct model *model;
	for (size_t i = 0; (model = model_list(i)); i++)
		if (strcmp(model->name, name) == 0)
			return model;
	return NULL;
}
