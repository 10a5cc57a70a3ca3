/* Plan async over threads: in lock step it is plan server to the bit; no worker is further ahead than the
 * bound, and without one nobody waits; nothing that was pushed is lost; a worker's weights are the server's
 * but for what is owed; a rank that fails or is silent is named, or the others take over its work; and a
 * worker that waits for others knows that the server is alive.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "tests/exchange_cases.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "exchange/plan.h"
#include "exchange/plans/async.h"
#include "exchange/team.h"
#include "exchange/transport.h"

enum { EPOCHS = 2, FLOATS = 20000, UPDATES = 64, TIMES = 8 };
#define NO_BOUND UINT64_MAX
#define RATE     0.5f

struct run {
	const struct policy *policy, *down;
	const float *share;
	unsigned ranks;
	uint64_t bound;
	unsigned steps;  /* of an epoch */
	bool waits;      /* the first worker waits until the others can get no more work */
	unsigned nan;    /* a worker whose first push of the second epoch has a NaN; NONE: nobody */
	unsigned leaver; /* a worker that leaves instead of that push */
	unsigned silent; /* a rank that does nothing at all */
	double timeout;
	double delay[MOST_RANKS]; /* by rank: seconds before every push of the second epoch */
	unsigned napper;          /* a worker that is silent before its first push of the second epoch */
	double nap;               /* for so many seconds */
	atomic_uint taken[EPOCHS][TIMES * LEARNERS]; /* by part: how often it was pushed */
	atomic_uint pushed[MOST_RANKS];              /* by rank: pushes that it has begun in this epoch */
	atomic_uint parts; /* that workers other than the first have pushed in this epoch */
};

struct seat {
	struct run *run;
	struct crumb_exchange_net *net;
	struct crumb_exchange *x;
	struct team *team;
	struct seat *server;
	int error;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	char wrong[128]; /* a law that does not hold; the main thread fails */
	float param[FLOATS], mean[FLOATS];
	double moved[FLOATS];  /* the server's weights by, without the rate */
	double pushed[FLOATS]; /* gradients of this rank, weighted */
	float (*then)[FLOATS]; /* [update]: the server's weights after it */
	size_t updates, skipped;
	struct exchange_stats stats;
};

static int move(void *arg, float share, uint64_t taken)
{
	struct seat *seat = arg;

	(void)taken;
	for (size_t i = 0; i < total; i++) {
		seat->param[i] -= share * RATE * seat->mean[i];
		seat->moved[i] += (double)share * (double)seat->mean[i];
	}
	seat->updates++;
	if (seat->then && seat->updates < UPDATES)
		memcpy(seat->then[seat->updates], seat->param, total * sizeof *seat->param);
	return 0;
}

/* Waits until the other workers have begun as many pushes as they can without this one, and longer, so that a
 * server that gives them more does it now. */
static void let_others_go(struct run *run, const struct seat *seat, unsigned own_pushes)
{
	const unsigned workers = run->ranks - 1, parts = run->steps * LEARNERS, own = LEARNERS / workers;
	const struct timespec moment = {0, 1000000}, while_longer = {0, 20000000};
	const unsigned most =
	        run->bound == NO_BOUND ? parts : (unsigned)(own_pushes + run->bound + 1) * (LEARNERS - own);

	(void)seat;
	while (atomic_load(&run->parts) < most && atomic_load(&run->parts) + own * (own_pushes + 1) < parts)
		nanosleep(&moment, NULL);
	nanosleep(&while_longer, NULL);
}

/* Returns true if the others have to go on without this rank. */
static bool will_be_gone(const struct run *run, unsigned rank)
{
	return rank == run->leaver || rank == run->silent || rank == run->napper;
}

/* No worker is further ahead of another than the bound: a push has begun before the server knows of it. */
static void check_lead(struct seat *seat, unsigned rank)
{
	struct run *run = seat->run;
	const uint64_t own = atomic_load(&run->pushed[rank]);

	for (unsigned r = 1; r < run->ranks; r++) {
		const uint64_t other = atomic_load(&run->pushed[r]);
		if (own > other && own - other > run->bound && !will_be_gone(run, r))
			snprintf(seat->wrong, sizeof seat->wrong,
			         "rank %u gets work %u pushes ahead of rank %u", rank,
			         (unsigned)(own - other), r);
	}
}

