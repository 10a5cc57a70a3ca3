/* Networks as lists of their parameters.
 *
 * SPDX-License-Identifier: MIT */
#include "nets/sizes.h"
#include "nets/net.h"
#include "nets/published.h"

#include <string.h>

const char *sizes_list(size_t i)
{
	size_t trained = 0;
	for (const struct model *model; (model = model_list(trained)); trained++)
		if (trained == i)
			return model->name;
	const struct published *published = published_list(i - trained);
	return published ? published->name : NULL;
}

static void add(struct sizes *sizes, struct crumb_slice tensor)
{
	tensor.at = sizes->parameters;
	sizes->tensor[sizes->count++] = tensor;
	sizes->parameters += tensor.n;
}

static void add_published(struct sizes *sizes, const struct published_layer *l)
{
	const size_t units = (size_t)l->units, run = (size_t)l->run;
	if (run > 0)
		add(sizes, (struct crumb_slice){.n = units * run, .run = run, .kind = l->kind});
	if (l->then == THEN_BIAS) {
		add(sizes, (struct crumb_slice){.n = units, .kind = CRUMB_BIAS});
	} else if (l->then == THEN_NORM) {
		add(sizes, (struct crumb_slice){.n = units, .kind = CRUMB_BATCHNORM});
		add(sizes, (struct crumb_slice){.n = units, .kind = CRUMB_BATCHNORM});
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
		for (size_t i = 0; i < net.slice_count; i++)
			add(sizes, net.slice[i]);
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
	add(sizes, (struct crumb_slice){.n = parameters, .kind = CRUMB_FC});
}
