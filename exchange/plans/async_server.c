/* The server of plan async: it takes pushes, moves the weights, and answers with weights and work. With a
 * bound above 0 it gives up a worker that is silent for longer than the timeout, or has left, and the others
 * take over its work.
 *
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "exchange/parcel.h"
#include "exchange/plans/async_state.h"
#include "exchange/policy.h"
#include "exchange/seconds.h"
#include "exchange/team.h"

/* One pull. */
struct pull {
	struct crumb_exchange *x;
	struct slot *slot; /* [slice] */
	float *has;        /* by the worker; NULL: the pull is exact */
};

/* ---- open ----------------------------------------------------------------------------------- */

/* Opens the pulls of one worker. */
static int open_worker(struct crumb_exchange *x, size_t w, const struct crumb_exchange_config *config)
{
	struct worker_seen *worker = &x->async->worker[w];

	if (!(worker->slot = crumb_exchange_zeros(x, x->slices, sizeof *worker->slot)) ||
	    (config->down && !(worker->has = crumb_exchange_zeros(x, slices_total(x->slice, x->slices),
	                                                          sizeof *worker->has))))
		return CRUMB_EMEMORY;
	for (size_t s = 0; s < x->slices; s++) {
		struct slot *slot = &worker->slot[s];
		slot->codec = crumb_policy_choose_mean(config->down, x->slice[s].kind, x->slice[s].n);
		slot->size = crumb_bound(&slot->codec, x->slice[s].n);
	}
	return crumb_exchange_open_message(x, &worker->pull, x->share, worker->slot, 0, 1, 0);
}

int crumb_async_open_server(struct crumb_exchange *x, const struct crumb_exchange_config *config)
{
	struct async *a = x->async;
	int error = 0;

	a->workers = x->ranks - x->servers;
	a->worker = crumb_exchange_zeros(x, a->workers, sizeof *a->worker);
	a->weight = crumb_exchange_zeros(x, x->learners, sizeof *a->weight);
	if (!a->worker || !a->weight)
		return CRUMB_EMEMORY;
	for (size_t w = 0; w < a->workers && x->servers && !error; w++)
		error = open_worker(x, w, config);
	for (unsigned k = 0; x->servers && k < x->net->losses; k++) {
		a->worker[x->net->lost[k] - x->servers].gone = true;
		a->expected[x->net->lost[k]] = true;
	}
	return error;
}

crumb_packer *crumb_async_packer(struct crumb_exchange *x, size_t worker, size_t s)
{
	const struct async *a = x->async;

	return a && worker < a->workers && a->worker[worker].has ? a->worker[worker].slot[s].packer : NULL;
}

/* ---- workers that are waited for ------------------------------------------------------------ */

/* Returns true if all workers that were not given up wait for an answer. */
static bool all_here(const struct async *a)
{
	size_t w = 0;

	while (w < a->workers && (a->worker[w].here || a->worker[w].gone))
		w++;
	return w == a->workers;
}

/* Goes on without a worker. A transport may still read what goes to it, so the others get other buffers. */
static int give_up(struct crumb_exchange *x, size_t w)
{
	struct async *a = x->async;

	a->worker[w].gone = true;
	a->told = (struct buffer){0};
	x->net->lost[x->net->losses++] = rank_of(x, w);
	const int error =
	        crumb_exchange_open_message(x, x->messages.down, x->share, x->down.slot, x->learners, 1, 0);
	return error ? crumb_async_lose(x, error, "out of memory") : 0;
}

/* Returns true if the worker is waited for, and has been silent for longer than the timeout. */
static bool is_silent(const struct crumb_exchange *x, size_t w, double now)
{
	const struct worker_seen *worker = &x->async->worker[w];

	return x->async->expected[rank_of(x, w)] && !worker->gone && x->net->timeout > 0 &&
	       now >= worker->since + x->net->timeout;
}

/* Names the workers that are silent, which ends the run. */
static int name_silent(struct crumb_exchange *x, double now)
{
	char silent[100] = "", text[160];
	unsigned count = 0;

	for (size_t w = 0; w < x->async->workers; w++) {
		const size_t at = strlen(silent);
		if (!is_silent(x, w, now))
			continue;
		if (at + 16 < sizeof silent)
			snprintf(silent + at, sizeof silent - at, "%s%u", count ? ", " : "", rank_of(x, w));
		count++;
	}
	snprintf(text, sizeof text, "nothing from rank%s %s within %g s", count > 1 ? "s" : "", silent,
	         x->net->timeout);
	return crumb_async_lose(x, CRUMB_EPEER, text);
}