/* In lock step the weights after a pull are what the server's were, less what the pull owes. */
static void check_pull(struct seat *seat, size_t pull)
{
	const float *then = seat->server->then[pull];

	for (size_t s = 0; s < SLICES; s++) {
		crumb_packer *packer = crumb_async_packer(seat->server->x, seat->net->rank - 1, s);
		const float *owed = packer ? crumb_packer_residual(packer) : NULL;
		for (size_t i = 0; i < slices[s].n; i++) {
			const size_t at = slices[s].at + i;
			const double differ =
			        (double)then[at] - (double)seat->param[at] - (owed ? (double)owed[i] : 0);
			if (fabs(differ) > 1e-5)
				snprintf(seat->wrong, sizeof seat->wrong,
				         "pull %zu: element %zu of slice %zu differs by %g, not owed", pull,
				         i, s, differ);
		}
	}
}

static void pause_for(double seconds)
{
	const struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};

	nanosleep(&time, NULL);
}

static void work_off(struct seat *seat, unsigned epoch, struct async_work work, size_t *pulls)
{
	struct run *run = seat->run;
	const unsigned rank = seat->net ? seat->net->rank : 0;
	float *grad[LEARNERS];

	for (size_t k = 0; k < LEARNERS; k++)
		grad[k] = must(malloc(total * sizeof(float)));
	for (unsigned push = 0; work.count && !seat->error; push++) {
		const size_t first = work.first, count = work.count;
		const bool later = epoch == 1 && push == 0, sick = rank == run->nan && later;
		for (size_t k = 0; k < count; k++) {
			const size_t part = first + k, learner = part % LEARNERS;
			make_gradient(grad[k], learner, (unsigned)(part / LEARNERS));
			for (size_t i = 0; i < total && !sick; i++)
				seat->pushed[i] += (double)run->share[learner] * (double)grad[k][i];
		}
		if (sick)
			grad[0][total / 2] = NAN;
		if (rank == run->leaver && later) {
			seat->net->leave(seat->net);
			break;
		}
		if (run->waits && rank == 1)
			let_others_go(run, seat, push);
		if (epoch == 1)
			pause_for(run->delay[rank] + (rank == run->napper && later ? run->nap : 0));
		atomic_fetch_add(&run->pushed[rank], 1);
		if (rank > 1)
			atomic_fetch_add(&run->parts, (unsigned)count);
		seat->error = crumb_async_swap(seat->x, (const float *const *)grad, &work);
		if (sick && seat->error != CRUMB_ENONFINITE)
			snprintf(seat->wrong, sizeof seat->wrong, "a NaN goes unnoticed");
		seat->skipped += seat->error == CRUMB_ENONFINITE ? count : 0;
		for (size_t k = 0; k < count && !seat->error; k++)
			atomic_fetch_add(&run->taken[epoch][first + k], 1);
		if (seat->error == CRUMB_ENONFINITE)
			seat->error = 0;
		++*pulls;
		if (run->bound != NO_BOUND && work.count && !seat->error)
			check_lead(seat, rank);
		if (seat->server && work.count && !seat->error)
			check_pull(seat, *pulls);
	}
	for (size_t k = 0; k < LEARNERS; k++)
		free(grad[k]);
}

/* All ranks are told what every learner tells, and what the server says for those who cannot. */
static void tell(struct seat *seat)
{
	unsigned mine[LEARNERS], all[LEARNERS];
	size_t first, own;

	crumb_exchange_learners(seat->x, &first, &own);
	for (unsigned l = 0; l < LEARNERS; l++) {
		mine[l] = (unsigned)first + l;
		all[l] = 100 + l;
	}
	seat->error = crumb_exchange_tell(seat->x, mine, sizeof *mine, all);
	for (unsigned l = 0; l < LEARNERS && !seat->error; l++)
		if (all[l] != l && (all[l] != 100 + l || !seat->net->losses))
			snprintf(seat->wrong, sizeof seat->wrong, "learner %u has told %u", l, all[l]);
}

