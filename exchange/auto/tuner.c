/* The tuner measures, tells, chooses and changes.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/auto/tuner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/auto/choose.h"
#include "exchange/plan.h"
#include "exchange/auto/probe.h"
#include "exchange/seconds.h"
#include "exchange/team.h"
#include "exchange/tiers.h"
#include "exchange/transport.h"
#include "exchange/why.h"
#include "exchange/auto/trial.h"

enum { FIRST_CHOICE = 4, LATER = 10, TEXT = 4096 };

struct crumb_tuner {
	struct crumb_exchange_config config;
	struct crumb_exchange *x;
	struct crumb_script script;
	struct crumb_slice *part; /* the slices as plan shard cuts them */
	size_t parts, own;
	unsigned *leader; /* [rank]: the first rank of its node */
	struct crumb_auto_setting setting;
	struct crumb_auto_choice choice;
	struct trial *trial;                             /* NULL outside of a window */
	uint64_t step, next;                             /* this step, and that of the next choice */
	double clock;                                    /* at the end of the last call; 0: none yet */
	double exchanged;                                /* seconds that the exchange had taken then */
	double whole[TRIAL_STEPS], compute[TRIAL_STEPS]; /* seconds of the window's steps */
	size_t timed;
	double plain_extra; /* seconds that a raw step took more than predicted */
	struct crumb_tuned tuned;
	struct policy policy; /* of gradients, in use */
	char up[TEXT], down[TEXT], text[CRUMB_SCRIPT_MOST * TEXT];
};

/* Appends to text, of cap bytes, at *at, as much as fits. */
static void append(char *text, size_t cap, size_t *at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	const int length = vsnprintf(text + *at, cap - *at, format, args);
	va_end(args);
	*at = length < 0 || *at + (size_t)length >= cap ? cap - 1 : *at + (size_t)length;
}

/* Prints the policy of the kinds that the gradient has. */
static void print_policy(const struct crumb_tuner *t, const struct policy *policy, char *text)
{
	bool printed[CRUMB_KINDS] = {false};
	char spec[CRUMB_SPEC_MAX];
	size_t at = 0;

	snprintf(text, TEXT, "raw");
	if (!memcmp(policy, &t->setting.menu[0], sizeof *policy))
		return;
	for (int kind = 0; kind < CRUMB_KINDS; kind++) {
		if (printed[kind] || t->setting.elements[kind] == 0)
			continue;
		const char *before = at ? ";" : "";
		for (int same = kind; same < CRUMB_KINDS; same++) {
			if (t->setting.elements[same] == 0 ||
			    memcmp(&policy->codec[same], &policy->codec[kind], sizeof(crumb_codec)) != 0)
				continue;
			append(text, TEXT, &at, "%s%s", before, crumb_kind_name((enum crumb_kind)same));
			printed[same] = true;
			before = ",";
		}
		crumb_print(&policy->codec[kind], spec, sizeof spec);
		append(text, TEXT, &at, "=%s", spec);
	}
}