/* Returns true if the others can go on without a worker: not in lock step, nor if there are none. */
static bool can_miss(const struct async *a, size_t w)
{
	size_t others = 0;

	for (size_t v = 0; v < a->workers; v++)
		others += v != w && !a->worker[v].gone;
	return a->bound > 0 && others > 0;
}

/* Gives up those that are silent, if the others can go on. */
static int miss_silent(struct crumb_exchange *x)
{
	const double now = crumb_seconds();
	int error = 0;

	for (size_t w = 0; w < x->async->workers && !error; w++)
		if (is_silent(x, w, now))
			error = can_miss(x->async, w) ? give_up(x, w) : name_silent(x, now);
	return error;
}

/* Tells workers that wait for others that the server is alive. */
static int soothe(struct crumb_exchange *x)
{
	struct async *a = x->async;
	const double now = crumb_seconds();
	int error = 0;

	for (size_t w = 0; w < a->workers && !error && x->net->timeout > 0; w++) {
		struct worker_seen *worker = &a->worker[w];
		if (!worker->here || worker->gone || now < worker->heard + x->net->timeout / 4)
			continue;
		worker->heard = now;
		error = crumb_async_send(x, rank_of(x, w), (crumb_span){NULL, 0});
	}
	return error;
}

/* Tells a worker that was given up, and is silent no more, that it can go. */
static int refuse_late(struct crumb_exchange *x, unsigned rank)
{
	struct async *a = x->async;
	struct outgoing message = {(uint8_t *)&a->refusal, 0, sizeof a->refusal};
	struct message_head head = x->head;

	head.phase = MESSAGE_REFUSAL;
	head.error = CRUMB_EPEER;
	crumb_message_seal(&head, &message);
	a->expected[rank] = false;
	return crumb_async_send(x, rank, (crumb_span){message.data, message.len});
}

/* Returns until when to wait for a message at most. */
static double deadline_of(const struct crumb_exchange *x)
{
	const struct async *a = x->async;
	double deadline = INFINITY;

	for (size_t w = 0; w < a->workers && x->net->timeout > 0; w++) {
		const struct worker_seen *worker = &a->worker[w];
		if (worker->gone)
			continue;
		if (worker->here)
			deadline = fmin(deadline, worker->heard + x->net->timeout / 4);
		else if (a->expected[rank_of(x, w)])
			deadline = fmin(deadline, worker->since + x->net->timeout);
	}
	return deadline;
}

/* Waits for a message of a worker. *w is `workers` if there is none, because another one was given up, say.
 */
static int await(struct crumb_exchange *x, size_t *w)
{
	struct async *a = x->async;
	unsigned from;
	int error = soothe(x);

	*w = a->workers;
	if (error)
		return error;
	error = crumb_async_receive(x, deadline_of(x), &from);
	if (from == x->ranks)
		return error ? error : miss_silent(x);
	if (a->worker[from - x->servers].gone) {
		a->expected[from] = false;
		return error ? 0 : refuse_late(x, from);
	}
	if (error) { /* it has left */
		a->expected[from] = false;
		const size_t leaver = from - x->servers;
		return can_miss(a, leaver) ? give_up(x, leaver) : crumb_async_lose(x, error, x->net->why);
	}
	*w = from - x->servers;
	a->worker[*w].since = a->worker[*w].heard = crumb_seconds();
	return 0;
}

/* ---- what comes ----------------------------------------------------------------------------- */

static void limit_task(void *arg, size_t s, unsigned thread)
{
	const struct step *step = arg;
	const struct crumb_slice *slice = &step->x->slice[s];

	(void)thread;
	crumb_average_limit(step->mean + slice->at, slice->n);
}

/* Counts the staleness of a push that is about to be taken. */
static void count_staleness(struct crumb_exchange *x, const struct worker_seen *worker)
{
	const uint64_t stale = x->async->updates - worker->version, last = CRUMB_STALENESS_BINS - 1;

	x->stats.staleness[stale < last ? stale : last]++;
}

