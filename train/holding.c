/* Holdings, and who inherits them.
 *
 * SPDX-License-Identifier: MIT */
#include "train/holding.h"
#include "train/outer.h"
#include "train/split.h"

#include "exchange/transport.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

bool holding_alike(const struct layout *a, const struct layout *b)
{
	return a->ranks == b->ranks && a->learners == b->learners && a->division == b->division;
}

/* Returns the first learner of a rank, as the exchange divides them where no rank is a server: with one there
 * are neither outer steps nor LSTM states to hold. */
static size_t first_learner(const struct layout *layout, uint64_t rank)
{
	return (size_t)(rank * layout->learners / layout->ranks);
}

static void set_learners(struct holding *h)
{
	h->first = first_learner(&h->layout, h->layout.rank);
	h->own = first_learner(&h->layout, (uint64_t)h->layout.rank + 1) - h->first;
}

static size_t first_sample(const struct train *t, const struct holding *h, size_t learner)
{
	return split_first(t->setting->options->batch, (size_t)h->layout.learners, learner);
}

size_t holding_samples(const struct train *t, const struct holding *h)
{
	return first_sample(t, h, h->first + h->own) - first_sample(t, h, h->first);
}

static bool open_tables(struct holding *h, const struct train *t)
{
	h->debtor = calloc((size_t)h->layout.learners, sizeof *h->debtor);
	h->packer = calloc((size_t)h->layout.debtors * t->slices + 1, sizeof *h->packer);
	h->mean = calloc(t->slices + 1, sizeof *h->mean);
	return h->debtor && h->packer && h->mean;
}

bool holding_of(struct holding *h, const struct train *t)
{
	const struct crumb_exchange_net *ranks = t->setting->ranks;
	size_t first, debtors;
	crumb_exchange_debtors(t->exchange, &first, &debtors);
	*h = (struct holding){.layout = {.rank = ranks ? ranks->rank : 0,
	                                 .ranks = ranks ? ranks->ranks : 1,
	                                 .learners = t->setting->options->learners,
	                                 .first_debtor = first,
	                                 .debtors = debtors},
	                      .states = t->states[0],
	                      .outer = t->outer,
	                      .lent = true};
	set_learners(h);
	if (!open_tables(h, t))
		return false;
	for (size_t l = 0; l < h->layout.learners; l++)
		h->debtor[l] = (uint32_t)crumb_exchange_debtor(t->exchange, l);
	h->layout.division =
	        crc32_z(0, (const void *)h->debtor, (size_t)h->layout.learners * sizeof *h->debtor);
	for (size_t s = 0; s < t->slices; s++) {
		for (size_t d = 0; d < debtors; d++)
			h->packer[d * t->slices + s] = crumb_exchange_debtor_packer(t->exchange, d, s);
		h->mean[s] = crumb_exchange_mean_packer(t->exchange, s);
	}
	return true;
}

static bool take_packer(crumb_packer **packer, const crumb_codec *codec, const struct crumb_slice *slice)
{
	*packer = crumb_exchange_alloc(crumb_packer_size(codec, slice->n));
	return *packer && crumb_packer_init(*packer, codec, slice->n, slice->run, 0) == 0;
}

static bool open_packers(struct holding *h, const struct train *t)
{
	const struct options *o = t->setting->options;
	for (size_t s = 0; s < t->slices; s++) {
		const crumb_codec *up = crumb_exchange_codec(t->exchange, s);
		for (size_t d = 0; d < h->layout.debtors; d++)
			if (!take_packer(&h->packer[d * t->slices + s], up, &t->slice[s]))
				return false;
		const struct policy *means = o->down_exact || !o->plan->mean ? NULL : &o->down;
		const crumb_codec down = crumb_policy_choose_mean(means, t->slice[s].kind, t->slice[s].n);
		if (!take_packer(&h->mean[s], &down, &t->slice[s]))
			return false;
	}
	return true;
}

static bool open_outer(struct holding *h, const struct train *t)
{
	if (!t->setting->options->local_steps)
		return true;
	h->outer = calloc(h->own + 1, sizeof *h->outer);
	for (size_t l = 0; h->outer && l < h->own; l++)
		for (size_t i = 0; i < optimizer_moments(&t->setting->options->optimizer); i++)
			if (!(h->outer[l].moment[i] = calloc(t->setting->net->parameters, sizeof(float))))
				return false;
	return h->outer;
}

bool holding_open(struct holding *h, const struct train *t, const struct layout *layout)
{
	*h = (struct holding){.layout = *layout};
	set_learners(h);
	if (!open_tables(h, t) || !open_packers(h, t) || !open_outer(h, t))
		return false;
	if (t->states[0])
		h->states = calloc(holding_samples(t, h) * t->setting->net->states + 1, sizeof *h->states);
	return h->states || !t->states[0];
}

void holding_close(struct holding *h, const struct train *t)
{
	for (size_t i = 0; h->packer && i < h->layout.debtors * t->slices && !h->lent; i++)
		free(h->packer[i]);
	for (size_t s = 0; h->mean && s < t->slices && !h->lent; s++)
		free(h->mean[s]);
	for (size_t l = 0; h->outer && l < h->own && !h->lent; l++)
		for (size_t i = 0; i < OPTIMIZER_MOST_MOMENTS; i++)
			free(h->outer[l].moment[i]);
	if (!h->lent) {
		free(h->outer);
		free(h->states);
	}
	free(h->debtor);
	free(h->packer);
	free(h->mean);
}

