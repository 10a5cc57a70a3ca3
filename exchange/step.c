/* A step: check, vote, and then what the plan does. Every swap takes place whatever fails, so that nobody
 * waits in vain; a rank that has failed sends a head that says so, and the heads of the last swap decide what
 * every rank returns.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include "exchange/plan.h"
#include "exchange/exchange_state.h"
#include "exchange/seconds.h"
#include "exchange/team.h"

enum { SENT_EVERY = 10 };

void crumb_step_lap(struct crumb_exchange *x, double *seconds)
{
	const double now = crumb_seconds();

	*seconds += now - x->clock;
	x->clock = now;
}

/* ---- check ---------------------------------------------------------------------------------- */

static float *own_floats(const struct crumb_exchange *x)
{
	return (float *)(x->vote.data + sizeof(struct message_head));
}

static void check_task(void *arg, size_t i, unsigned thread)
{
	struct crumb_exchange *x = arg;
	const size_t s = x->longest[i / x->own], l = i % x->own;
	const struct column *column = &x->column[s];
	struct piece *piece = &x->piece[l * x->slices + s];
	const float *grad = x->grad[l] + x->slice[s].at;

	(void)thread;
	if (column->due) /* measuring checks, too */
		piece->length = crumb_measure(piece->packer, grad, x->slice[s].n, CRUMB_F32,
		                              own_floats(x) + x->own * column->due_before + l * column->due);
	else
		piece->length = crumb_finite(grad, x->slice[s].n, CRUMB_F32);
}

/* Are all gradients of this rank finite? Measures those whose codecs want to agree. */
static int check(struct crumb_exchange *x)
{
	x->due = 0;
	for (size_t s = 0; s < x->slices && x->own; s++) {
		x->column[s].due = crumb_agree_count(x->piece[s].packer);
		x->column[s].due_before = x->due;
		x->due += x->column[s].due;
	}
	if (!crumb_buffer_reserve(&x->vote, sizeof(struct message_head) + x->own * x->due * sizeof(float)) ||
	    !crumb_buffer_reserve(&x->agreed, x->learners * x->due * sizeof(float)))
		return CRUMB_EMEMORY;
	crumb_team_run(x->team, check_task, x, x->own * x->slices);
	for (size_t i = 0; i < x->own * x->slices; i++)
		if (x->piece[i].length < 0)
			return (int)x->piece[i].length;
	return 0;
}

/* ---- vote ----------------------------------------------------------------------------------- */

/* Brings everybody's floats into learner order. */
static int gather_floats(struct crumb_exchange *x)
{
	for (unsigned r = 0; r < x->ranks; r++) {
		const size_t first = crumb_rank_first(x, r), count = crumb_rank_first(x, r + 1) - first;
		const size_t body = count * x->due * sizeof(float);
		const uint8_t *floats = crumb_message_body(x->in[r], body);
		if (!floats || x->in[r].len != sizeof(struct message_head) + body)
			return crumb_swap_damaged(x, r);
		for (size_t s = 0; s < x->slices && body; s++) {
			const size_t before = x->column[s].due_before, due = x->column[s].due;
			memcpy((float *)x->agreed.data + x->learners * before + first * due,
			       floats + count * before * sizeof(float), count * due * sizeof(float));
		}
	}
	return 0;
}

/* Tells everybody that this rank's gradients are fine (or the error) and what its learners measured. */
static int vote(struct crumb_exchange *x, int error)
{
	const size_t body = x->own * x->due * sizeof(float);
	struct letter letter = {x->vote.data, body, sizeof(struct message_head) + body};
	const int refused = crumb_swap(x, MESSAGE_VOTE, error, &letter, 1);

	return refused || !x->own ? refused : gather_floats(x);
}

/* ---- step ----------------------------------------------------------------------------------- */

static void account(struct crumb_exchange *x)
{
	struct crumb_exchange_stats *stats = &x->stats;

	stats->steps++;
	for (size_t s = 0; s < x->slices; s++) {
		const enum crumb_kind kind = x->slice[s].kind;
		stats->dense[kind] += x->own * x->slice[s].n * sizeof(float);
		stats->down[kind] += x->descent[s].frame.len;
		for (size_t l = 0; l < x->own; l++) {
			const struct piece *piece = &x->piece[l * x->slices + s];
			stats->bytes[kind] += (uint64_t)piece->length;
			stats->elements[kind] += x->count_sent ? x->slice[s].n : 0;
			stats->sent[kind] += x->count_sent ? piece->sent : 0;
		}
	}
}

static void begin(struct crumb_exchange *x, const float *share)
{
	if (!x->failed)
		x->why[0] = 0;
	x->head.step = x->step;
	x->share = share;
	x->even = true;
	for (size_t l = 1; share && l < x->learners; l++)
		x->even = x->even && share[l] == share[0];
	x->head.shares = share ? crumb_message_hash(0, share, x->learners * sizeof *share) : 0;
}

int crumb_exchange_mean(struct crumb_exchange *x, const float *const *grad, const float *share, float *mean)
{
	struct crumb_exchange_stats *stats = &x->stats;
	double before = 0;

	begin(x, share);
	x->grad = grad;
	x->mean = mean;
	x->count_sent = stats->steps % SENT_EVERY == 0;
	crumb_step_lap(x, &before);
	int error = x->failed ? x->failed : crumb_change_begin(x);
	error = error ? error : check(x);
	crumb_step_lap(x, &stats->check_seconds);
	error = vote(x, error);
	crumb_step_lap(x, &stats->swap_seconds);
	error = x->plan->mean(x, error);
	crumb_swap_end(x);
	crumb_step_lap(x, &stats->swap_seconds);
	crumb_change_end(x, error);
	if (!error)
		account(x);
	else if (error == CRUMB_ENONFINITE)
		stats->skipped++;
	else
		x->failed = error;
	x->step++;
	return error;
}

int crumb_exchange_tell(struct crumb_exchange *x, const void *mine, size_t bytes, void *all)
{
	const size_t body = x->own * bytes;
	int error = 0;

	begin(x, NULL);
	if (!crumb_buffer_reserve(&x->vote, sizeof(struct message_head) + body))
		error = CRUMB_EMEMORY;
	else if (body)
		memcpy(x->vote.data + sizeof(struct message_head), mine, body);
	struct letter letter = {x->vote.data, body, sizeof(struct message_head) + body};
	error = crumb_swap(x, MESSAGE_TELL, x->failed ? x->failed : error, &letter, 1);
	for (unsigned r = 0; r < x->ranks && !error; r++) {
		const size_t first = crumb_rank_first(x, r),
		             its = (crumb_rank_first(x, r + 1) - first) * bytes;
		const uint8_t *told = crumb_message_body(x->in[r], its);
		if (!told || x->in[r].len != sizeof(struct message_head) + its)
			error = crumb_swap_damaged(x, r);
		else if (its)
			memcpy((uint8_t *)all + first * bytes, told, its);
	}
	crumb_swap_end(x);
	if (error)
		x->failed = error;
	return error;
}