/* Finds the frames of the pushes that are not taken yet, in learner order, and their weights. Returns how
 * many learners' there are, or an error. */
static int64_t find_frames(struct crumb_exchange *x, float *share)
{
	struct async *a = x->async;
	size_t all = 0, at = 0;

	*share = 0;
	for (size_t w = 0; w < a->workers; w++)
		all += a->worker[w].good ? a->worker[w].work.count : 0;
	for (size_t w = 0; w < a->workers; w++) {
		struct worker_seen *worker = &a->worker[w];
		const size_t count = worker->work.count;
		if (!worker->good)
			continue;
		const int error =
		        crumb_parcel_find(x, rank_of(x, w), x->share, count, x->frame + at, all, NULL);
		if (error)
			return error;
		for (size_t k = 0; k < count; k++, at++) {
			a->weight[at] = a->epoch->weight[(worker->work.first + k) % x->learners];
			*share += a->weight[at];
		}
		count_staleness(x, worker);
		worker->good = false;
	}
	return (int64_t)all;
}

/* Moves the weights by the pushes that are not taken yet: by the mean over their parts. */
static int take(struct step *step)
{
	struct crumb_exchange *x = step->x;
	struct async *a = x->async;
	float share;
	const int64_t frames = find_frames(x, &share);

	if (frames <= 0)
		return (int)frames;
	const bool whole = (size_t)frames == x->learners; /* a step, whose weights are what they are */
	for (int64_t f = 0; f < frames && !whole; f++)
		a->weight[f] = share > 0 ? a->weight[f] / share : 0;
	const struct decode_job job = {(size_t)frames, x->frame, a->weight, 0};
	step->mean = a->epoch->mean;
	int error = crumb_average_slices(step, x->by_length, x->slices, &job);
	if (!error) {
		crumb_team_run(x->team, limit_task, step, x->slices);
		error = a->epoch->move(a->epoch->arg, whole ? 1 : share, a->taken);
		a->updates++;
	}
	crumb_step_lap(x, &x->stats.unpack_seconds);
	return error;
}

/* Takes in a worker's push, which lies in x->messages.in. */
static int arrive(struct step *step, size_t w)
{
	struct crumb_exchange *x = step->x;
	struct async *a = x->async;
	struct worker_seen *worker = &a->worker[w];
	const struct message_head mine = crumb_async_push_head(step, worker->work);
	const int error = crumb_async_check(x, &mine, rank_of(x, w));

	if (error && error != CRUMB_ENONFINITE)
		return error;
	if (error)
		x->why[0] = 0; /* the worker's part is left out */
	worker->here = true;
	worker->good = !error;
	worker->pushes++;
	a->expected[rank_of(x, w)] = false;
	if (a->bound == 0 && !all_here(a))
		return 0;
	const int failed = take(step);
	for (size_t v = 0; v < a->workers; v++)
		a->taken += a->bound == 0 || v == w ? a->worker[v].work.count : 0;
	return failed;
}

/* ---- what goes ------------------------------------------------------------------------------ */

/* Returns from where the next work is taken: what a worker had when it was given up, or the rest of the
 * epoch; NULL if nothing is left. */
static struct async_work *next_work(struct async *a)
{
	for (size_t w = 0; w < a->workers; w++)
		if (a->worker[w].gone && a->worker[w].work.count)
			return &a->worker[w].work;
	return a->rest.count ? &a->rest : NULL;
}

/* Takes the first parts, at most so many. */
static struct async_work take_parts(struct async_work *from, uint64_t most)
{
	const struct async_work work = {from->first, from->count < most ? from->count : most};

	from->first += work.count;
	from->count -= work.count;
	return work;
}

/* Packs a slice of the weights, or of how they differ from the worker's. What the packer owes is in that
 * difference already. */