/* ---- heirs ---------------------------------------------------------------------------------- */

/* Returns the share of one heir's samples of a batch that were those of a debtor then; without `debts` the
 * heir is a learner, and so was the other. */
static float share_of(const struct train *t, const struct holding *now, size_t heir,
                      const struct holding *then, size_t debtor, bool debts)
{
	const size_t batch = t->setting->options->batch;
	size_t all = 0, common = 0, l = 0, former = 0;
	for (size_t at = 0, end; at < batch; at = end) {
		const size_t own_end = first_sample(t, now, l + 1),
		             its_end = first_sample(t, then, former + 1);
		end = own_end < its_end ? own_end : its_end;
		if ((debts ? now->debtor[l] : l) == heir) {
			all += end - at;
			common += (debts ? then->debtor[former] : former) == debtor ? end - at : 0;
		}
		l += end == own_end;
		former += end == its_end;
	}
	return all > 0 ? (float)((double)common / (double)all) : 0;
}

static void add(float *to, const float *from, size_t n, float share)
{
	for (size_t i = 0; to && from && i < n; i++)
		to[i] += share * from[i];
}

static void copy_packer(crumb_packer *to, const crumb_packer *from)
{
	memcpy(to, from, crumb_packer_size(crumb_packer_codec(from), crumb_packer_count(from)));
}

/* Gives a fresh packer the steps that a former one has had, which a warm-up counts. It draws no random
 * numbers, for which it would need a seed of its own. */
static void inherit_steps(crumb_packer *to, const crumb_packer *from, size_t n)
{
	const crumb_codec_info *info = crumb_codec_info_of(crumb_packer_codec(to));
	if (!(info->flags & CRUMB_CODEC_MOMENTUM) || crumb_packer_step(to) > 0)
		return;
	copy_packer(to, from);
	memset(crumb_packer_residual(to), 0, n * sizeof(float));
	if (crumb_packer_velocity(to))
		memset(crumb_packer_velocity(to), 0, n * sizeof(float));
}

static void inherit_residuals(const struct train *t, struct holding *now, const struct holding *then)
{
	for (size_t h = 0; h < now->layout.debtors; h++)
		for (size_t d = 0; d < then->layout.debtors; d++) {
			const float share = share_of(t, now, (size_t)now->layout.first_debtor + h, then,
			                             (size_t)then->layout.first_debtor + d, true);
			for (size_t s = 0; s < t->slices && share > 0; s++) {
				crumb_packer *to = now->packer[h * t->slices + s],
				             *from = then->packer[d * t->slices + s];
				inherit_steps(to, from, t->slice[s].n);
				add(crumb_packer_residual(to), crumb_packer_residual(from), t->slice[s].n,
				    share);
				add(crumb_packer_velocity(to), crumb_packer_velocity(from), t->slice[s].n,
				    share);
			}
		}
}

static void inherit_packers(const struct train *t, struct holding *now, const struct holding *then)
{
	for (size_t h = 0; h < now->layout.debtors; h++) {
		const size_t d = (size_t)(now->layout.first_debtor + h - then->layout.first_debtor);
		for (size_t s = 0; s < t->slices && d < then->layout.debtors; s++)
			copy_packer(now->packer[h * t->slices + s], then->packer[d * t->slices + s]);
	}
}

static void inherit_outer(const struct train *t, struct holding *now, const struct holding *then)
{
	for (size_t h = 0; now->outer && h < now->own; h++)
		for (size_t l = 0; l < then->own; l++) {
			const float share = share_of(t, now, now->first + h, then, then->first + l, false);
			struct outer *to = &now->outer[h], *from = &then->outer[l];
			if (share > 0 && from->moves > to->moves)
				to->moves = from->moves;
			for (size_t i = 0; i < OPTIMIZER_MOST_MOMENTS && share > 0; i++)
				add(to->moment[i], from->moment[i], t->setting->net->parameters, share);
		}
}

static void inherit_states(const struct train *t, struct holding *now, const struct holding *then)
{
	const size_t own = first_sample(t, now, now->first), its = first_sample(t, then, then->first);
	const size_t own_end = own + holding_samples(t, now), its_end = its + holding_samples(t, then);
	const size_t begin = own > its ? own : its, end = own_end < its_end ? own_end : its_end;
	const size_t states = t->setting->net->states;
	if (now->states && begin < end)
		memcpy(now->states + (begin - own) * states, then->states + (begin - its) * states,
		       (end - begin) * states * sizeof *now->states);
}

void holding_inherit(const struct train *t, struct holding *now, const struct holding *then)
{
	const bool same_debtors =
	        now->layout.learners == then->layout.learners &&
	        memcmp(now->debtor, then->debtor, (size_t)now->layout.learners * sizeof *now->debtor) == 0;
	if (same_debtors)
		inherit_packers(t, now, then);
	else
		inherit_residuals(t, now, then);
	for (size_t s = 0; s < t->slices; s++)
		if (now->mean[s] && then->mean[s])
			copy_packer(now->mean[s], then->mean[s]);
	inherit_outer(t, now, then);
	inherit_states(t, now, then);
}