static void *seat_main(void *arg)
{
	struct seat *seat = arg;
	struct run *run = seat->run;
	const unsigned rank = seat->net ? seat->net->rank : 0;
	struct async_epoch epoch = {.parts = (uint64_t)run->steps * LEARNERS,
	                            .weight = run->share,
	                            .param = seat->param,
	                            .mean = seat->mean,
	                            .move = move,
	                            .arg = seat};
	struct async_work work;
	size_t pulls = 0, first, own;

	crumb_exchange_learners(seat->x, &first, &own);
	for (unsigned e = 0; e < EPOCHS && !seat->error && rank != run->silent;
	     e++, epoch.step += run->steps) {
		crumb_async_begin(seat->x, &epoch, &work);
		if (work.count != own)
			snprintf(seat->wrong, sizeof seat->wrong, "an epoch begins with other work");
		if (own)
			work_off(seat, e, work, &pulls);
		else
			seat->error = crumb_async_serve(seat->x);
		if (seat->error || (rank == run->leaver && e == 1))
			break;
		/* The swap ends the epoch on all ranks: nobody reads another's memory any more. */
		tell(seat);
		if (seat->error)
			break;
		atomic_store(&run->pushed[rank], 0);
		if (rank == 1)
			atomic_store(&run->parts, 0);
		seat->error = crumb_exchange_tell(seat->x, NULL, 0, NULL);
	}
	snprintf(seat->why, sizeof seat->why, "%s", crumb_exchange_why(seat->x));
	crumb_exchange_read_stats(seat->x, &seat->stats);
	return NULL;
}

/* Runs all ranks to the end; they stay open. */
static struct seat *take_seats(struct run *run)
{
	struct seat *seat = must(calloc(run->ranks, sizeof *seat));
	struct crumb_exchange_net *net[MOST_RANKS] = {NULL};
	char why[CRUMB_EXCHANGE_WHY_MAX];

	assert_true(total <= FLOATS);
	if (run->ranks > 1)
		assert_int_equal(crumb_exchange_threads(net, run->ranks), 0);
	for (unsigned r = 0; r < run->ranks; r++) {
		atomic_store(&run->pushed[r], 0);
		seat[r].run = run;
		seat[r].net = net[r];
		seat[r].team = crumb_team_open(1 + r % 2);
		if (net[r])
			net[r]->timeout = run->timeout;
		const struct crumb_exchange_config config = {.slices = slices,
		                                             .slice_count = SLICES,
		                                             .plan = crumb_plan_find("async"),
		                                             .policy = run->policy,
		                                             .down = run->down,
		                                             .staleness = run->bound,
		                                             .learners = LEARNERS,
		                                             .seed = CASE_SEED,
		                                             .net = net[r],
		                                             .team = seat[r].team};
		if (crumb_exchange_start(&seat[r].x, &config, why, sizeof why))
			fail_msg("%s", why);
	}
	atomic_store(&run->parts, 0);
	if (run->down && run->bound == 0) {
		seat[0].then = must(calloc(UPDATES, sizeof *seat[0].then));
		for (unsigned r = 1; r < run->ranks; r++)
			seat[r].server = &seat[0];
	}
	in_threads(seat_main, seat, sizeof *seat, run->ranks);
	for (unsigned r = 0; r < run->ranks; r++)
		if (seat[r].wrong[0])
			fail_msg("rank %u: %s", r, seat[r].wrong);
	return seat;
}

static void leave_seats(struct seat *seat, unsigned ranks)
{
	struct crumb_exchange_net *net[MOST_RANKS];

	for (unsigned r = 0; r < ranks; r++) {
		crumb_exchange_close(seat[r].x);
		crumb_team_close(seat[r].team);
		net[r] = seat[r].net;
	}
	if (net[0])
		crumb_threads_close(net, ranks);
	free(seat[0].then);
	free(seat);
}

static struct run plain_run(const struct policy *policy, unsigned ranks, uint64_t bound)
{
	return (struct run){.policy = policy,
	                    .share = even_share,
	                    .ranks = ranks,
	                    .bound = bound,
	                    .steps = STEPS,
	                    .nan = NONE,
	                    .leaver = NONE,
	                    .silent = NONE,
	                    .napper = NONE};
}

/* All ranks have the server's weights. */
static void assert_alike(const struct seat *seat, unsigned ranks)
{
	for (unsigned r = 0; r < ranks; r++) {
		if (seat[r].error)
			fail_msg("rank %u: %s", r, seat[r].why);
		assert_memory_equal(seat[r].param, seat[0].param, total * sizeof *seat->param);
	}
}

/* ---- lock step ------------------------------------------------------------------------------ */