/* Opens the exchange or changes it from the next step on, and prints its texts. */
static int change(struct crumb_tuner *t, const struct plan *plan, const struct policy *up,
                  const struct policy *down, char *why, size_t cap)
{
	struct crumb_exchange_config config = t->config;
	const bool opening = !t->x;
	size_t at = strlen(t->text);

	if (plan->longest_slice) {
		config.slices = t->part;
		config.slice_count = t->parts;
	}
	config.plan = plan;
	config.policy = up;
	config.down = down;
	const int error = t->x ? crumb_exchange_change(t->x, &config, why, cap)
	                       : crumb_exchange_start(&t->x, &config, why, cap);
	t->policy = *up;
	print_policy(t, up, t->up);
	if (down)
		print_policy(t, down, t->down);
	else
		snprintf(t->down, sizeof t->down, "exact");
	if (!opening)
		append(t->text, sizeof t->text, &at, "|%llu %s %s %s", (unsigned long long)t->step,
		       plan->name, t->down, t->up);
	t->tuned.step = t->step;
	t->tuned.plan = plan->name;
	return error;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int open_all(struct crumb_tuner *t, char *why, size_t cap)
{
	const struct crumb_exchange_config *config = &t->config;
	const struct plan *shard = crumb_plan_find("shard"), *gather = crumb_plan_find("gather");
	const unsigned ranks = config->net ? config->net->ranks : 1;

	t->parts = crumb_slices_cut(config->slices, config->slice_count, shard->longest_slice, NULL);
	t->part = calloc(t->parts + 1, sizeof *t->part);
	t->leader = calloc(ranks, sizeof *t->leader);
	if (!t->part || !t->leader)
		return refuse(why, cap, CRUMB_EMEMORY, "no memory to choose by");
	if (!crumb_tiers_leaders(t->leader, ranks, config->net, config->node_size))
		return refuse(why, cap, CRUMB_EINVAL, "%u ranks are no nodes of %u", ranks,
		              config->node_size);
	crumb_slices_cut(config->slices, config->slice_count, shard->longest_slice, t->part);
	if (crumb_auto_setting(&t->setting, config->slices, config->slice_count, t->part, t->parts, ranks,
	                       config->learners, t->leader))
		return refuse(why, cap, CRUMB_EMEMORY, "no memory to choose by");
	/* Both plans give a raw mean the same bits. */
	t->choice.way = ranks > 2 ? CRUMB_AUTO_SHARD : CRUMB_AUTO_GATHER;
	const int error = change(t, ranks > 2 ? shard : gather, &t->setting.menu[0], NULL, why, cap);
	if (!error) {
		size_t first;
		crumb_exchange_learners(t->x, &first, &t->own);
	}
	return error;
}

int crumb_tuner_open(struct crumb_tuner **tuner, struct crumb_exchange **exchange,
                     const struct crumb_exchange_config *config, const struct crumb_script *script, char *why,
                     size_t cap)
{
	struct crumb_tuner *t = calloc(1, sizeof *t);

	if (!t)
		return refuse(why, cap, CRUMB_EMEMORY, "no memory to choose by");
	t->config = *config;
	t->script = *script;
	t->next = FIRST_CHOICE;
	t->tuned.up = t->up;
	t->tuned.down = t->down;
	t->tuned.script = t->text;
	snprintf(t->text, sizeof t->text, "auto");
	const int error = open_all(t, why, cap);
	if (error) {
		crumb_tuner_close(t);
		return error;
	}
	*tuner = t;
	*exchange = t->x;
	return 0;
}

void crumb_tuner_close(struct crumb_tuner *t)
{
	if (!t)
		return;
	crumb_trial_close(t->trial);
	free(t->part);
	free(t->leader);
	free(t);
}

/* ---- measuring ------------------------------------------------------------------------------ */

static double exchange_seconds(const struct crumb_tuner *t)
{
	struct exchange_stats stats;

	crumb_exchange_read_stats(t->x, &stats);
	return stats.check_seconds + stats.pack_seconds + stats.swap_seconds + stats.unpack_seconds;
}

/* The time since the last call was a step. */
static void time_step(struct crumb_tuner *t)
{
	const double whole = crumb_seconds() - t->clock, exchange = exchange_seconds(t) - t->exchanged;

	/* A step with an epoch's end in it does not count: statistics begin anew. */
	if (!t->trial || t->clock == 0 || exchange < 0 || t->timed == TRIAL_STEPS)
		return;
	t->whole[t->timed] = whole;
	t->compute[t->timed++] = whole - exchange;
}

/* Returns the bytes of a gradient in f32. */
static double dense(const struct crumb_tuner *t)
{
	double elements = 0;

	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		elements += t->setting.elements[kind];
	return 4 * elements;
}

/* Measures on all ranks, and takes the slowest of each. */
static int measure(struct crumb_tuner *t, struct crumb_auto_measured *slowest, char *why, size_t cap)
{
	const size_t learners = t->config.learners;
	struct crumb_auto_measured *mine = calloc(t->own + 1, sizeof *mine),
	                           *all = calloc(learners, sizeof *all);
	struct crumb_link link[3];
	int error = 0;

	for (enum crumb_probe_way way = CRUMB_PROBE_ALL; way <= CRUMB_PROBE_BETWEEN && !error; way++)
		if (way == CRUMB_PROBE_ALL || (t->setting.nodes > 1 && t->setting.together > 1))
			error = crumb_probe(&link[way], t->config.net, way, t->leader, dense(t));
		else
			link[way] = crumb_link_even(INFINITY, 0);
	if (error)
		refuse(why, cap, error, "probing the link: %s",
		       t->config.net->why[0] ? t->config.net->why : crumb_strerror(error));
	else if (!mine || !all)
		error = refuse(why, cap, CRUMB_EMEMORY, "no memory to choose by");
	if (!error) {
		mine->step = crumb_seconds_median(t->whole, t->timed);
		mine->compute = crumb_seconds_median(t->compute, t->timed);
		mine->link = link[CRUMB_PROBE_ALL];
		mine->inside = link[CRUMB_PROBE_INSIDE];
		mine->between = link[CRUMB_PROBE_BETWEEN];
		mine->threads = crumb_team_threads(t->config.team);
		crumb_trial_prices(t->trial, mine);
		for (size_t l = 1; l < t->own; l++)
			mine[l] = mine[0];
		error = crumb_exchange_tell(t->x, mine, sizeof *mine, all);
		if (error)
			refuse(why, cap, error, "%s", crumb_exchange_why(t->x));
		else
			*slowest = crumb_auto_slowest(all, learners);
	}
	free(mine);
	free(all);
	return error;
}

/* ---- choosing ------------------------------------------------------------------------------- */

static void print_line(struct crumb_tuned *tuned, const char *verb)
{
	size_t at = 0;

	append(tuned->line, sizeof tuned->line, &at, "auto, step %llu: %s %s %s (down %s)",
	       (unsigned long long)tuned->step, verb, tuned->plan, tuned->up, tuned->down);
	if (tuned->predicted > 0)
		append(tuned->line, sizeof tuned->line, &at,
		       ", predicted %.3g ms a step, raw %.3g; measured before %.3g, of it compute %.3g; "
		       "link %.4g Mbit/s, %.3g ms",
		       1e3 * tuned->predicted, 1e3 * tuned->plain, 1e3 * tuned->measured,
		       1e3 * tuned->compute, 8e-6 * tuned->rate, 1e3 * tuned->latency);
}

static int choose(struct crumb_tuner *t, char *why, size_t cap)
{
	struct crumb_auto_measured x;
	int error = measure(t, &x, why, cap);

	crumb_trial_close(t->trial);
	t->trial = NULL;
	t->timed = 0;
	t->next *= LATER;
	if (error)
		return error;
	const struct crumb_auto_choice plain = crumb_auto_plain(&t->setting, &x), before = t->choice;
	const double extra = x.step - crumb_auto_predict(&t->setting, &x, &before);
	if (t->next == (uint64_t)FIRST_CHOICE * LATER)
		t->plain_extra = extra;
	t->choice = crumb_auto_choose(&t->setting, &x, &before, t->plain_extra);
	const bool stays = crumb_auto_same(&t->setting, &t->choice, &before);
	if (!stays) {
		struct policy up, down;
		bool exact;
		crumb_auto_policies(&t->setting, &t->choice, &up, &down, &exact);
		error = change(t, crumb_auto_plan(&t->choice), &up, exact ? NULL : &down, why, cap);
	}
	t->tuned.step = t->step;
	t->tuned.measured = x.step;
	t->tuned.predicted = crumb_auto_predict(&t->setting, &x, &t->choice) + extra;
	t->tuned.plain = crumb_auto_predict(&t->setting, &x, &plain) + t->plain_extra;
	t->tuned.compute = x.compute;
	t->tuned.rate = crumb_link_rate(&x.link, dense(t));
	t->tuned.latency = x.link.latency;
	print_line(&t->tuned, stays ? "stays with" : "changes to");
	return error ? error : 1;
}

static int follow(struct crumb_tuner *t, char *why, size_t cap)
{
	for (size_t i = 0; i < t->script.count; i++) {
		const struct crumb_scripted *entry = &t->script.entry[i];
		if (entry->step != t->step)
			continue;
		const int error =
		        change(t, entry->plan, &entry->up, entry->exact ? NULL : &entry->down, why, cap);
		print_line(&t->tuned, "changes to");
		return error ? error : 1;
	}
	return 0;
}

int crumb_tuner_step(struct crumb_tuner *t, const float *const *grad, char *why, size_t cap)
{
	int result = 0;

	time_step(t);
	if (!t->script.measures)
		result = follow(t, why, cap);
	else if (t->step == t->next)
		result = choose(t, why, cap);
	else if (t->step + TRIAL_STEPS >= t->next) {
		if (!t->trial)
			t->trial = crumb_trial_open(&t->setting, t->config.slices, t->config.slice_count);
		if (t->trial && t->own > 0)
			crumb_trial_step(t->trial, grad[0]);
	}
	t->step++;
	t->exchanged = exchange_seconds(t);
	t->clock = crumb_seconds();
	return result;
}

const struct crumb_tuned *crumb_tuner_tell(const struct crumb_tuner *t) { return &t->tuned; }
const struct policy *crumb_tuner_policy(const struct crumb_tuner *t) { return &t->policy; }
