/* Networks as lists of their parameters.
 *
 * SPDX-License-Identifier: MIT */
#include "nets/sizes.h"
#include "nets/net.h"
#include "nets/published.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *sizes_list(size_t i, const char **brief)
{
	size_t trained = 0;
	for (const struct model *model; (model = model_list(trained)); trained++)
		if (trained == i) {
			*brief = model->brief;
			return model->name;
		}
	const struct published *published = published_list(i - trained);
	*brief = published ? published->brief : NULL;
	return published ? published->name : NULL;
}

static void add(struct sizes *sizes, const char *layer, const char *part, struct crumb_slice slice)
{
	struct sizes_tensor *tensor = &sizes->tensor[sizes->count++];
	snprintf(tensor->name, sizeof tensor->name, "%s%s", layer, part);
	tensor->slice = slice;
	tensor->slice.at = sizes->parameters;
	sizes->parameters += slice.n;
}

static void add_published(struct sizes *sizes, const struct published_layer *l)
{
	const size_t units = (size_t)l->units, run = (size_t)l->run;
	if (run > 0)
		add(sizes, l->name, "", (struct crumb_slice){.n = units * run, .run = run, .kind = l->kind});
	if (l->then == THEN_BIAS) {
		add(sizes, l->name, ".bias", (struct crumb_slice){.n = units, .kind = CRUMB_BIAS});
	} else if (l->then == THEN_NORM) {
		add(sizes, l->name, ".scale", (struct crumb_slice){.n = units, .kind = CRUMB_BATCHNORM});
		add(sizes, l->name, ".shift", (struct crumb_slice){.n = units, .kind = CRUMB_BATCHNORM});
	}
}

static const char *type_name(enum layer_type type)
{
	switch (type) {
	case LAYER_CONV:
		return "conv";
	case LAYER_LSTM:
		return "lstm";
	case LAYER_EMBEDDING:
		return "embedding";
	case LAYER_POSITION:
		return "position";
	case LAYER_BATCHNORM:
	case LAYER_LAYERNORM:
		return "norm";
	default:
		return "fc";
	}
}

/* Layers with parameters of their own are numbered in order, whatever their type. */
static void add_net(struct sizes *sizes, const struct net *net)
{
	int number = 0;
	size_t s = 0;
	for (size_t i = 0; i < net->layer_count; i++) {
		const struct net_layer *l = &net->layer[i];
		const bool batchnorm = l->layer.type == LAYER_BATCHNORM;
		const bool norm = batchnorm || l->layer.type == LAYER_LAYERNORM;
		const bool lstm = l->layer.type == LAYER_LSTM;
		char name[SIZES_NAME - sizeof ".recurrent"];
		if (l->weights == 0 || l->layer.tied)
			continue;
		number += !batchnorm; /* it has the number of the layer that it normalises */
		snprintf(name, sizeof name, "%s%d", type_name(l->layer.type), number);
		add(sizes, name, norm ? ".scale" : "", net->slice[s++]);
		if (lstm)
			add(sizes, name, ".recurrent", net->slice[s++]);
		if (l->bias > 0)
			add(sizes, name, norm ? ".shift" : ".bias", net->slice[s++]);
	}
}

int sizes_find(struct sizes *sizes, const char *name)
{
	const struct model *model = model_find(name);
	const struct published *published;
	struct net net;
	char why[1];

	*sizes = (struct sizes){0};
	if (model && net_open(&net, model, model->input, why, sizeof why) == 0) {
		add_net(sizes, &net);
		return 0;
	}
	for (size_t i = 0; (published = published_list(i)); i++)
		if (strcmp(published->name, name) == 0) {
			for (size_t k = 0; k < published->layer_count; k++)
				add_published(sizes, &published->layers[k]);
			return 0;
		}
	return -1;
}

void sizes_count(struct sizes *sizes, size_t parameters)
{
	*sizes = (struct sizes){0};
	add(sizes, "fc1", "", (struct crumb_slice){.n = parameters, .kind = CRUMB_FC});
}
