/* A step: check, vote, and then the plan's part. Every swap takes place whatever fails, so that nobody waits
 * in vain; a rank that has failed sends a head that says so, and the heads of the last swap decide what every
 * rank returns, unless one rank alone finds a damaged frame after it (exchange.h).
 *
 * SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/plan.h"
#include "exchange/seconds.h"
#include "exchange/step.h"
#include "exchange/team.h"
#include "exchange/transport.h"

enum { SENT_EVERY = 10 }; /* steps between counts of the sent elements */

void crumb_step_lap(struct crumb_exchange *x, double *seconds)
{
	const double now = crumb_seconds();

	*seconds += now - x->clock;
	x->clock = now;
}

int crumb_step_fail(struct crumb_exchange *x, int error, const char *format, ...)
{
	va_list args;

	if (x->why[0])
		return error;
	const int prefix =
	        snprintf(x->why, sizeof x->why, "step %llu: rank %u: ", (unsigned long long)x->step,
	                 crumb_exchange_name(x, x->rank));
	va_start(args, format);
	vsnprintf(x->why + prefix, sizeof x->why - (size_t)prefix, format, args);
	va_end(args);
	return error;
}

void crumb_step_farewell(struct crumb_exchange *x)
{
	if (x->why[0])
		snprintf(x->net->why, sizeof x->net->why, "%.*s", (int)sizeof x->net->why - 1, x->why);
	x->net->leave(x->net);
}

/* ---- check ---------------------------------------------------------------------------------- */

/* Returns the floats of the vote, [slice][own learner][due]: a learner sends the `due` floats that its codec
 * has to agree on. */
static float *own_floats(const struct crumb_exchange *x)
{
	return (float *)(x->messages.vote.data + sizeof(struct message_head));
}

int crumb_step_lengths(const struct step *step, size_t learners)
{
	const struct crumb_exchange *x = step->x;
	const size_t first = step->segment->first, end = first + step->segment->count;

	for (size_t l = 0; l < learners; l++)
		for (size_t s = first; s < end; s++)
			if (x->up[l * x->slices + s].length < 0)
				return (int)x->up[l * x->slices + s].length;
	return 0;
}

static void check_task(void *arg, size_t i, unsigned thread)
{
	const struct step *step = arg;
	const struct crumb_exchange *x = step->x;
	const size_t s = step->segment->by_length[i / step->own], l = i % step->own, n = x->slice[s].n;
	const float *grad = step->grad[l] + x->slice[s].at;
	const struct slice_state *state = &x->slice_state[s];
	const size_t before = x->own * state->due_before + l * state->due, gradients = 1 + x->extras;
	const size_t due = state->due / gradients;
	float *stat = own_floats(x) + before;
	struct slot *slot = &x->up[l * x->slices + s];

	(void)thread;
	for (size_t k = 0; k < x->extras && due; k++, stat += due)
		memcpy(stat, x->extra + (k * x->own * step->due + before) / gradients, due * sizeof *stat);
	if (due) /* crumb_measure checks, too */
		slot->length = crumb_measure(slot->packer, grad, n, CRUMB_F32, stat);
	else
		slot->length = crumb_finite(grad, n, CRUMB_F32);
}

int crumb_step_check(struct step *step)
{
	struct crumb_exchange *x = step->x;
	const size_t first = step->segment->first, end = first + step->segment->count;

	for (size_t s = first; s < end && x->own; s++) { /* a rank without learners has no packers */
		x->slice_state[s].due = crumb_agree_count(x->up[s].packer) * (1 + x->extras);
		x->slice_state[s].due_before = step->due;
		step->due += x->slice_state[s].due;
	}
	if (!crumb_swap_reserve(&x->messages.vote,
	                        sizeof(struct message_head) + x->own * step->due * sizeof(float)) ||
	    !crumb_swap_reserve(&x->agreed, x->learners * step->due * sizeof(float)))
		return CRUMB_EMEMORY;
	crumb_team_run(step->team, check_task, step, step->own * step->segment->count);
	const int error = crumb_step_lengths(step, step->own);
	return error ? error : x->extra_error;
}

/* ---- further gradients ---------------------------------------------------------------------- */

