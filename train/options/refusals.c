/* Options that contradict each other, and what is said of them.
 *
 * SPDX-License-Identifier: MIT */
#include "train/options/refusals.h"
#include "exchange/auto/script.h"
#include "program/file.h"
#include "program/program.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct refusal {
	bool given;
	const char *what, *why;
};

/* Says which of what is refused beside an option is given. Returns 0, or -1 if any is. */
static int refuse_beside(const char *option, const struct refusal *refused, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (refused[i].given) {
			program_say("crumb-train: %s takes no %s, %s", option, refused[i].what,
			            refused[i].why);
			return -1;
		}
	return 0;
}

#define REFUSE_BESIDE(option, refused) refuse_beside(option, refused, sizeof(refused) / sizeof *(refused))

static bool tunes(const struct options *o)
{
	bool any = false;
	for (size_t i = 0; i < o->codec_count; i++)
		any = any || crumb_script_meant(o->codec[i].text);
	return any;
}

/* Refuses what plan async cannot do. */
static int check_async(const struct options *o)
{
	const struct refusal refused[] = {
	        {o->local_steps, "--local-steps", "which let learners wait for each other"},
	        {o->average > 0, "--average", "since the weights change more than once a step"},
	        {o->carry_state, "--carry-state", "since a learner does not go on where it was in the text"},
	        {o->probe, "--probe", "which follows all learners through the same steps"},
	        {o->dump_gradients, "--dump-gradients", "which follows one learner through all steps"},
	};
	return o->plan->serves ? REFUSE_BESIDE("--plan async", refused) : 0;
}

/* Refuses what cannot go with --overlap. */
static int check_overlap(const struct options *o)
{
	const struct refusal refused[] = {
	        {o->plan->serves, "--plan async", "whose steps are pushes and pulls"},
	        {o->local_steps, "--local-steps", "which exchange how far weights have moved, not gradients"},
	        {o->clip_norm > 0, "--clip-norm", "since a norm is known when all of a gradient is"},
	        {o->flat, "--flat", "since one slice cannot go out in parts"},
	        {tunes(o), "--codec auto", "which tells computation and exchange apart"},
	};
	return o->overlap ? REFUSE_BESIDE("--overlap", refused) : 0;
}

/* Refuses what a training writes, beside --estimate. */
static int check_estimate(const struct options *o)
{
	static const char why[] = "since it trains nothing";
	const struct refusal refused[] = {
	        {o->log, "--log", why},
	        {o->page, "--report", why},
	        {o->checkpoint, "--checkpoint", why},
	        {o->resume, "--resume", why},
	        {o->probe, "--probe", why},
	        {o->dump_gradients, "--dump-gradients", why},
	};
	return o->estimate ? REFUSE_BESIDE("--estimate", refused) : 0;
}

/* Returns true if any codec's learners agree before they pack. */
static bool agrees(const struct options *o)
{
	size_t i = 0;
	while (i < o->codec_count && !crumb_policy_agrees(&o->codec[i].policy))
		i++;
	return i < o->codec_count;
}

/* Refuses what cannot go with --measure. */
static int check_measure(const struct options *o)
{
	const struct refusal refused[] = {
	        {o->plan->serves, "--plan async", "in which no learners agree"},
	        {o->plan->between, "--plan tiers", "in which nodes agree, on the means of their learners"},
	        {o->local_steps, "--local-steps", "which exchange how far weights have moved, not gradients"},
	        {o->carry_state, "--carry-state", "since the next mini-batches go on where this one ends"},
	        {o->overlap, "--overlap", "which exchanges a gradient before it is whole"},
	        {tunes(o), "--codec auto", "which may change the codec in between"},
	};
	if (o->measure <= 1)
		return 0;
	if (REFUSE_BESIDE("--measure", refused) < 0)
		return -1;
	if (agrees(o))
		return 0;
	program_say("crumb-train: --measure is of no use without a codec whose learners agree, such as alq");
	return -1;
}