static void pack_task(void *arg, size_t i, unsigned thread)
{
	const struct pull *pull = arg;
	const struct crumb_exchange *x = pull->x;
	const struct crumb_slice *slice = &x->slice[x->by_length[i]];
	struct slot *slot = &pull->slot[x->by_length[i]];
	const float *param = x->async->epoch->param + slice->at, *value = param;
	float *has = pull->has ? pull->has + slice->at : NULL;

	(void)thread;
	if (has) {
		const float *owed = crumb_packer_residual(slot->packer);
		float *difference = x->async->epoch->mean + slice->at;
		for (size_t k = 0; k < slice->n; k++)
			difference[k] = param[k] - has[k] - (owed ? owed[k] : 0);
		value = difference;
	}
	slot->length = crumb_pack(slot->packer, value, slice->n, CRUMB_F32, 0, slot->data, slot->size);
	if (has && slot->length >= 0)
		slot->length = crumb_unpack_add(slot->data, (size_t)slot->length, 1, has, slice->n);
}

/* Packs a pull and puts its head, with the next work, before it. */
static int pack(const struct step *step, const struct pull *pull, struct async_work work,
                struct outgoing *message)
{
	struct crumb_exchange *x = pull->x;
	struct message_head head = crumb_async_pull_head(step);

	crumb_team_run(x->team, pack_task, (void *)pull, x->slices);
	for (size_t s = 0; s < x->slices; s++)
		if (pull->slot[s].length < 0)
			return crumb_step_fail(x, CRUMB_EFRAME, "the weights of slice %zu cannot be sent: %s",
			                       s, crumb_strerror((int)pull->slot[s].length));
	crumb_parcel_join(x, x->share, pull->slot, 1, message);
	head.next = work.first;
	head.count = work.count;
	crumb_message_seal(&head, message);
	crumb_step_lap(x, &x->stats.pack_seconds);
	return 0;
}

/* Answers a worker with a pull that is packed, and its next work. */
static int answer(struct crumb_exchange *x, size_t w, struct async_work work, const struct outgoing *message)
{
	struct async *a = x->async;
	struct worker_seen *worker = &a->worker[w];
	const double now = crumb_seconds();

	worker->work = work;
	worker->version = a->updates;
	worker->here = false;
	x->stats.held_seconds += now - worker->since;
	worker->since = now;
	if (!x->servers)
		return 0;
	a->expected[rank_of(x, w)] = work.count > 0;
	return crumb_async_send(x, rank_of(x, w), (crumb_span){message->data, message->len});
}

/* Ends the epoch: all have pushed, and get the same weights. */
static int finish(const struct step *step)
{
	struct crumb_exchange *x = step->x;
	struct async *a = x->async;
	const struct async_work none = {a->epoch->parts, 0};
	int error = 0;

	a->over = true;
	if (x->servers)
		error = pack(step, &(struct pull){x, x->down.slot, NULL}, none, x->messages.down);
	for (size_t w = 0; w < a->workers && !error; w++)
		error = a->worker[w].gone ? 0 : answer(x, w, none, x->messages.down);
	return error;
}

/* Answers the workers that need not wait. */
static int release(const struct step *step)
{
	struct crumb_exchange *x = step->x;
	struct async *a = x->async;
	uint64_t least = UINT64_MAX;
	int error = 0;

	if (!next_work(a))
		return all_here(a) ? finish(step) : 0;
	for (size_t w = 0; w < a->workers; w++)
		if (!a->worker[w].gone && a->worker[w].pushes < least)
			least = a->worker[w].pushes;
	for (size_t w = 0; w < a->workers && !error; w++) {
		struct worker_seen *worker = &a->worker[w];
		const uint64_t ahead = worker->pushes - least;
		struct async_work *from = next_work(a);
		if (!worker->here || worker->gone || ahead > a->bound || !from)
			continue;
		const struct async_work work = take_parts(from, learners_of(x, w));
		const struct pull pull = {x, worker->slot, worker->has};
		x->stats.ahead = ahead > x->stats.ahead ? ahead : x->stats.ahead;
		error = x->servers ? pack(step, &pull, work, &worker->pull) : 0;
		error = error ? error : answer(x, w, work, &worker->pull);
	}
	return error;
}

int crumb_async_take_push(struct step *step, size_t worker)
{
	const int error = arrive(step, worker);

	return error ? error : release(step);
}

/* ---- an epoch ------------------------------------------------------------------------------- */

