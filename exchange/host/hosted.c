/* The exchange of a host program (crumb_exchange.h): texts become codecs, a plan and slices, and the exchange
 * owns these, its transport and its threads. Each rank has one learner, and all weigh the same.
 *
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/exchange_state.h"
#include "exchange/plan.h"
#include "exchange/policy.h"
#include "exchange/step.h"
#include "exchange/team.h"
#include "exchange/transport.h"
#include "exchange/why.h"

struct hosted {
	struct crumb_exchange_net *net;
	struct team *team;
	struct crumb_slice *slice;
	float *weight;     /* [rank] */
	const float *grad; /* of the step that has begun, */
	float *mean;       /* and its mean */
};

static enum crumb_kind kind_of(const char *name)
{
	int kind = 0;

	while (kind < CRUMB_KINDS && (!name || strcmp(name, crumb_kind_name((enum crumb_kind)kind)) != 0))
		kind++;
	return (enum crumb_kind)kind;
}

int crumb_exchange_policy(crumb_codec *codec, const char *policy, const char *kind, size_t n,
                          const char **bad)
{
	struct policy parsed;
	const int error = policy ? crumb_policy_parse(&parsed, policy, bad) : 0;

	if (!codec || kind_of(kind) == CRUMB_KINDS)
		return error ? error : CRUMB_EINVAL;
	if (!error)
		*codec = crumb_policy_choose(policy ? &parsed : NULL, kind_of(kind), n);
	return error;
}

/* ---- close ---------------------------------------------------------------------------------- */

static bool close_parts(struct hosted *hosted)
{
	const bool quiet = !hosted->net || hosted->net->close(hosted->net);

	crumb_team_close(hosted->team);
	if (!quiet)
		return false;
	free(hosted->slice);
	free(hosted->weight);
	free(hosted);
	return true;
}

bool crumb_hosted_close(struct crumb_exchange *x)
{
	struct hosted *hosted = x->hosted;

	if (!hosted)
		return true;
	if (hosted->net && x->failed)
		crumb_step_farewell(x);
	return close_parts(hosted);
}

/* ---- open ----------------------------------------------------------------------------------- */

/* Copies the host's slices, cut as the plan wants. */
static int open_slices(struct hosted *hosted, struct crumb_exchange_config *config,
                       const struct crumb_exchange_slice *slices, size_t count, char *why, size_t cap)
{
	const size_t longest = config->plan->longest_slice;
	struct crumb_slice *whole = calloc(count + 1, sizeof *whole);
	int error = whole ? 0 : CRUMB_EMEMORY;
	crumb_codec raw;

	crumb_parse(&raw, "raw", NULL);
	for (size_t s = 0, at = 0; s < count && !error; at += slices[s++].n) {
		whole[s] = (struct crumb_slice){at, slices[s].n, slices[s].run, kind_of(slices[s].kind)};
		if (whole[s].kind == CRUMB_KINDS)
			error = refuse(why, cap, CRUMB_EINVAL, "slice %zu is of no known kind (%s)", s,
			               slices[s].kind ? slices[s].kind : "NULL");
		else if (!crumb_bound(&raw, slices[s].n))
			error = refuse(why, cap, CRUMB_EINVAL, "slice %zu is too long: %zu elements", s,
			               slices[s].n);
	}
	if (!error) {
		config->slice_count = crumb_slices_cut(whole, count, longest, NULL);
		config->slices = hosted->slice = calloc(config->slice_count + 1, sizeof *hosted->slice);
		error = hosted->slice ? 0 : CRUMB_EMEMORY;
	}
	if (!error)
		crumb_slices_cut(whole, count, longest, hosted->slice);
	free(whole);
	return error;
}

static int parse_policy(struct policy *policy, const char *text, char *why, size_t cap)
{
	const char *bad = text;
	const int error = crumb_policy_parse(policy, text, &bad);

	return error ? refuse(why, cap, error, "no policy: \"%s\", at \"%s\"", text, bad) : 0;
}

static int open_team(struct hosted *hosted, unsigned threads)
{
	hosted->team = threads > 1 ? crumb_team_open(threads) : NULL;
	return threads > 1 && !hosted->team ? CRUMB_EMEMORY : 0;
}