/* The weights that plan server gives. */
static void serve_synchronously(const struct policy *policy, const float *share, float *param)
{
	const struct crumb_exchange_config config = {.slices = slices,
	                                             .slice_count = SLICES,
	                                             .plan = crumb_plan_find("server"),
	                                             .policy = policy,
	                                             .learners = LEARNERS,
	                                             .seed = CASE_SEED};
	struct crumb_exchange *x;
	float *grad[LEARNERS], *mean = must(malloc(total * sizeof *mean));
	char why[CRUMB_EXCHANGE_WHY_MAX];

	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	for (size_t l = 0; l < LEARNERS; l++)
		grad[l] = must(malloc(total * sizeof(float)));
	for (unsigned step = 0; step < EPOCHS * STEPS; step++) {
		for (size_t l = 0; l < LEARNERS; l++)
			make_gradient(grad[l], l, step % STEPS);
		assert_int_equal(crumb_exchange_step(x, (const float *const *)grad, share, mean), 0);
		for (size_t i = 0; i < total; i++)
			param[i] -= 1.0f * RATE * mean[i];
	}
	for (size_t l = 0; l < LEARNERS; l++)
		free(grad[l]);
	free(mean);
	crumb_exchange_close(x);
}

static void is_plan_server(const struct policy *policy, const char *text, bool defaults)
{
	static float expected[FLOATS];
	crumb_codec codec = crumb_policy_choose(policy, CRUMB_FC, slices[4].n);

	if (crumb_agrees(&codec))
		return;
	for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks += defaults ? 1 : 4) {
		struct run run = plain_run(policy, ranks, 0);
		run.share = ranks % 2 ? even_share : uneven_share;
		memset(expected, 0, sizeof expected);
		serve_synchronously(policy, run.share, expected);
		struct seat *seat = take_seats(&run);
		assert_alike(seat, ranks);
		for (size_t i = 0; i < total; i++)
			if (memcmp(&seat[0].param[i], &expected[i], sizeof *expected) != 0)
				fail_msg("%s, %u ranks: weight %zu is %a, not %a", text, ranks, i,
				         (double)seat[0].param[i], (double)expected[i]);
		assert_int_equal(seat[0].updates, EPOCHS * STEPS);
		assert_int_equal(seat[0].stats.staleness[0], EPOCHS * STEPS * (ranks > 1 ? ranks - 1 : 1));
		assert_int_equal(seat[0].stats.ahead, 0);
		leave_seats(seat, ranks);
	}
}

static void lock_step_is_plan_server(void **state)
{
	(void)state;
	for_every_setting(is_plan_server);
}

/* ---- staleness ------------------------------------------------------------------------------ */

static void nobody_is_further_ahead_than_the_bound(void **state)
{
	const struct policy policy = parse_policy("adacomp");

	(void)state;
	for (uint64_t bound = 0; bound <= 3; bound++) {
		struct run run = plain_run(&policy, MOST_RANKS, bound);
		run.steps = TIMES;
		run.waits = true;
		struct seat *seat = take_seats(&run);
		assert_alike(seat, run.ranks);
		assert_int_equal(seat[0].stats.ahead, bound);
		leave_seats(seat, run.ranks);
	}
}

/* The first worker waits for the others to take all work but its own; so they must not wait for it. */
static void without_a_bound_nobody_waits(void **state)
{
	const struct policy policy = parse_policy("twobit");
	struct run run = plain_run(&policy, MOST_RANKS, NO_BOUND);
	uint64_t pushes = 0;

	(void)state;
	run.steps = TIMES;
	run.waits = true;
	struct seat *seat = take_seats(&run);
	assert_alike(seat, run.ranks);
	for (size_t bin = 0; bin < CRUMB_STALENESS_BINS; bin++)
		pushes += seat[0].stats.staleness[bin];
	assert_int_equal(pushes, EPOCHS * TIMES * LEARNERS);
	assert_int_equal(seat[1].stats.steps, EPOCHS);
	assert_true(seat[0].stats.staleness[CRUMB_STALENESS_BINS - 1] >= EPOCHS);
	leave_seats(seat, run.ranks);
}

/* ---- what arrives --------------------------------------------------------------------------- */

/* All that was pushed has moved the weights, or is owed by its learner. */
static void assert_conserved(struct seat *seat, const struct run *run)
{
	double *balance = must(calloc(total, sizeof *balance));

	for (unsigned r = 0; r < run->ranks; r++) {
		size_t first, own;
		crumb_exchange_learners(seat[r].x, &first, &own);
		for (size_t i = 0; i < total; i++)
			balance[i] += seat[r].pushed[i];
		for (size_t l = 0; l < own; l++)
			for (size_t s = 0; s < SLICES; s++) {
				const float *owed =
				        crumb_packer_residual(crumb_exchange_packer(seat[r].x, l, s));
				for (size_t i = 0; owed && i < slices[s].n; i++)
					balance[slices[s].at + i] -= (double)owed[i] / LEARNERS;
			}
	}
	for (size_t i = 0; i < total; i++)
		if (fabs(balance[i] - seat[0].moved[i]) > 1e-4)
			fail_msg(
			        "%u ranks, bound %llu: of element %zu %g was pushed and not kept, %g arrived",
			        run->ranks, (unsigned long long)run->bound, i, balance[i], seat[0].moved[i]);
	free(balance);
}