/* Returns the floats that a learner shares of a gradient. */
static size_t floats_due(const struct crumb_exchange *x)
{
	size_t due = 0;

	for (size_t s = 0; s < x->slices && x->own; s++)
		due += crumb_agree_count(x->up[s].packer);
	return due;
}

bool crumb_exchange_due(const struct crumb_exchange *x) { return !x->failed && floats_due(x) > 0; }

void crumb_exchange_measure(struct crumb_exchange *x, const float *const *grad)
{
	const size_t all = x->own * floats_due(x);
	float *extra = all ? realloc(x->extra, (x->extras + 1) * all * sizeof *extra) : NULL;

	if (!extra) {
		x->extra_error = all ? CRUMB_EMEMORY : x->extra_error;
		return;
	}
	x->extra = extra;
	float *stat = extra + x->extras++ * all;
	for (size_t i = 0; i < x->slices * x->own; i++) {
		const size_t s = i / x->own, l = i % x->own;
		crumb_packer *packer = x->up[l * x->slices + s].packer;
		const size_t due = crumb_agree_count(packer);
		if (due && crumb_measure(packer, grad[l] + x->slice[s].at, x->slice[s].n, CRUMB_F32, stat))
			memset(stat, 0, due * sizeof *stat);
		stat += due;
	}
}

/* ---- vote ----------------------------------------------------------------------------------- */

/* Swaps the vote buffer, which holds `bytes` bytes for each own learner after its head. */
static int swap_bytes(struct step *step, enum message_phase phase, int error, size_t bytes)
{
	const size_t body = step->x->own * bytes;
	struct outgoing message = {step->x->messages.vote.data, body, sizeof(struct message_head) + body};

	return crumb_swap(step, phase, error, &message, 1);
}

/* Returns what swap_bytes brought from rank r; NULL if it is damaged. */
static const uint8_t *bytes_from(const struct crumb_exchange *x, unsigned r, size_t bytes)
{
	const size_t body = rank_learners(x, r) * bytes;
	const crumb_span in = x->messages.in[r];

	return in.len == sizeof(struct message_head) + body ? crumb_message_body(in, body) : NULL;
}

/* Copies the floats of all ranks to x->agreed, in learner order. */
static int gather_floats(struct step *step)
{
	struct crumb_exchange *x = step->x;
	const size_t begin = step->segment->first, end = begin + step->segment->count;

	for (unsigned r = 0; r < x->ranks; r++) {
		const size_t first = rank_first(x, r), count = rank_learners(x, r);
		const uint8_t *floats = bytes_from(x, r, step->due * sizeof(float));
		if (!floats)
			return crumb_swap_damaged(x, r);
		for (size_t s = begin; s < end && count && step->due; s++) {
			const size_t before = x->slice_state[s].due_before, due = x->slice_state[s].due;
			memcpy((float *)x->agreed.data + x->learners * before + first * due,
			       floats + count * before * sizeof(float), count * due * sizeof(float));
		}
	}
	return 0;
}

/* Tells everybody that this rank's gradients are finite, or the error, and what its learners measured. */
static int vote(struct step *step, int error)
{
	error = swap_bytes(step, MESSAGE_VOTE, error, step->due * sizeof(float));
	/* A rank without learners needs no floats, and has no packers that say how many there are. */
	if (error || !step->x->own)
		return error;
	return gather_floats(step);
}

/* ---- step ----------------------------------------------------------------------------------- */

void crumb_step_count(const struct step *step)
{
	struct crumb_exchange *x = step->x;
	const struct crumb_exchange *packing = crumb_exchange_packing(x);
	struct exchange_stats *stats = &x->stats;
	const size_t packed = packing == x ? step->own : packing ? packing->own : 0;

	stats->steps++;
	for (size_t s = 0; s < x->slices; s++) {
		const enum crumb_kind kind = x->slice[s].kind;
		stats->dense[kind] += step->own * x->slice[s].n * sizeof(float);
		stats->down[kind] += packing ? packing->down.frame[s].len : 0;
		for (size_t l = 0; l < packed; l++) {
			const struct slot *slot = &packing->up[l * x->slices + s];
			stats->bytes[kind] += (uint64_t)slot->length;
			stats->elements[kind] += step->count_sent ? x->slice[s].n : 0;
			stats->sent[kind] += step->count_sent ? slot->sent : 0;
		}
	}
}

