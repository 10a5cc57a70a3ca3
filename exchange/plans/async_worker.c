/* A worker of plan async: it packs and pushes gradients, and takes the weights that it pulls.
 *
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "exchange/parcel.h"
#include "exchange/plans/async_state.h"
#include "exchange/seconds.h"
#include "exchange/team.h"

/* ---- what the server says ------------------------------------------------------------------- */

/* Returns true if the server has given this rank up. */
static bool refused(const struct crumb_exchange *x)
{
	struct message_head its = {0};

	if (x->messages.in[0].len >= sizeof its)
		memcpy(&its, x->messages.in[0].data, sizeof its);
	return its.phase == MESSAGE_REFUSAL;
}

/* Waits for the server's message with this head, a quarter longer than the timeout: the server names a silent
 * worker first, and is heard of while it waits for one. */
static int hear_server(struct crumb_exchange *x, const struct message_head *mine)
{
	const double patience = 1.25 * x->net->timeout;
	char silent[64];
	unsigned from;
	int error;

	x->async->expected[0] = true;
	do
		error = crumb_async_receive(x, patience > 0 ? crumb_seconds() + patience : INFINITY, &from);
	while (!error && from == 0 && !x->messages.in[0].len);
	if (error)
		return crumb_async_lose(x, error, x->net->why);
	if (from == x->ranks) {
		snprintf(silent, sizeof silent, "nothing from rank 0 within %g s", patience);
		return crumb_async_lose(x, CRUMB_EPEER, silent);
	}
	if (!refused(x))
		return crumb_async_check(x, mine, 0);
	x->net->given_up = true;
	return crumb_async_lose(
	        x, CRUMB_EPEER,
	        "rank 0 has given this rank up, which was silent for too long; the others go on");
}

/* ---- push ----------------------------------------------------------------------------------- */

/* Packs this worker's gradients. Returns 0 or an error. */
static int prepare(struct step *step)
{
	struct crumb_exchange *x = step->x;

	int error = crumb_step_check(step);
	crumb_step_lap(x, &x->stats.check_seconds);
	error = error ? error : crumb_upload_pack(step);
	crumb_step_lap(x, &x->stats.pack_seconds);
	return error;
}

/* Sends the push to the server, or takes it at once if that is this rank. */
static int push(struct step *step, struct async_work *work, int error)
{
	struct crumb_exchange *x = step->x;
	struct outgoing *message = &x->messages.up[0];
	struct message_head head = crumb_async_push_head(step, *work);

	head.error = error;
	crumb_message_seal(&head, message);
	if (x->servers)
		return crumb_async_send(x, 0, (crumb_span){message->data, message->len});
	x->messages.in[0] = (crumb_span){message->data, message->len};
	const int failed = crumb_async_take_push(step, 0);
	*work = x->async->worker[0].work;
	return failed;
}

/* ---- pull ----------------------------------------------------------------------------------- */

/* One pull. */
struct pull {
	struct crumb_exchange *x;
	bool exact;
};

static void apply_task(void *arg, size_t i, unsigned thread)
{
	const struct pull *pull = arg;
	struct crumb_exchange *x = pull->x;
	const size_t s = x->by_length[i], n = x->slice[s].n;
	const crumb_span frame = x->down.frame[s];
	float *param = x->async->epoch->param + x->slice[s].at;

	(void)thread;
	if (pull->exact)
		memset(param, 0, n * sizeof *param);
	x->down.slot[s].length = crumb_unpack_add(frame.data, frame.len, 1, param, n);
}

/* Sets the weights by the pull that has come. */
static int apply(struct crumb_exchange *x, bool exact)
{
	struct pull pull = {x, exact};
	const int error = crumb_parcel_find(x, 0, x->share, 1, x->down.frame, 1, NULL);

	if (error)
		return error;
	crumb_team_run(x->team, apply_task, &pull, x->slices);
	for (size_t s = 0; s < x->slices; s++)
		if (x->down.slot[s].length != (int64_t)x->down.frame[s].len)
			return crumb_step_fail(x, CRUMB_EFRAME, "the weights of slice %zu are damaged", s);
	crumb_step_lap(x, &x->stats.unpack_seconds);
	return 0;
}

/* Waits for the server's pull, and writes the next work. */
static int pull_weights(const struct step *step, struct async_work *work)
{
	struct crumb_exchange *x = step->x;
	const struct async *a = x->async;
	const struct message_head mine = crumb_async_pull_head(step);
	struct message_head its;
	const int error = hear_server(x, &mine);

	if (error)
		return error;
	memcpy(&its, x->messages.in[0].data, sizeof its);
	if (its.next > a->epoch->parts || its.count > a->epoch->parts - its.next || its.count > x->own)
		return crumb_swap_damaged(x, 0);
	*work = (struct async_work){its.next, its.count};
	return apply(x, a->exact || !its.count);
}

/* ---- a step --------------------------------------------------------------------------------- */

int crumb_async_swap(struct crumb_exchange *x, const float *const *grad, struct async_work *work)
{
	struct step step = crumb_step_begin(x, grad, x->async->epoch->weight, NULL);

	x->step = x->async->epoch->step + work->first / x->learners;
	step.own = work->count;
	const int own = x->failed ? x->failed : prepare(&step);
	int error = push(&step, work, own);
	if (!error && x->servers)
		error = pull_weights(&step, work);
	if (!own && !error)
		crumb_step_count(&step);
	error = own && own != CRUMB_ENONFINITE ? own : error;
	if (error)
		x->failed = error;
	if (!work->count)
		x->step = x->async->epoch->step + x->async->epoch->parts / x->learners;
	return error ? error : own;
}

int crumb_async_tell_server(struct crumb_exchange *x, const void *mine, size_t bytes, void *all)
{
	struct message_head head = x->head, its;

	if (!crumb_swap_reserve(&x->messages.vote, sizeof head + x->own * bytes))
		return crumb_step_fail(x, CRUMB_EMEMORY, "out of memory");
	head.phase = MESSAGE_TELL;
	head.step = x->step;
	int error = crumb_async_send(
	        x, 0, crumb_async_write_told(&head, x->messages.vote.data, mine, x->own * bytes));
	error = error ? error : hear_server(x, &head);
	error = error ? error : crumb_async_read_told(x, 0, all, x->learners * bytes);
	if (error)
		return error;
	memcpy(&its, x->messages.in[0].data, sizeof its);
	x->net->losses = (unsigned)its.next;
	return 0;
}