/* Opens this rank's exchange, and waits for nobody. */
static int open_own(struct crumb_exchange **x, struct hosted *hosted,
                    const struct crumb_exchange_slice *slices, size_t count,
                    const struct crumb_exchange_options *options, char *why, size_t cap)
{
	static const struct crumb_exchange_options defaults = {0};
	const struct crumb_exchange_options *o = options ? options : &defaults;
	struct policy up, down;
	const unsigned ranks = hosted->net ? hosted->net->ranks : 1;
	struct crumb_exchange_config config = {.policy = o->policy ? &up : NULL,
	                                       .down = o->down ? &down : NULL,
	                                       .plan = crumb_plan_find(o->plan ? o->plan : "gather"),
	                                       .model = o->model,
	                                       .overlap = o->overlap != 0,
	                                       .learners = ranks,
	                                       .seed = o->seed,
	                                       .node_size = o->node_size,
	                                       .net = hosted->net};
	int error = 0;

	snprintf(why, cap, "out of memory");
	if (!(o->timeout >= 0))
		return refuse(why, cap, CRUMB_EINVAL, "a timeout of %g seconds", o->timeout);
	if (hosted->net)
		hosted->net->timeout = o->timeout;
	if (!config.plan)
		return refuse(why, cap, CRUMB_EINVAL, "no such plan: \"%s\"", o->plan);
	if (!config.plan->mean)
		return refuse(why, cap, CRUMB_EINVAL, "plan %s is for a trainer, whose weights a server owns",
		              config.plan->name);
	if (o->policy)
		error = parse_policy(&up, o->policy, why, cap);
	if (!error && o->down)
		error = parse_policy(&down, o->down, why, cap);
	if (!error)
		error = open_slices(hosted, &config, slices, count, why, cap);
	if (!error)
		error = open_team(hosted, o->threads);
	hosted->weight = calloc(ranks, sizeof *hosted->weight);
	for (unsigned r = 0; r < ranks && hosted->weight; r++)
		hosted->weight[r] = 1 / (float)ranks;
	if (!error && !hosted->weight)
		error = CRUMB_EMEMORY;
	config.team = hosted->team;
	return error ? error : crumb_exchange_start(x, &config, why, cap);
}

/* Tells the other ranks this rank's error, or 0. Returns its own one, or the first of the others'. */
static int agree(struct crumb_exchange **x, struct crumb_exchange_net *net, int error, char *why, size_t cap)
{
	const struct crumb_exchange_config nothing = {.learners = 1, .net = net};
	char none[1];

	if (error && crumb_exchange_start(x, &nothing, none, sizeof none) < 0) {
		net->leave(net);
		return error;
	}
	(*x)->failed = error;
	const int first = crumb_exchange_tell(*x, NULL, 0, NULL);
	if (first && !error)
		snprintf(why, cap, "%s", crumb_exchange_why(*x));
	return error ? error : first;
}

int crumb_exchange_open(struct crumb_exchange **exchange, struct crumb_exchange_net *net,
                        const struct crumb_exchange_slice *slices, size_t count,
                        const struct crumb_exchange_options *options, char *why, size_t cap)
{
	struct hosted *hosted = calloc(1, sizeof *hosted);
	struct crumb_exchange *x = NULL;

	*exchange = NULL;
	if (!hosted) {
		if (net) {
			net->leave(net);
			net->close(net);
		}
		return refuse(why, cap, CRUMB_EMEMORY, "out of memory");
	}
	hosted->net = net;
	int error = open_own(&x, hosted, slices, count, options, why, cap);
	if (net)
		error = agree(&x, net, error, why, cap);
	if (x)
		x->hosted = hosted;
	if (!error) {
		*exchange = x;
		if (cap)
			why[0] = 0;
		return 0;
	}
	if (x) {
		if (!x->messages.dead) /* else the others may not know */
			x->failed = 0;
		crumb_exchange_close(x);
	} else {
		close_parts(hosted);
	}
	return error;
}

/* ---- use ------------------------------------------------------------------------------------ */

int crumb_exchange_ready(struct crumb_exchange *x, const float *grad, float *mean, size_t first)
{
	struct hosted *hosted = x->hosted;
	int error = 0;

	if (crumb_overlap_begun(x) && (hosted->grad != grad || hosted->mean != mean))
		return CRUMB_EINVAL; /* why is the thread's meanwhile */
	if (!crumb_overlap_begun(x)) {
		hosted->grad = grad;
		hosted->mean = mean;
		error = crumb_exchange_begin(x, &hosted->grad, hosted->weight, mean);
	}
	if (!error)
		crumb_exchange_final(x, 0, first);
	return error;
}

int crumb_exchange_mean(struct crumb_exchange *x, const float *grad, float *mean)
{
	return crumb_exchange_step(x, &grad, x->hosted->weight, mean);
}

static uint64_t sum(const uint64_t *by_kind)
{
	uint64_t total = 0;

	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		total += by_kind[kind];
	return total;
}

void crumb_exchange_stats(struct crumb_exchange *x, struct crumb_exchange_stats *stats)
{
	struct exchange_stats all;

	crumb_exchange_read_stats(x, &all);
	*stats = (struct crumb_exchange_stats){
	        .steps = all.steps,
	        .skipped = all.skipped,
	        .dense_bytes = sum(all.dense),
	        .frame_bytes = sum(all.bytes),
	        .down_bytes = sum(all.down),
	        .sent_bytes = all.link_out,
	        .received_bytes = all.link_in,
	        .check_seconds = all.check_seconds,
	        .pack_seconds = all.pack_seconds,
	        .swap_seconds = all.swap_seconds,
	        .unpack_seconds = all.unpack_seconds,
	        .residual_norm = sqrt(crumb_exchange_owed(x, 0)),
	};
}
