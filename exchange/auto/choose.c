/* The choice by the closed form.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/auto/choose.h"

#include <math.h>
#include <string.h>
#include "exchange/plan.h"

static const char *const menu[CRUMB_AUTO_MENU] = {
        "raw", "half", "terngrad:shared=1", /* NeurIPS 2017, section 3.1 */
        "conv=adacomp:bin=50;fc,lstm,embedding,last=adacomp:bin=500;bias,batchnorm=raw", /* AAAI 2018 */
};

enum { FRAME_HEAD = CRUMB_HEADER_BYTES + 8 }; /* the header, and the length in the message's table */

const char *crumb_auto_menu(size_t i) { return i < CRUMB_AUTO_MENU ? menu[i] : NULL; }

struct crumb_auto_measured crumb_auto_slowest(const struct crumb_auto_measured *each, size_t count)
{
	struct crumb_auto_measured all = each[0];

	for (size_t i = 1; i < count; i++) {
		all.step = fmax(all.step, each[i].step);
		all.compute = fmax(all.compute, each[i].compute);
		all.link = crumb_link_slower(&all.link, &each[i].link);
		all.inside = crumb_link_slower(&all.inside, &each[i].inside);
		all.between = crumb_link_slower(&all.between, &each[i].between);
		all.threads = fmin(all.threads, each[i].threads);
		for (size_t m = 0; m < CRUMB_AUTO_MENU; m++)
			for (int kind = 0; kind < CRUMB_KINDS; kind++) {
				const struct crumb_auto_price *one = &each[i].price[m][kind];
				struct crumb_auto_price *most = &all.price[m][kind];
				most->bytes = fmax(most->bytes, one->bytes);
				most->pack = fmax(most->pack, one->pack);
				most->unpack = fmax(most->unpack, one->unpack);
			}
	}
	return all;
}

int crumb_auto_setting(struct crumb_auto_setting *setting, const struct crumb_slice *slices, size_t count,
                       const struct crumb_slice *parts, size_t part_count, unsigned ranks, size_t learners,
                       const unsigned *leader)
{
	*setting = (struct crumb_auto_setting){.ranks = ranks, .learners = learners};
	for (unsigned first = 0; first < ranks; first++) {
		unsigned together = 0;
		for (unsigned r = 0; r < ranks; r++)
			together += (leader ? leader[r] : 0) == first;
		setting->nodes += together > 0;
		setting->together = together > setting->together ? together : setting->together;
	}
	setting->share = crumb_slices_share(parts, part_count, ranks);
	setting->node_share = crumb_slices_share(parts, part_count, setting->nodes);
	for (size_t s = 0; s < count; s++) {
		setting->elements[slices[s].kind] += (double)slices[s].n;
		setting->tensors[slices[s].kind]++;
	}
	for (size_t m = 0; m < CRUMB_AUTO_MENU; m++) {
		crumb_policy_parse(&setting->menu[m], menu[m], NULL);
		const crumb_codec *codec = &setting->menu[m].codec[CRUMB_FC];
		setting->sums[m] = crumb_agrees(codec);
		setting->residual[m] = crumb_codec_info_of(codec)->flags & CRUMB_CODEC_RESIDUAL;
	}
	return isnan(setting->share) || isnan(setting->node_share) ? CRUMB_EMEMORY : 0;
}

/* ---- prediction ----------------------------------------------------------------------------- */

static bool knows_nodes(enum crumb_auto_way way) { return way >= CRUMB_AUTO_TIERS; }

/* Returns the way of nodes, or of ranks if there are none. */
static enum crumb_auto_way way_between(enum crumb_auto_way way)
{
	return knows_nodes(way) ? way - CRUMB_AUTO_TIERS : way;
}

/* Returns false if the way wants nodes of several ranks, and there are none, or owes what a rank without
 * learners could not pass on to the next way. */
static bool possible(const struct crumb_auto_setting *s, enum crumb_auto_way way)
{
	if (s->learners < s->ranks && way >= CRUMB_AUTO_SHARD_PACKED)
		return false;
	return !knows_nodes(way) || (s->nodes > 1 && s->together > 1);
}

static struct crumb_cost_frames frames_of(const struct crumb_auto_setting *s,
                                          const struct crumb_auto_measured *x, size_t m, int kind,
                                          double learners)
{
	const double n = learners * s->elements[kind];

	return (struct crumb_cost_frames){.bytes = x->price[m][kind].bytes * n +
	                                           FRAME_HEAD * learners * s->tensors[kind],
	                                  .pack = x->price[m][kind].pack * n / x->threads,
	                                  .unpack = x->price[m][kind].unpack * n / x->threads};
}

