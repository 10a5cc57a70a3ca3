/* Plan async: opening, and what the server and the workers have in common.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include "exchange/plan.h"
#include "exchange/plans/async_state.h"
#include "exchange/policy.h"
#include "exchange/why.h"

/* ---- open ----------------------------------------------------------------------------------- */

static int check_codecs(const struct crumb_exchange *x, const struct policy *down, char *why, size_t cap)
{
	for (size_t s = 0; s < x->slices; s++) {
		const crumb_codec pull = crumb_policy_choose_mean(down, x->slice[s].kind, x->slice[s].n);
		const crumb_codec *codec = crumb_agrees(&pull) ? &pull : &x->slice_state[s].codec;
		char spec[CRUMB_SPEC_MAX];
		if (crumb_agrees(codec) && crumb_print(codec, spec, sizeof spec) >= 0)
			return refuse(why, cap, CRUMB_EINVAL,
			              "plan async is not for %s, whose learners agree before they pack",
			              spec);
	}
	return 0;
}

static int open(struct crumb_exchange *x, const struct crumb_exchange_config *config, char *why, size_t cap)
{
	int error = check_codecs(x, config->down, why, cap);

	if (error)
		return error;
	if (x->learners < x->ranks - x->servers)
		return refuse(why, cap, CRUMB_EINVAL,
		              "%zu learners are too few for %u workers beside the server", x->learners,
		              x->ranks - x->servers);
	if (x->net && (!x->net->send || !x->net->receive))
		return refuse(why, cap, CRUMB_EINVAL, "this transport has no messages for plan async");
	x->async = crumb_exchange_take(x, sizeof *x->async);
	bool *expected = crumb_exchange_take(x, x->ranks * sizeof *expected);
	if (!x->async || !expected) {
		x->async = NULL;
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for an exchange");
	}
	memset(expected, 0, x->ranks * sizeof *expected);
	*x->async = (struct async){.bound = config->staleness,
	                           .seed = config->seed,
	                           .expected = expected,
	                           .exact = !config->down};
	x->head.setup =
	        crumb_message_mix(crumb_message_mix(x->head.setup, config->staleness), x->async->exact);
	error = x->rank == 0 ? crumb_async_open_server(x, config) : 0;
	return error ? refuse(why, cap, error, "no memory for an exchange") : 0;
}

void crumb_async_begin(struct crumb_exchange *x, const struct async_epoch *epoch, struct async_work *work)
{
	x->async->epoch = epoch;
	x->step = epoch->step;
	crumb_async_begin_server(x);
	*work = (struct async_work){x->first, x->own};
}

void crumb_async_learners(const struct crumb_exchange *x, unsigned rank, size_t *first, size_t *count)
{
	*first = rank_first(x, rank);
	*count = rank_first(x, rank + 1) - *first;
}

/* ---- messages ------------------------------------------------------------------------------- */

int crumb_async_lose(struct crumb_exchange *x, int error, const char *what)
{
	x->messages.dead = error;
	return crumb_step_fail(x, error, "%s", what);
}

int crumb_async_send(struct crumb_exchange *x, unsigned to, crumb_span message)
{
	const int error = x->messages.dead ? x->messages.dead : x->net->send(x->net, to, message);

	if (error)
		return crumb_async_lose(x, error, x->net->why);
	x->stats.link_messages++;
	x->stats.link_out += message.len;
	return 0;
}

int crumb_async_receive(struct crumb_exchange *x, double deadline, unsigned *from)
{
	crumb_span message;
	const int error = x->net->receive(x->net, x->async->expected, deadline, from, &message);

	crumb_step_lap(x, &x->stats.swap_seconds);
	if (error)
		return *from < x->ranks ? error : crumb_async_lose(x, error, x->net->why);
	if (*from < x->ranks) {
		x->messages.in[*from] = message;
		x->stats.link_in += message.len;
	}
	return 0;
}

struct message_head crumb_async_push_head(const struct step *step, struct async_work work)
{
	struct message_head head = step->head;

	head.phase = MESSAGE_PUSH;
	head.step = step->x->async->epoch->step + work.first / step->x->learners;
	return head;
}

struct message_head crumb_async_pull_head(const struct step *step)
{
	struct message_head head = step->head;

	head.phase = MESSAGE_PULL;
	head.step = step->x->async->epoch->step;
	return head;
}

int crumb_async_check(struct crumb_exchange *x, const struct message_head *mine, unsigned from)
{
	return crumb_message_check(mine, x->messages.in[from], from, x->why, x->why[0] ? 0 : sizeof x->why);
}

/* ---- tell ----------------------------------------------------------------------------------- */

crumb_span crumb_async_write_told(const struct message_head *head, uint8_t *data, const void *told,
                                  size_t bytes)
{
	struct outgoing message = {data, bytes, sizeof *head + bytes};

	if (bytes)
		memcpy(data + sizeof *head, told, bytes);
	crumb_message_seal(head, &message);
	return (crumb_span){message.data, message.len};
}

int crumb_async_read_told(struct crumb_exchange *x, unsigned from, void *told, size_t bytes)
{
	const crumb_span message = x->messages.in[from];
	const uint8_t *body = message.len == sizeof(struct message_head) + bytes
	                              ? crumb_message_body(message, bytes)
	                              : NULL;

	if (!body)
		return crumb_swap_damaged(x, from);
	if (bytes)
		memcpy(told, body, bytes);
	return 0;
}

static int tell(struct crumb_exchange *x, const void *mine, size_t bytes, void *all)
{
	const int error = x->failed     ? x->failed
	                  : x->rank > 0 ? crumb_async_tell_server(x, mine, bytes, all)
	                                : crumb_async_hear_all(x, bytes, all);
	if (error)
		x->failed = error;
	return error;
}

static void assign(struct crumb_exchange *x, unsigned *owner)
{
	for (size_t s = 0; s < x->slices; s++)
		owner[s] = 0;
}

const struct plan crumb_plan_async = {
        .name = "async",
        .alias = "dist_async",
        .brief = "rank 0 owns the weights, which every other rank gets when it is ready",
        .assign = assign,
        .serves = true,
        .tell = tell,
        .open = open,
};