/* Gives a worker's pulls packers without a residual, since it has all of the weights. */
static void begin_pulls(struct crumb_exchange *x, struct worker_seen *worker)
{
	const struct async *a = x->async;
	const size_t number = x->learners + 1 + (size_t)(worker - a->worker);

	memcpy(worker->has, a->epoch->param, slices_total(x->slice, x->slices) * sizeof *worker->has);
	for (size_t s = 0; s < x->slices; s++)
		crumb_packer_init(worker->slot[s].packer, &worker->slot[s].codec, x->slice[s].n,
		                  x->slice[s].run,
		                  crumb_exchange_seed(crumb_message_mix(a->seed, a->epoch->step), number, s));
}

void crumb_async_begin_server(struct crumb_exchange *x)
{
	struct async *a = x->async;
	const uint64_t parts = a->epoch->parts, given = parts < x->learners ? parts : x->learners;

	a->rest = (struct async_work){given, parts - given};
	a->taken = a->updates = 0;
	a->over = false;
	for (size_t w = 0; w < a->workers; w++) {
		struct worker_seen *worker = &a->worker[w];
		worker->work = (struct async_work){rank_first(x, rank_of(x, w)), learners_of(x, w)};
		worker->pushes = worker->version = 0;
		worker->since = worker->heard = crumb_seconds();
		worker->here = worker->good = false;
		a->expected[rank_of(x, w)] = x->servers && (!worker->gone || a->expected[rank_of(x, w)]);
		if (worker->has && !worker->gone)
			begin_pulls(x, worker);
	}
}

int crumb_async_serve(struct crumb_exchange *x)
{
	struct async *a = x->async;
	struct step step = crumb_step_begin(x, NULL, a->epoch->weight, NULL);
	int error = x->failed;

	while (!error && !a->over) {
		size_t w;
		x->step = a->epoch->step + a->taken / x->learners;
		error = await(x, &w);
		if (!error)
			error = w < a->workers ? crumb_async_take_push(&step, w) : release(&step);
		crumb_step_lap(x, &x->stats.swap_seconds);
	}
	if (error && !x->failed)
		crumb_step_farewell(x);
	if (error)
		x->failed = error;
	x->step = a->epoch->step + a->epoch->parts / x->learners;
	return error;
}

/* ---- tell ----------------------------------------------------------------------------------- */

/* Hears what one worker's learners have to tell. */
static int hear(struct crumb_exchange *x, size_t w, const struct message_head *mine, size_t bytes, void *all)
{
	const unsigned rank = rank_of(x, w);
	const int error = crumb_async_check(x, mine, rank);

	if (error)
		return error;
	x->async->worker[w].here = true;
	x->async->expected[rank] = false;
	uint8_t *told = bytes ? (uint8_t *)all + rank_first(x, rank) * bytes : NULL;
	return crumb_async_read_told(x, rank, told, learners_of(x, w) * bytes);
}

/* Gives every worker what all have told. */
static int spread(struct crumb_exchange *x, struct message_head *head, size_t bytes, const void *all)
{
	struct async *a = x->async;
	const size_t size = sizeof *head + x->learners * bytes;
	int error = 0;

	if (a->told.size < size)
		a->told = (struct buffer){crumb_exchange_take(x, size), size};
	if (!a->told.data)
		return crumb_step_fail(x, CRUMB_EMEMORY, "out of memory");
	head->next = x->net->losses;
	const crumb_span message = crumb_async_write_told(head, a->told.data, all, x->learners * bytes);
	for (size_t w = 0; w < a->workers && !error; w++) {
		a->worker[w].here = false;
		error = a->worker[w].gone ? 0 : crumb_async_send(x, rank_of(x, w), message);
	}
	return error;
}

int crumb_async_hear_all(struct crumb_exchange *x, size_t bytes, void *all)
{
	struct async *a = x->async;
	struct message_head head = x->head;
	int error = 0;

	head.phase = MESSAGE_TELL;
	head.step = x->step;
	for (size_t w = 0; w < a->workers; w++) {
		if (a->worker[w].gone)
			continue;
		a->expected[rank_of(x, w)] = true;
		a->worker[w].since = crumb_seconds();
	}
	while (!error && !all_here(a)) {
		size_t w;
		error = await(x, &w);
		if (!error && w < a->workers)
			error = hear(x, w, &head, bytes, all);
	}
	error = error ? error : spread(x, &head, bytes, all);
	if (error)
		crumb_step_farewell(x);
	return error;
}
