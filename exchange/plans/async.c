/* The protocol of plan async. A worker and the server take turns: a push, which says that the pull before it
 * has been read, and a pull, which says so of the push. So one buffer in each direction is enough, and over a
 * transport that shares memory nobody reads what is being written.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/plans/async.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/parcel.h"
#include "exchange/plan.h"
#include "exchange/policy.h"
#include "exchange/seconds.h"
#include "exchange/step.h"
#include "exchange/team.h"
#include "exchange/transport.h"
#include "exchange/why.h"

/* A worker, as the server knows it. */
struct worker_seen {
	struct async_work work; /* that it has, or has pushed */
	uint64_t pushes;        /* in this epoch */
	uint64_t version;       /* updates of the weights before its last pull */
	double since;           /* when it got its work, or pushed */
	bool here;              /* it has pushed and waits for an answer */
	bool good;              /* its push is not yet taken, and finite */
	struct slot *slot;      /* [slice]: of its pulls */
	struct outgoing pull;
	float *has; /* its weights; NULL: pulls are exact */
};

/* One pull. */
struct pull {
	struct crumb_exchange *x;
	struct slot *slot; /* [slice] */
	float *has;        /* by the worker; NULL: the pull is exact */
};

struct async {
	uint64_t bound, seed;
	const struct async_epoch *epoch;
	uint64_t given, taken, updates; /* parts, parts, and moves of the weights in this epoch */
	bool over;
	/* on the server */
	struct worker_seen *worker;
	size_t workers;
	bool *expected; /* [rank]: of whom there is no push yet */
	float *weight;  /* [learner]: of the frames that are averaged */
	struct message_head farewell;
	bool exact; /* pulls are */
};

static unsigned rank_of(const struct crumb_exchange *x, size_t worker)
{
	return (unsigned)worker + x->servers;
}

static size_t learners_of(const struct crumb_exchange *x, size_t worker)
{
	return rank_first(x, rank_of(x, worker) + 1) - rank_first(x, rank_of(x, worker));
}

static size_t total(const struct crumb_exchange *x)
{
	return x->slices ? x->slice[x->slices - 1].at + x->slice[x->slices - 1].n : 0;
}

/* ---- open and close ------------------------------------------------------------------------- */

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

static void *zeros(struct crumb_exchange *x, size_t bytes)
{
	void *memory = crumb_exchange_take(x, bytes);

	return memory ? memset(memory, 0, bytes) : NULL;
}

/* Opens the pulls of one worker. */
static int open_worker(struct crumb_exchange *x, size_t w, const struct crumb_exchange_config *config)
{
	struct worker_seen *worker = &x->async->worker[w];

	if (!(worker->slot = zeros(x, x->slices * sizeof *worker->slot)) ||
	    (config->down && !(worker->has = zeros(x, total(x) * sizeof *worker->has))))
		return CRUMB_EMEMORY;
	for (size_t s = 0; s < x->slices; s++) {
		struct slot *slot = &worker->slot[s];
		slot->codec = crumb_policy_choose_mean(config->down, x->slice[s].kind, x->slice[s].n);
		slot->size = crumb_bound(&slot->codec, x->slice[s].n);
	}
	return crumb_exchange_open_message(x, &worker->pull, x->share, worker->slot, 0, 1, 0);
}

static int open_server(struct crumb_exchange *x, const struct crumb_exchange_config *config)
{
	struct async *a = x->async;
	int error = 0;

	a->workers = x->ranks - x->servers;
	a->worker = zeros(x, a->workers * sizeof *a->worker);
	a->expected = zeros(x, x->ranks * sizeof *a->expected);
	a->weight = zeros(x, x->learners * sizeof *a->weight);
	if (!a->worker || !a->expected || !a->weight)
		return CRUMB_EMEMORY;
	for (size_t w = 0; w < a->workers && x->servers && !error; w++)
		error = open_worker(x, w, config);
	return error;
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
	if (!(x->async = zeros(x, sizeof *x->async)))
		return refuse(why, cap, CRUMB_EMEMORY, "no memory for an exchange");
	x->async->bound = config->staleness;
	x->async->seed = config->seed;
	x->async->exact = !config->down;
	x->head.setup =
	        crumb_message_mix(crumb_message_mix(x->head.setup, config->staleness), x->async->exact);
	error = x->rank == 0 ? open_server(x, config)
	        : (x->async->expected = zeros(x, x->ranks * sizeof *x->async->expected)) ? 0
	                                                                                 : CRUMB_EMEMORY;
	return error ? refuse(why, cap, error, "no memory for an exchange") : 0;
}