struct step crumb_step_begin(struct crumb_exchange *x, const float *const *grad, const float *weight,
                             float *mean)
{
	struct step step = {.x = x,
	                    .grad = grad,
	                    .weight = weight,
	                    .mean = mean,
	                    .even = true,
	                    .own = x->own,
	                    .team = x->team,
	                    .segment = x->segment};

	if (!x->failed)
		x->why[0] = 0;
	if (!x->failed && x->messages.dead) /* since the last step had its mean */
		x->failed = crumb_step_fail(x, x->messages.dead, "%s", x->net->why);
	for (size_t l = 1; weight && l < x->learners; l++)
		step.even = step.even && weight[l] == weight[0];
	step.count_sent = !x->hosted && x->stats.steps % SENT_EVERY == 0; /* a host does not see it */
	step.head = x->head;
	step.head.step = x->step;
	step.head.weights = weight ? crumb_message_hash(0, weight, x->learners * sizeof *weight) : 0;
	x->clock = crumb_seconds();
	return step;
}

int crumb_step_segment(struct step *step, size_t i, int error)
{
	struct crumb_exchange *x = step->x;
	struct exchange_stats *stats = &x->stats;

	x->clock = crumb_seconds();
	step->segment = &x->segment[i];
	step->head.segment = (uint16_t)i;
	step->due = 0;
	error = x->failed ? x->failed : error;
	error = error ? error : crumb_step_check(step);
	crumb_step_lap(x, &stats->check_seconds);
	if (step->segment->votes)
		error = vote(step, error);
	crumb_step_lap(x, &stats->swap_seconds);
	if (!error)
		crumb_segment_keep(x, step->segment);
	crumb_step_lap(x, &stats->pack_seconds);
	error = x->plan->mean(x, step, error);
	crumb_swap_end(x);
	crumb_step_lap(x, &stats->swap_seconds);
	return error;
}

int crumb_step_end(struct step *step, int error)
{
	struct crumb_exchange *x = step->x;

	error = x->failed ? x->failed : error;
	crumb_reconfigure_end(step, error);
	if (!error) {
		crumb_step_count(step);
	} else if (error == CRUMB_ENONFINITE) {
		x->stats.skipped++;
		crumb_segments_restore(x);
	} else {
		x->failed = error;
	}
	x->extras = 0;
	x->extra_error = 0;
	x->packed = 0;
	x->step++;
	return error;
}

int crumb_exchange_step(struct crumb_exchange *x, const float *const *grad, const float *weight, float *mean)
{
	if (crumb_overlap_begun(x))
		return crumb_overlap_finish(x, grad, mean);
	struct step step = crumb_step_begin(x, grad, weight, mean);
	int error = x->failed ? x->failed : crumb_reconfigure_begin(&step);
	crumb_step_lap(x, &x->stats.check_seconds);
	for (size_t i = 0; i < x->segments; i++)
		error = crumb_step_segment(&step, i, error);
	return crumb_step_end(&step, error);
}

/* ---- tell ----------------------------------------------------------------------------------- */

int crumb_exchange_tell(struct crumb_exchange *x, const void *mine, size_t bytes, void *all)
{
	struct step step = crumb_step_begin(x, NULL, NULL, NULL);
	const size_t body = x->own * bytes;
	int error = x->failed;

	if (x->plan->tell && x->servers)
		return x->plan->tell(x, mine, bytes, all);
	if (!error && !crumb_swap_reserve(&x->messages.vote, sizeof(struct message_head) + body))
		error = CRUMB_EMEMORY;
	else if (!error && body)
		memcpy(x->messages.vote.data + sizeof(struct message_head), mine, body);
	error = swap_bytes(&step, MESSAGE_TELL, error, bytes);
	for (unsigned r = 0; r < x->ranks && !error; r++) {
		const size_t first = rank_first(x, r), count = rank_learners(x, r);
		const uint8_t *told = bytes_from(x, r, bytes);
		if (!told)
			error = crumb_swap_damaged(x, r);
		else if (count && bytes)
			memcpy((uint8_t *)all + first * bytes, told, count * bytes);
	}
	crumb_swap_end(x);
	x->failed = x->failed ? x->failed : error;
	return error;
}