/* Returns the mean's frames. */
static struct crumb_cost_frames means_of(const struct crumb_auto_setting *s,
                                         const struct crumb_auto_measured *x, enum crumb_auto_way way,
                                         size_t m, int kind)
{
	const size_t learners = knows_nodes(way) ? s->nodes : s->learners;

	if (way_between(way) == CRUMB_AUTO_SHARD_PACKED && s->residual[m])
		return frames_of(s, x, m, kind, 1);
	struct crumb_cost_frames means = frames_of(s, x, 0, kind, 1);
	if (way_between(way) == CRUMB_AUTO_SHARD && s->sums[m] && learners <= CRUMB_MAX_FRAMES &&
	    s->menu[m].codec[kind].id != s->menu[0].codec[kind].id) {
		size_t bits = 1; /* ceil(log2(2 N + 1)) */
		while ((size_t)1 << bits < 2 * learners + 1)
			bits++;
		means = frames_of(s, x, m, kind, 1);
		means.bytes = (double)bits / 8 * s->elements[kind] + FRAME_HEAD * s->tensors[kind];
		means.pack = 0;
	}
	return means;
}

static struct crumb_load load_of(const struct crumb_auto_setting *s, const struct crumb_auto_measured *x,
                                 enum crumb_auto_way way, size_t m, int kind)
{
	const size_t most = (s->learners + s->ranks - 1) / s->ranks; /* learners of a rank */
	const bool nodes = knows_nodes(way);
	const unsigned ranks = nodes ? s->nodes : s->ranks;
	const struct crumb_cost_frames up = frames_of(s, x, m, kind, nodes ? 1 : (double)most),
	                               down = means_of(s, x, way, m, kind),
	                               raw = frames_of(s, x, 0, kind, (double)most);
	struct crumb_load load =
	        way_between(way) == CRUMB_AUTO_GATHER
	                ? crumb_cost_gather(ranks, &up)
	                : crumb_cost_owner(ranks, nodes ? s->node_share : s->share, &up, &down);

	if (nodes)
		crumb_cost_tiers(&load, s->together, &raw);
	return load;
}

/* Returns the rate between ranks, or nodes, for messages as long as this load's; the vote, one of them, and
 * what passes within nodes, are next to empty there. */
static double rate_of(const struct crumb_auto_measured *x, enum crumb_auto_way way,
                      const struct crumb_load *load)
{
	const struct crumb_link *link = knows_nodes(way) ? &x->between : &x->link;
	const double empty = knows_nodes(way) ? 4 : 1;

	return crumb_link_rate(link, load->bytes / (load->messages - empty));
}

/* Returns the rate within nodes, up and then down. */
static double rate_inside(const struct crumb_auto_measured *x, const struct crumb_load *load)
{
	return load->inside > 0 ? crumb_link_rate(&x->inside, load->inside / 2) : INFINITY;
}

/* Returns the load of all kinds, whose frames share messages. */
static struct crumb_load whole_of(const struct crumb_auto_setting *s, const struct crumb_auto_measured *x,
                                  const struct crumb_auto_choice *choice)
{
	struct crumb_load all = {0};

	for (int kind = 0; kind < CRUMB_KINDS; kind++) {
		const struct crumb_load load = load_of(s, x, choice->way, choice->menu[kind], kind);
		all.bytes += load.bytes;
		all.codec += load.codec;
		all.inside += load.inside;
		all.messages = load.messages;
	}
	return all;
}

double crumb_auto_predict(const struct crumb_auto_setting *s, const struct crumb_auto_measured *x,
                          const struct crumb_auto_choice *choice)
{
	const struct crumb_load all = whole_of(s, x, choice);
	const struct crumb_cluster cluster = {.nodes = knows_nodes(choice->way) ? s->nodes : s->ranks,
	                                      .gpus = 1,
	                                      .network_rate = rate_of(x, choice->way, &all),
	                                      .network_latency = x->link.latency,
	                                      .gpu_rate = rate_inside(x, &all),
	                                      .host_rate = INFINITY};
	const struct crumb_cost cost = crumb_cost_step(&cluster, &all, x->compute, 0);
	return crumb_cost_total(&cost);
}

/* ---- choice --------------------------------------------------------------------------------- */

/* Returns the choice of the shortest step on this way, with lines of the menu up to limit, for each kind by
 * itself: at one rate of the link, costs add up. */