crumb_packer *crumb_async_packer(struct crumb_exchange *x, size_t worker, size_t s)
{
	const struct async *a = x->async;

	return a && worker < a->workers && a->worker[worker].has ? a->worker[worker].slot[s].packer : NULL;
}

/* ---- messages ------------------------------------------------------------------------------- */

static int lose(struct crumb_exchange *x, int error, const char *what)
{
	x->messages.dead = error;
	return crumb_step_fail(x, error, "%s", what);
}

static int send(struct crumb_exchange *x, unsigned to, crumb_span message)
{
	const int error = x->messages.dead ? x->messages.dead : x->net->send(x->net, to, message);

	if (error)
		return lose(x, error, x->net->why);
	x->stats.link_messages++;
	x->stats.link_out += message.len;
	return 0;
}

/* Receives a message into x->messages.in[*from]; *from is `ranks` if none has come in time. */
static int receive(struct crumb_exchange *x, double deadline, unsigned *from)
{
	crumb_span message;
	const int error = x->net->receive(x->net, x->async->expected, deadline, from, &message);

	if (error)
		return lose(x, error, x->net->why);
	if (*from < x->ranks) {
		x->messages.in[*from] = message;
		x->stats.link_in += message.len;
	}
	return 0;
}

/* Returns the head of a push of some work. */
static struct message_head push_head(const struct step *step, struct async_work work)
{
	struct message_head head = step->head;

	head.phase = MESSAGE_PUSH;
	head.step = step->x->async->epoch->step + work.first / step->x->learners;
	return head;
}

/* Returns the head of a pull, which is the same for all workers of an epoch but for what they do next. */
static struct message_head pull_head(const struct step *step)
{
	struct message_head head = step->head;

	head.phase = MESSAGE_PULL;
	head.step = step->x->async->epoch->step;
	return head;
}

static int check_message(struct crumb_exchange *x, const struct message_head *mine, unsigned from)
{
	return crumb_message_check(mine, x->messages.in[from], from, x->why, x->why[0] ? 0 : sizeof x->why);
}

/* ---- the server: what comes ----------------------------------------------------------------- */

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
	int error = crumb_average_slices(step, x->longest, x->slices, &job);
	if (!error) {
		crumb_team_run(x->team, limit_task, step, x->slices);
		error = a->epoch->move(a->epoch->arg, whole ? 1 : share, a->taken);
		a->updates++;
	}
	crumb_step_lap(x, &x->stats.unpack_seconds);
	return error;
}

/* Returns true if every worker has pushed. */
static bool all_here(const struct async *a)
{
	size_t w = 0;

	while (w < a->workers && a->worker[w].here)
		w++;
	return w == a->workers;
}

/* Takes in a worker's push, which lies in x->messages.in. */
static int arrive(struct step *step, size_t w)
{
	struct crumb_exchange *x = step->x;
	struct async *a = x->async;
	struct worker_seen *worker = &a->worker[w];
	const struct message_head mine = push_head(step, worker->work);
	const int error = check_message(x, &mine, rank_of(x, w));

	if (error && error != CRUMB_ENONFINITE)
		return error;
	if (error)
		x->why[0] = 0; /* the worker's part is left out */
	worker->here = true;
	worker->good = !error;
	worker->pushes++;
	worker->since = crumb_seconds();
	a->expected[rank_of(x, w)] = false;
	if (a->bound == 0 && !all_here(a))
		return 0;
	const int failed = take(step);
	for (size_t v = 0; v < a->workers; v++)
		a->taken += a->bound == 0 || v == w ? a->worker[v].work.count : 0;
	return failed;
}