static void nothing_is_lost(void **state)
{
	static const char *const specs[] = {"adacomp", "twobit:threshold=0.3", "topk", "seide", "raw"};
	static const uint64_t bounds[] = {0, 1, NO_BOUND};

	(void)state;
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
		for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++)
			for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
				const struct policy policy = parse_policy(specs[i]);
				struct run run = plain_run(&policy, ranks, bounds[b]);
				run.steps = TIMES;
				run.nan = i % 2 ? NONE : ranks - 1;
				struct seat *seat = take_seats(&run);
				assert_alike(seat, ranks);
				assert_conserved(seat, &run);
				assert_int_equal(seat[ranks - 1].skipped > 0, run.nan != NONE);
				leave_seats(seat, ranks);
			}
}

static void a_worker_has_the_weights_but_for_what_is_owed(void **state)
{
	static const char *const specs[] = {"adacomp", "twobit:threshold=0.1", "topk:fraction=0.1", "dgc",
	                                    "raw"};

	(void)state;
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		const struct policy policy = parse_policy("adacomp"), down = parse_policy(specs[i]);
		struct run run = plain_run(&policy, MOST_RANKS, 0);
		run.steps = TIMES;
		run.down = &down;
		struct seat *seat = take_seats(&run);
		assert_alike(seat, run.ranks); /* an epoch's last pull is exact */
		leave_seats(seat, run.ranks);
		run.bound = NO_BOUND;
		seat = take_seats(&run);
		assert_alike(seat, run.ranks);
		assert_conserved(seat, &run);
		leave_seats(seat, run.ranks);
	}
}

/* ---- faults --------------------------------------------------------------------------------- */

/* In lock step nobody can go on. */
static void one_that_leaves_is_missed_by_all(void **state)
{
	const struct policy policy = parse_policy("sign");

	(void)state;
	for (unsigned leaver = 1; leaver < MOST_RANKS; leaver++) {
		struct run run = plain_run(&policy, MOST_RANKS, 0);
		run.leaver = leaver;
		struct seat *seat = take_seats(&run);
		for (unsigned r = 0; r < run.ranks; r++)
			assert_int_equal(seat[r].error, r == leaver ? 0 : CRUMB_EPEER);
		leave_seats(seat, run.ranks);
	}
}

static void a_silent_rank_is_named(void **state)
{
	const struct policy policy = parse_policy("half");
	char one[64], several[64]; /* on a busy machine others may be late, too */

	(void)state;
	for (size_t b = 0; b < 2; b++)
		for (unsigned silent = 0; silent < (b ? 3 : MOST_RANKS); silent += 2) {
			struct run run = plain_run(&policy, b ? 2 : MOST_RANKS, b ? NO_BOUND : 0);
			run.silent = b && silent ? 1 : silent;
			run.timeout = 0.3;
			struct seat *seat = take_seats(&run);
			snprintf(one, sizeof one, "nothing from rank %u within", run.silent);
			snprintf(several, sizeof several, " %u", run.silent);
			for (unsigned r = 0; r < run.ranks; r++) {
				assert_int_equal(seat[r].error, r == run.silent ? 0 : CRUMB_EPEER);
				if (r != run.silent && !strstr(seat[r].why, one) &&
				    (!strstr(seat[r].why, "nothing from ranks ") ||
				     !strstr(seat[r].why, several)))
					fail_msg("rank %u: \"%s\" does not say \"%s\"", r, seat[r].why, one);
			}
			leave_seats(seat, run.ranks);
		}
}

/* The others have the server's weights, and have pushed every part once between them. */
static void assert_taken_over(const struct seat *seat, const struct run *run, unsigned gone)
{
	for (unsigned r = 0; r < run->ranks; r++) {
		if (r == gone)
			continue;
		if (seat[r].error)
			fail_msg("without rank %u, rank %u: %s", gone, r, seat[r].why);
		assert_memory_equal(seat[r].param, seat[0].param, total * sizeof *seat->param);
		assert_int_equal(seat[r].net->losses, 1);
	}
	assert_int_equal(seat[0].net->lost[0], gone);
	for (size_t e = 0; e < EPOCHS; e++)
		for (size_t part = 0; part < run->steps * LEARNERS; part++)
			assert_int_equal(atomic_load(&run->taken[e][part]), 1);
}

