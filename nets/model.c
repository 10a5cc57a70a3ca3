/* The table of networks.
 *
 * SPDX-License-Identifier: MIT */
#include "model.h"

#include <string.h>

/* LeNet-5 in the form that the AdaComp and TernGrad papers train on MNIST: 431,080 parameters. */
static const struct layer lenet[] = {
        {.type = LAYER_CONV, .units = 20, .size = 5},
        {.type = LAYER_MAX_POOL, .size = 2},
        {.type = LAYER_CONV, .units = 50, .size = 5},
        {.type = LAYER_MAX_POOL, .size = 2},
        {.type = LAYER_FC, .units = 500},
        {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 10},
};

/* What fully connected layers cost: 10,020,874 parameters on images of 28 x 28. */
static const struct layer mlp[] = {
        {.type = LAYER_FC, .units = 2048}, {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 2048}, {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 2048}, {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 10},
};

#define LAYERS(table) table, sizeof(table) / sizeof(table[0])

static const struct model models[] = {
        {"lenet",
         "conv 20 5x5, max-pool 2, conv 50 5x5, max-pool 2, fc 500, relu, fc 10",
         {1, 28, 28},
         LAYERS(lenet)},
        {"mlp", "three times fc 2048, relu; fc 10", {1, 28, 28}, LAYERS(mlp)},
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