/* ---- the server: what goes ------------------------------------------------------------------ */

/* Packs a slice of the weights, or of how they differ from the worker's. What the packer owes is in that
 * difference already. */
static void pack_task(void *arg, size_t i, unsigned thread)
{
	const struct pull *pull = arg;
	const struct crumb_exchange *x = pull->x;
	const struct crumb_slice *slice = &x->slice[x->longest[i]];
	struct slot *slot = &pull->slot[x->longest[i]];
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

/* Packs a pull and puts its head before it. */
static int pack(const struct step *step, const struct pull *pull, struct outgoing *message)
{
	struct crumb_exchange *x = pull->x;
	struct message_head head = pull_head(step);

	crumb_team_run(x->team, pack_task, (void *)pull, x->slices);
	for (size_t s = 0; s < x->slices; s++)
		if (pull->slot[s].length < 0)
			return crumb_step_fail(x, CRUMB_EFRAME, "the weights of slice %zu cannot be sent: %s",
			                       s, crumb_strerror((int)pull->slot[s].length));
	crumb_parcel_join(x, x->share, pull->slot, 1, message);
	head.next = x->async->given;
	crumb_message_seal(&head, message);
	crumb_step_lap(x, &x->stats.pack_seconds);
	return 0;
}

/* Answers a worker with a pull that is packed, and with work from the next part on: nothing if none is left.
 */
static int answer(struct crumb_exchange *x, size_t w, const struct outgoing *message)
{
	struct async *a = x->async;
	struct worker_seen *worker = &a->worker[w];
	const uint64_t left = a->epoch->parts - a->given, most = learners_of(x, w);
	const double now = crumb_seconds();

	worker->work = (struct async_work){a->given, left < most ? left : most};
	a->given += worker->work.count;
	worker->version = a->updates;
	worker->here = false;
	x->stats.held_seconds += now - worker->since;
	worker->since = now;
	if (!x->servers)
		return 0;
	a->expected[rank_of(x, w)] = worker->work.count > 0;
	return send(x, rank_of(x, w), (crumb_span){message->data, message->len});
}

/* Ends the epoch: all have pushed, and get the same weights. */
static int finish(const struct step *step)
{
	struct crumb_exchange *x = step->x;
	struct async *a = x->async;
	int error = 0;

	a->over = true;
	if (x->servers)
		error = pack(step, &(struct pull){x, x->down.slot, NULL}, x->messages.down);
	for (size_t w = 0; w < a->workers && !error; w++)
		error = answer(x, w, x->messages.down);
	return error;
}

/* Answers the workers that need not wait. */
static int release(const struct step *step)
{
	struct crumb_exchange *x = step->x;
	struct async *a = x->async;
	uint64_t least = UINT64_MAX;
	int error = 0;

	if (a->given == a->epoch->parts)
		return all_here(a) ? finish(step) : 0;
	for (size_t w = 0; w < a->workers; w++)
		least = a->worker[w].pushes < least ? a->worker[w].pushes : least;
	for (size_t w = 0; w < a->workers && !error; w++) {
		struct worker_seen *worker = &a->worker[w];
		const uint64_t ahead = worker->pushes - least;
		if (!worker->here || ahead > a->bound || a->given == a->epoch->parts)
			continue;
		const struct pull pull = {x, worker->slot, worker->has};
		x->stats.ahead = ahead > x->stats.ahead ? ahead : x->stats.ahead;
		error = x->servers ? pack(step, &pull, &worker->pull) : 0;
		error = error ? error : answer(x, w, &worker->pull);
	}
	return error;
}

/* ---- the server: its epoch ------------------------------------------------------------------ */

/* Names the workers that have had their work for longer than the timeout. */
static int name_silent(struct crumb_exchange *x)
{
	const struct async *a = x->async;
	const double now = crumb_seconds();
	char silent[100] = "";
	unsigned count = 0;

	for (unsigned r = x->servers; r < x->ranks; r++) {
		const size_t at = strlen(silent);
		if (!a->expected[r] || now < a->worker[r - x->servers].since + x->net->timeout)
			continue;
		if (at + 16 < sizeof silent)
			snprintf(silent + at, sizeof silent - at, "%s%u", count ? ", " : "", r);
		count++;
	}
	x->messages.dead = CRUMB_EPEER;
	return crumb_step_fail(x, CRUMB_EPEER, "nothing from rank%s %s within %g s", count > 1 ? "s" : "",
	                       silent, x->net->timeout);
}

/* Waits for a worker's push. */
static int await(struct crumb_exchange *x, unsigned *from)
{
	const struct async *a = x->async;
	double deadline = INFINITY;

	for (unsigned r = x->servers; r < x->ranks && x->net->timeout > 0; r++)
		if (a->expected[r])
			deadline = fmin(deadline, a->worker[r - x->servers].since + x->net->timeout);
	const int error = receive(x, deadline, from);
	crumb_step_lap(x, &x->stats.swap_seconds);
	return error ? error : *from == x->ranks ? name_silent(x) : 0;
}

/* Tells the workers that are not silent that the run has failed. */
static void say_farewell(const struct step *step, int error)
{
	struct crumb_exchange *x = step->x;
	struct async *a = x->async;
	struct outgoing message = {(uint8_t *)&a->farewell, 0, 0};
	const double now = crumb_seconds();
	struct message_head head = pull_head(step);

	if (x->net->shares_memory) { /* its own is soon gone */
		x->net->leave(x->net);
		return;
	}
	head.error = error;
	crumb_message_seal(&head, &message);
	for (unsigned r = x->servers; r < x->ranks; r++) {
		const bool silent = a->expected[r] && x->net->timeout > 0 &&
		                    now >= a->worker[r - x->servers].since + x->net->timeout;
		if (!silent && x->net->send(x->net, r, (crumb_span){message.data, message.len}))
			break;
	}
}

int crumb_async_serve(struct crumb_exchange *x)
{
	struct async *a = x->async;
	struct step step = crumb_step_begin(x, NULL, a->epoch->weight, NULL);
	double before = 0;
	int error = x->failed;

	crumb_step_lap(x, &before);
	while (!error && !a->over) {
		unsigned from;
		x->step = a->epoch->step + a->taken / x->learners;
		error = await(x, &from);
		error = error ? error : arrive(&step, from - x->servers);
		error = error ? error : release(&step);
		crumb_step_lap(x, &x->stats.swap_seconds);
	}
	if (error && !x->failed)
		say_farewell(&step, error);
	if (error)
		x->failed = error;
	x->step = a->epoch->step + a->epoch->parts / x->learners;
	return error;
}

/* Gives a worker's pulls packers without a residual, since it has all of the weights. */
static void begin_pulls(struct crumb_exchange *x, struct worker_seen *worker)
{
	const struct async *a = x->async;
	const size_t number = x->learners + 1 + (size_t)(worker - a->worker);

	memcpy(worker->has, a->epoch->param, total(x) * sizeof *worker->has);
	for (size_t s = 0; s < x->slices; s++)
		crumb_packer_init(worker->slot[s].packer, &worker->slot[s].codec, x->slice[s].n,
		                  x->slice[s].run,
		                  crumb_exchange_seed(crumb_message_mix(a->seed, a->epoch->step), number, s));
}

void crumb_async_begin(struct crumb_exchange *x, const struct async_epoch *epoch, struct async_work *work)
{
	struct async *a = x->async;

	a->epoch = epoch;
	a->taken = a->updates = 0;
	a->given = epoch->parts < x->learners ? epoch->parts : x->learners;
	a->over = false;
	x->step = epoch->step;
	for (size_t w = 0; w < a->workers; w++) {
		struct worker_seen *worker = &a->worker[w];
		worker->work = (struct async_work){rank_first(x, rank_of(x, w)), learners_of(x, w)};
		worker->pushes = worker->version = 0;
		worker->since = crumb_seconds();
		worker->here = worker->good = false;
		a->expected[rank_of(x, w)] = x->servers;
		if (worker->has)
			begin_pulls(x, worker);
	}
	*work = (struct async_work){x->first, x->own};
}

/* ---- a worker ------------------------------------------------------------------------------- */

static void finite_task(void *arg, size_t i, unsigned thread)
{
	const struct step *step = arg;
	struct crumb_exchange *x = step->x;
	const size_t s = x->longest[i / step->own], l = i % step->own;

	(void)thread;
	x->up[l * x->slices + s].length =
	        crumb_finite(step->grad[l] + x->slice[s].at, x->slice[s].n, CRUMB_F32);
}

/* Packs this worker's gradients. Returns 0 or an error. */
static int prepare(struct step *step)
{
	struct crumb_exchange *x = step->x;

	crumb_team_run(x->team, finite_task, step, step->own * x->slices);
	crumb_step_lap(x, &x->stats.check_seconds);
	for (size_t i = 0; i < step->own * x->slices; i++)
		if (x->up[i].length < 0)
			return (int)x->up[i].length;
	const int error = crumb_upload_pack(step);
	crumb_step_lap(x, &x->stats.pack_seconds);
	return error;
}

static void apply_task(void *arg, size_t i, unsigned thread)
{
	const struct pull *pull = arg;
	struct crumb_exchange *x = pull->x;
	const size_t s = x->longest[i], n = x->slice[s].n;
	const crumb_span frame = x->down.frame[s];
	float *param = x->async->epoch->param + x->slice[s].at;

	(void)thread;
	if (!pull->has)
		memset(param, 0, n * sizeof *param);
	x->down.slot[s].length = crumb_unpack_add(frame.data, frame.len, 1, param, n);
}

/* Sets the weights by the pull that has come. */
static int apply(struct crumb_exchange *x, bool exact)
{
	struct pull pull = {x, NULL, exact ? NULL : x->async->epoch->param};
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

/* Waits for the server's pull; *next: the first part of the next work. */
static int pull_weights(const struct step *step, struct async_work *work)
{
	struct crumb_exchange *x = step->x;
	const struct async *a = x->async;
	const double patience = 1.25 * x->net->timeout;
	const struct message_head mine = pull_head(step);
	struct message_head its;
	unsigned from;

	a->expected[0] = true;
	int error = receive(x, patience > 0 ? crumb_seconds() + patience : INFINITY, &from);
	if (!error && from == x->ranks) {
		x->messages.dead = CRUMB_EPEER;
		error = crumb_step_fail(x, CRUMB_EPEER, "nothing from rank 0 within %g s", patience);
	}
	crumb_step_lap(x, &x->stats.swap_seconds);
	error = error ? error : check_message(x, &mine, 0);
	if (error)
		return error;
	memcpy(&its, x->messages.in[0].data, sizeof its);
	if (its.next > a->epoch->parts)
		return crumb_swap_damaged(x, 0);
	const uint64_t left = a->epoch->parts - its.next;
	*work = (struct async_work){its.next, left < x->own ? left : x->own};
	return apply(x, a->exact || !left);
}

/* Sends the push to the server, or takes it at once if that is this rank. */
static int push(struct step *step, struct async_work *work, int error)
{
	struct crumb_exchange *x = step->x;
	struct outgoing *message = &x->messages.up[0];
	struct message_head head = push_head(step, *work);

	head.error = error;
	crumb_message_seal(&head, message);
	if (x->servers)
		return send(x, 0, (crumb_span){message->data, message->len});
	x->messages.in[0] = (crumb_span){message->data, message->len};
	int failed = arrive(step, 0);
	failed = failed ? failed : release(step);
	*work = x->async->worker[0].work;
	return failed;
}

int crumb_async_swap(struct crumb_exchange *x, const float *const *grad, struct async_work *work)
{
	struct step step = crumb_step_begin(x, grad, x->async->epoch->weight, NULL);
	double before = 0;

	crumb_step_lap(x, &before);
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
        .open = open,
};