static void the_others_go_on(void **state)
{
	const struct policy policy = parse_policy("adacomp"), down = parse_policy("qsgd");

	(void)state;
	for (unsigned way = 0; way < 4; way++)
		for (unsigned gone = 1 + way / 2; gone < MOST_RANKS; gone += way % 2 ? 1 : MOST_RANKS) {
			struct run run = plain_run(&policy, MOST_RANKS, way / 2 ? NO_BOUND : 1);
			run.steps = TIMES;
			run.down = way / 2 ? &down : NULL;
			if (way % 2)
				run.leaver = gone;
			else
				run.silent = gone;
			run.timeout = way % 2 ? 0 : 0.8;
			struct seat *seat = take_seats(&run);
			assert_taken_over(seat, &run, gone);
			leave_seats(seat, run.ranks);
		}
}

static void one_that_wakes_up_is_refused(void **state)
{
	const struct policy policy = parse_policy("twobit");
	struct run run = plain_run(&policy, MOST_RANKS, 2);

	(void)state;
	run.steps = TIMES / 2;
	run.timeout = 0.6;
	run.napper = 2;
	run.nap = 2 * run.timeout;
	for (unsigned r = 1; r < run.ranks; r++)
		run.delay[r] = run.timeout / 2;
	struct seat *seat = take_seats(&run);
	assert_taken_over(seat, &run, run.napper);
	assert_int_equal(seat[run.napper].error, CRUMB_EPEER);
	assert_non_null(strstr(seat[run.napper].why, "has given this rank up"));
	assert_true(seat[run.napper].net->given_up);
	leave_seats(seat, run.ranks);
}

/* The second worker is held back by the bound until the first has pushed, which then gets the last work. */
static void nobody_takes_a_server_that_waits_for_silent(void **state)
{
	const struct policy policy = parse_policy("sign");
	struct run run = plain_run(&policy, 3, 1);

	(void)state;
	run.steps = 2;
	run.timeout = 0.8;
	run.delay[1] = 0.7 * run.timeout;
	struct seat *seat = take_seats(&run);
	assert_alike(seat, run.ranks);
	assert_true(seat[0].stats.held_seconds > 1.25 * run.timeout);
	leave_seats(seat, run.ranks);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void assert_refused(struct crumb_exchange_config *config, const char *because)
{
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX] = "";

	assert_int_equal(crumb_exchange_start(&x, config, why, sizeof why), CRUMB_EINVAL);
	if (!strstr(why, because))
		fail_msg("\"%s\" does not say \"%s\"", why, because);
}

static void what_cannot_be_is_refused(void **state)
{
	const struct policy shared = parse_policy("terngrad:shared=1"), half = parse_policy("half");
	struct crumb_exchange_net *net[MOST_RANKS];
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	struct crumb_exchange_config config = {.slices = slices,
	                                       .slice_count = SLICES,
	                                       .plan = crumb_plan_find("dist_async"),
	                                       .policy = &shared,
	                                       .learners = LEARNERS};

	(void)state;
	assert_refused(&config, "learners agree before they pack");
	config.policy = &half;
	config.down = &shared;
	assert_refused(&config, "learners agree before they pack");
	config.down = NULL;
	config.learners = 3;
	assert_int_equal(crumb_exchange_threads(net, MOST_RANKS), 0);
	config.net = net[1];
	assert_refused(&config, "3 learners are too few for 4 workers");
	config.learners = 4;
	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	config.plan = NULL;
	assert_int_equal(crumb_exchange_change(x, &config, why, sizeof why), CRUMB_EINVAL);
	crumb_exchange_close(x);
	crumb_threads_close(net, MOST_RANKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(lock_step_is_plan_server),
	        cmocka_unit_test(nobody_is_further_ahead_than_the_bound),
	        cmocka_unit_test(without_a_bound_nobody_waits),
	        cmocka_unit_test(nothing_is_lost),
	        cmocka_unit_test(a_worker_has_the_weights_but_for_what_is_owed),
	        cmocka_unit_test(one_that_leaves_is_missed_by_all),
	        cmocka_unit_test(a_silent_rank_is_named),
	        cmocka_unit_test(the_others_go_on),
	        cmocka_unit_test(one_that_wakes_up_is_refused),
	        cmocka_unit_test(nobody_takes_a_server_that_waits_for_silent),
	        cmocka_unit_test(what_cannot_be_is_refused),
	};

	place_slices();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