static struct crumb_auto_choice shortest_at(const struct crumb_auto_setting *s,
                                            const struct crumb_auto_measured *x, enum crumb_auto_way way,
                                            size_t limit, double rate)
{
	struct crumb_auto_choice choice = {.way = way};

	for (int kind = 0; kind < CRUMB_KINDS; kind++) {
		double least = INFINITY;
		for (size_t m = 0; m <= limit; m++) {
			const struct crumb_load load = load_of(s, x, way, m, kind);
			const double seconds = load.codec + load.bytes / rate;
			if (seconds < least) {
				least = seconds;
				choice.menu[kind] = (unsigned char)m;
			}
		}
	}
	return choice;
}

/* Finds the link's rate by iteration: shorter messages may have a lower rate, which may call for still
 * shorter ones. */
static struct crumb_auto_choice shortest(const struct crumb_auto_setting *s,
                                         const struct crumb_auto_measured *x, enum crumb_auto_way way,
                                         size_t limit)
{
	struct crumb_auto_choice choice = {.way = way};

	for (size_t i = 0; i <= limit; i++) {
		const struct crumb_load load = whole_of(s, x, &choice);
		choice = shortest_at(s, x, way, limit, rate_of(x, way, &load));
	}
	return choice;
}

bool crumb_auto_same(const struct crumb_auto_setting *s, const struct crumb_auto_choice *a,
                     const struct crumb_auto_choice *b)
{
	bool same = a->way == b->way;

	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		same = same && (s->elements[kind] == 0 || a->menu[kind] == b->menu[kind]);
	return same;
}

struct crumb_auto_choice crumb_auto_plain(const struct crumb_auto_setting *s,
                                          const struct crumb_auto_measured *x)
{
	const struct crumb_auto_choice gather = {.way = CRUMB_AUTO_GATHER}, shard = {.way = CRUMB_AUTO_SHARD};

	return crumb_auto_predict(s, x, &shard) < crumb_auto_predict(s, x, &gather) ? shard : gather;
}

struct crumb_auto_choice crumb_auto_choose(const struct crumb_auto_setting *s,
                                           const struct crumb_auto_measured *x,
                                           const struct crumb_auto_choice *in_use, double plain_extra)
{
	const double worth = 1 - CRUMB_AUTO_WORTH, extra = x->step - crumb_auto_predict(s, x, in_use);
	const struct crumb_auto_choice plain = crumb_auto_plain(s, x);
	const double plain_step = crumb_auto_predict(s, x, &plain) + plain_extra;
	struct crumb_auto_choice best = plain;
	double best_step = plain_step;

	if (s->ranks < 2)
		return *in_use;
	for (size_t limit = 1; limit < CRUMB_AUTO_MENU; limit++) {
		struct crumb_auto_choice quickest = plain;
		double quickest_step = INFINITY;
		for (enum crumb_auto_way way = 0; way < CRUMB_AUTO_WAYS && possible(s, way); way++) {
			const struct crumb_auto_choice choice = shortest(s, x, way, limit);
			const double step = crumb_auto_predict(s, x, &choice) + extra;
			if (step < quickest_step) {
				quickest = choice;
				quickest_step = step;
			}
		}
		if (quickest_step < worth * best_step) {
			best = quickest;
			best_step = quickest_step;
		}
	}
	if (crumb_auto_same(s, &best, &plain) && plain_step < x->step)
		return plain; /* the choice in use does not help */
	return best_step < worth * x->step ? best : *in_use;
}

/* ---- for crumb-train ------------------------------------------------------------------------ */

const struct plan *crumb_auto_plan(const struct crumb_auto_choice *choice)
{
	static const char *const name[CRUMB_AUTO_WAYS] = {"gather", "shard",       "shard",
	                                                  "tiers",  "tiers-shard", "tiers-shard"};

	return crumb_plan_find(name[choice->way]);
}

void crumb_auto_policies(const struct crumb_auto_setting *s, const struct crumb_auto_choice *choice,
                         struct policy *up, struct policy *down, bool *exact)
{
	*exact = way_between(choice->way) != CRUMB_AUTO_SHARD_PACKED;
	for (int kind = 0; kind < CRUMB_KINDS; kind++) {
		const size_t m = choice->menu[kind];
		up->codec[kind] = s->menu[m].codec[kind];
		down->codec[kind] = s->menu[s->residual[m] ? m : 0].codec[kind];
	}
}