/* Refuses what cannot go with plans that average within nodes first. */
static int check_tiers(const struct options *o)
{
	const struct refusal refused[] = {
	        {o->probe, "--probe", "which follows what a learner sends, not a node"},
	        {!o->down_exact && !o->plan->between->assign, "--down", "since no mean comes down"},
	};
	char option[64];
	snprintf(option, sizeof option, "--plan %s", o->plan->name);
	return REFUSE_BESIDE(option, refused);
}

/* Refuses an option that was typed and that nothing would read. */
static int check_idle(const struct options *o)
{
	const struct {
		const char *name;
		bool read;
		const char *wanted;
	} option[] = {
	        {"node-size", o->plan->between || tunes(o), "--plan tiers or tiers-shard"},
	        {"outer-lr", o->local_steps, "--local-steps"},
	        {"outer-momentum", o->local_steps, "--local-steps"},
	        {"every", o->checkpoint, "--checkpoint"},
	        {"momentum", o->optimizer.type == OPTIMIZER_SGD, "--optimizer sgd"},
	        {"decay-first", o->weight_decay > 0, "--weight-decay"},
	};
	for (size_t i = 0; i < sizeof option / sizeof *option; i++)
		if (!option[i].read && options_typed(o, option[i].name)) {
			program_say("crumb-train: --%s is of no use without %s", option[i].name,
			            option[i].wanted);
			return -1;
		}
	return 0;
}

/* Refuses an option without another that it wants. */
static int check_wants(const struct options *o)
{
	const char *of_log = o->probe ? "probe" : o->page ? "report" : NULL;
	const char *of_one = o->dump_gradients ? "dump-gradients" : o->checkpoint ? "checkpoint" : NULL;
	if (of_one && o->codec_count > 1)
		program_say("crumb-train: --%s wants one --codec, not %zu", of_one, o->codec_count);
	else if (of_log && !o->log)
		program_say("crumb-train: --%s wants --log FILE.jsonl", of_log);
	else if (o->resume && !o->checkpoint)
		program_say("crumb-train: --resume wants --checkpoint DIR");
	else if ((o->log && strcmp(o->log, "-") == 0) || (o->page && strcmp(o->page, "-") == 0))
		program_say("crumb-train: --log and --report want the names of files, not \"-\"");
	else if (o->page && file_same(o->page, o->log))
		program_say("crumb-train: --log and --report name one file, %s", o->log);
	else if (o->page && strncmp(o->data, "text:", 5) == 0 && file_same(o->page, o->data + 5))
		program_say("crumb-train: --report would replace the text, %s", o->page);
	else if (!o->down_exact && !o->plan->assign)
		program_say("crumb-train: --down %s wants --plan shard, server, tiers-shard or async: "
		            "with --plan %s no mean comes down",
		            o->down_text, o->plan->name);
	else if (o->staleness != UINT64_MAX && !o->plan->serves)
		program_say("crumb-train: --staleness wants --plan async: with --plan %s all ranks keep step",
		            o->plan->name);
	else
		return 0;
	return -1;
}

int options_refuse(const struct options *o)
{
	if (o->learners > o->batch) {
		program_say("crumb-train: a batch of %zu leaves some of %zu learners without a sample",
		            o->batch, o->learners);
		return -1;
	}
	if (tunes(o) && (options_typed(o, "plan") || options_typed(o, "down") || o->checkpoint || o->probe)) {
		program_say("crumb-train: --codec auto chooses --plan and --down itself, and takes no "
		            "--checkpoint or --probe");
		return -1;
	}
	if (o->decay_first && o->optimizer.type == OPTIMIZER_ADAMW) {
		program_say(
		        "crumb-train: adamw's decay is no part of the gradient: it takes no --decay-first");
		return -1;
	}
	if ((o->plan->between && check_tiers(o) < 0) || check_idle(o) < 0)
		return -1;
	if (check_estimate(o) < 0 || check_wants(o) < 0 || check_async(o) < 0 || check_overlap(o) < 0)
		return -1;
	return check_measure(o);
}
