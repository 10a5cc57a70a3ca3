/* A learner's own steps.
 *
 * SPDX-License-Identifier: MIT */
#include "train/outer.h"
#include "train/state.h"

#include <stdlib.h>
#include <string.h>

bool outer_open(struct train *t)
{
	const struct optimizer *optimizer = &t->setting->options->optimizer;
	const size_t n = t->setting->net->parameters;
	t->outer = calloc(t->own + 1, sizeof *t->outer);
	for (size_t l = 0; t->outer && l < t->own; l++) {
		if (!(t->outer[l].param = calloc(n, sizeof(float))))
			return false;
		for (size_t i = 0; i < optimizer_moments(optimizer); i++)
			if (!(t->outer[l].moment[i] = calloc(n, sizeof(float))))
				return false;
	}
	return t->outer;
}

void outer_close(struct train *t)
{
	for (size_t l = 0; t->outer && l < t->own; l++) {
		free(t->outer[l].param);
		for (size_t i = 0; i < OPTIMIZER_MOST_MOMENTS; i++)
			free(t->outer[l].moment[i]);
	}
	free(t->outer);
}

bool outer_move(struct train *t, size_t l)
{
	const struct options *o = t->setting->options;
	const size_t n = t->setting->net->parameters;
	struct outer *own = &t->outer[l];
	if (crumb_finite(t->grad[l], n, CRUMB_F32) < 0) {
		t->mine[l].skipped++;
		return false;
	}
	const double decay = o->decay_first ? 0 : o->weight_decay;
	const struct optimizer_step step = {t->rate, o->momentum, decay, ++own->moves};
	optimizer_move_net(&o->optimizer, &step, t->setting->net, own->param, own->moment, t->grad[l], 0, n);
	t->mine[l].loss += t->loss[l];
	t->mine[l].steps++;
	return true;
}

void outer_gradient(struct train *t, size_t l)
{
	for (size_t i = 0; i < t->setting->net->parameters; i++)
		t->grad[l][i] = t->param[i] - t->outer[l].param[i];
}

void outer_share(struct train *t, size_t l)
{
	memcpy(t->outer[l].param, t->param, t->setting->net->parameters * sizeof *t->param);
}

size_t outer_exchanges(size_t step, size_t epoch_steps, size_t local_steps)
{
	return step / epoch_steps * ((epoch_steps + local_steps - 1) / local_steps) +
	       step % epoch_steps / local_steps;
}
