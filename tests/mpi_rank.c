/* One rank of the tests over MPI: mpirun -n N mpi_rank WHAT...
 *
 * same: with every codec and plan that does not know nodes, after every step the parameters have the bits
 * that one process alone gives them; plan async in lock step has those of plan server, and otherwise ends
 * with the server's weights on all ranks.
 *
 * conserved: with every such plan, the gradients of all learners are what was applied, and the residuals.
 *
 * held: a rank that was held up itself past its deadline still gets all messages that were sent before.
 *
 * fault KIND RANK STEP PLAN SPEC TIMEOUT: as same, for one plan and codec; at that step that rank is killed,
 * stopped, gets a NaN, or sleeps (late) for a tenth longer than the timeout. async-N is async with a
 * staleness of N; the ranks that its server gives up are named. overlap-PLAN is a plan with overlap, in which
 * the rank is killed or stopped while segments are under way.
 *
 * Every rank also runs all learners by itself, without a transport, and compares: wrong bits are status 3, an
 * error of the exchange status 4.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "exchange/exchange.h"
#include "exchange/plan.h"
#include "exchange/plans/async.h"
#include "exchange/policy.h"
#include "exchange/seconds.h"
#include "exchange/team.h"
#include "exchange/transport.h"

enum { LEARNERS = 8, SLICES = 6, WRONG = 3, FAILED = 4 };
enum { STEPS = 16, STEPS_OF_FAULT = 50 };

static const struct crumb_slice model[SLICES] = {
        {0, 500, 25, CRUMB_CONV},      {500, 20, 0, CRUMB_BIAS},   {520, 3000, 50, CRUMB_FC},
        {3520, 0, 0, CRUMB_BATCHNORM}, {3520, 257, 0, CRUMB_LSTM}, {3777, 400, 40, CRUMB_KIND_LAST},
};
enum { TOTAL = 4177 };

struct fault {
	const char *kind; /* "": none */
	unsigned rank, step;
};

static int signal_of(const struct fault *fault)
{
	return !strcmp(fault->kind, "kill") ? SIGKILL : !strcmp(fault->kind, "stop") ? SIGSTOP : 0;
}

static struct crumb_exchange_net *net;

static void die(int status, const char *what, const char *plan, const char *spec, unsigned step)
{
	fprintf(stderr, "mpi_rank: rank %u, %s, %s, step %u: %s\n", net->rank, plan, spec, step, what);
	crumb_mpi_abort(net, status);
}

/* Makes a gradient that is about normal; a pure function. */
static void make_gradient(float *grad, size_t learner, unsigned step)
{
	uint64_t x = crumb_exchange_seed(11, learner, step);

	for (size_t i = 0; i < TOTAL; i++) {
		float sum = -2;
		for (int k = 0; k < 4; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			sum += (float)(x >> 40) * 0x1p-24f;
		}
		grad[i] = 0.1f * sum;
	}
}

/* Learners [first, first + own) of the model's training, by one exchange. */
struct side {
	struct crumb_exchange *x;
	size_t first, own;
	bool overlaps;
	int strike; /* signal of its next step; 0: none */
	float *grad[LEARNERS];
	float mean[TOTAL], param[TOTAL];
};

static struct side *side_open(struct crumb_exchange_net *ranks, const struct plan *plan,
                              const struct policy *up, const struct policy *down, struct team *team,
                              uint64_t staleness, bool overlaps)
{
	struct side *side = calloc(1, sizeof *side);
	char why[CRUMB_EXCHANGE_WHY_MAX];
	const struct crumb_exchange_config config = {.slices = model,
	                                             .slice_count = SLICES,
	                                             .policy = up,
	                                             .down = down,
	                                             .plan = plan,
	                                             .staleness = staleness,
	                                             .overlap = overlaps,
	                                             .segment = 1,
	                                             .model = "mpi_rank",
	                                             .learners = LEARNERS,
	                                             .seed = 1,
	                                             .net = ranks,
	                                             .team = team};

	if (!side || crumb_exchange_start(&side->x, &config, why, sizeof why) < 0)
		abort();
	side->overlaps = overlaps;
	crumb_exchange_learners(side->x, &side->first, &side->own);
	for (size_t l = 0; l < side->own; l++)
		if (!(side->grad[l] = malloc(TOTAL * sizeof(float))))
			abort();
	return side;
}

static void side_close(struct side *side)
{
	for (size_t l = 0; l < side->own; l++)
		free(side->grad[l]);
	crumb_exchange_close(side->x);
	free(side);
}

/* One step of descent; sick: this learner's gradient has a NaN. */
static int side_step(struct side *side, unsigned step, size_t sick)
{
	float share[LEARNERS];

	for (size_t l = 0; l < LEARNERS; l++)
		share[l] = 1.0f / LEARNERS;
	int error = side->overlaps ? crumb_exchange_begin(side->x, (const float *const *)side->grad, share,
	                                                  side->mean)
	                           : 0;
	if (error)
		return error;
	for (size_t l = 0; l < side->own; l++) {
		make_gradient(side->grad[l], side->first + l, step);
		if (side->first + l == sick)
			side->grad[l][TOTAL / 2] = NAN;
		for (size_t s = SLICES; s-- > 1 && side->overlaps;)
			crumb_exchange_final(side->x, l, model[s].at);
	}
	if (side->strike)
		raise(side->strike);
	error = crumb_exchange_step(side->x, (const float *const *)side->grad, share, side->mean);
	for (size_t i = 0; i < TOTAL && !error; i++)
		side->param[i] -= 0.1f * side->mean[i];
	return error;
}

static struct policy policy_of(const char *spec)
{
	struct policy policy;
	char text[2 * CRUMB_SPEC_MAX];

	snprintf(text, sizeof text, "conv,fc,lstm,last,bias,batchnorm=%s", spec);
	if (crumb_policy_parse(&policy, text, NULL))
		abort();
	return policy;
}

static void sleep_long(void)
{
	const double seconds = 1.1 * net->timeout;

	nanosleep(&(struct timespec){(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))}, NULL);
}

static void run(const struct plan *plan, const char *spec, bool exact, bool overlaps,
                const struct fault *fault)
{
	const struct policy policy = policy_of(spec);
	struct team *team = crumb_team_open(1 + net->rank % 3);
	struct side *mine = side_open(net, plan, &policy, exact ? NULL : &policy, team, 0, overlaps);
	struct side *alone = side_open(NULL, plan, &policy, exact ? NULL : &policy, NULL, 0, false);

	for (unsigned step = 0; step < (fault ? STEPS_OF_FAULT : STEPS); step++) {
		const bool now = fault && fault->step == step;
		/* a rank's own learner, or the first one if it has none */
		const size_t sick = now && !strcmp(fault->kind, "nan")
		                            ? (size_t)fault->rank * LEARNERS / net->ranks
		                            : LEARNERS;
		if (now && fault->rank == net->rank)
			mine->strike = signal_of(fault);
		if (now && fault->rank == net->rank && !strcmp(fault->kind, "late"))
			sleep_long();
		const int expected = side_step(alone, step, sick), error = side_step(mine, step, sick);
		mine->strike = 0;
		if (error != expected)
			die(FAILED, crumb_exchange_why(mine->x), plan->name, spec, step);
		if (memcmp(mine->param, alone->param, sizeof mine->param) != 0)
			die(WRONG, "wrong parameters", plan->name, spec, step);
	}
	side_close(mine);
	side_close(alone);
	crumb_team_close(team);
}

/* ---- plan async: one epoch of STEPS steps --------------------------------------------------- */

struct serving {
	struct side *mine;
	float param[TOTAL];
	const struct fault *fault; /* NULL: none, or it has struck */
};

static void strike(struct serving *s, unsigned step)
{
	if (!s->fault || s->fault->rank != net->rank || step < s->fault->step)
		return;
	const struct fault *fault = s->fault;
	s->fault = NULL;
	if (!strcmp(fault->kind, "nan"))
		s->mine->grad[0][TOTAL / 2] = NAN;
	else if (!strcmp(fault->kind, "late"))
		sleep_long();
	else
		raise(signal_of(fault));
}

static int move(void *arg, float share, uint64_t taken)
{
	struct serving *s = arg;

	if (s->mine->own == 0 && s->fault && strcmp(s->fault->kind, "nan") != 0)
		strike(s, (unsigned)(taken / LEARNERS));
	for (size_t i = 0; i < TOTAL; i++)
		s->param[i] -= share * 0.1f * s->mine->mean[i];
	return 0;
}

/* Computes and pushes; alone: the same steps by plan server, NULL if they cannot be. */
static void work_off(struct serving *s, struct async_work work, struct side *alone, const char *spec)
{
	struct side *mine = s->mine;
	int error = 0;

	for (unsigned pull = 0; work.count && !error; pull++) {
		const unsigned step = (unsigned)(work.first / LEARNERS);
		if (alone && memcmp(s->param, alone->param, sizeof s->param) != 0)
			die(WRONG, "wrong parameters", "async", spec, step);
		for (size_t k = 0; k < work.count; k++)
			make_gradient(mine->grad[k], (work.first + k) % LEARNERS,
			              (unsigned)((work.first + k) / LEARNERS));
		strike(s, step);
		error = crumb_async_swap(mine->x, (const float *const *)mine->grad, &work);
		error = error == CRUMB_ENONFINITE ? 0 : error;
		if (alone && side_step(alone, pull, LEARNERS))
			abort();
	}
	if (error)
		die(FAILED, crumb_exchange_why(mine->x), "async", spec, STEPS);
}

/* All ranks have the server's weights. */
static void compare_weights(const struct serving *s, const char *spec)
{
	uint64_t mine[LEARNERS], all[LEARNERS];

	for (size_t l = 0; l < LEARNERS; l++) {
		mine[l] = 0;
		for (size_t i = 0; i < TOTAL; i++) {
			uint32_t bits;
			memcpy(&bits, &s->param[i], sizeof bits);
			mine[l] = crumb_exchange_seed(mine[l], bits, 0);
		}
		all[l] = mine[l]; /* for those that have been given up */
	}
	if (crumb_exchange_tell(s->mine->x, mine, sizeof *mine, all))
		die(FAILED, crumb_exchange_why(s->mine->x), "async", spec, STEPS);
	for (size_t l = 0; l < LEARNERS; l++)
		if (all[l] != mine[0])
			die(WRONG, "the ranks' parameters differ", "async", spec, STEPS);
}

static void run_async(uint64_t bound, const char *spec, bool exact, const struct fault *fault)
{
	const struct policy policy = policy_of(spec);
	struct side *mine =
	        side_open(net, crumb_plan_find("async"), &policy, exact ? NULL : &policy, NULL, bound, false);
	const bool sick = fault && !strcmp(fault->kind, "nan");
	struct side *alone = bound == 0 && exact && !sick ? side_open(NULL, crumb_plan_find("server"),
	                                                              &policy, NULL, NULL, 0, false)
	                                                  : NULL;
	static const float share[LEARNERS] = {0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f};
	struct serving s = {.mine = mine, .fault = fault};
	const struct async_epoch epoch = {.parts = (fault ? STEPS_OF_FAULT : STEPS) * LEARNERS,
	                                  .weight = share,
	                                  .param = s.param,
	                                  .mean = mine->mean,
	                                  .move = move,
	                                  .arg = &s};
	struct async_work work;

	crumb_async_begin(mine->x, &epoch, &work);
	if (mine->own > 0)
		work_off(&s, work, alone, spec);
	else if (crumb_async_serve(mine->x))
		die(FAILED, crumb_exchange_why(mine->x), "async", spec, STEPS);
	if (fault && !sick)
		strike(&s, STEPS_OF_FAULT);
	compare_weights(&s, spec);
	for (unsigned k = 0; net->rank == 0 && k < net->losses; k++)
		printf("rank %u is given up\n", net->lost[k]);
	side_close(mine);
	if (alone)
		side_close(alone);
}

static void same(void)
{
	static const char *const async_specs[] = {"adacomp", "twobit:threshold=0.05", "raw"};
	const struct plan *plan;
	const crumb_codec_info *codec;

	for (size_t i = 0; i < sizeof async_specs / sizeof *async_specs; i++) {
		run_async(0, async_specs[i], true, NULL);
		run_async(2, async_specs[i], true, NULL);
		run_async(UINT64_MAX, async_specs[i], false, NULL);
	}
	for (size_t p = 0; (plan = crumb_plan_list(p)) && !plan->between; p++) {
		for (size_t i = 0; (codec = crumb_list(i)); i++) {
			run(plan, codec->name, false, i % 2, NULL);
			if (plan->assign)
				run(plan, codec->name, true, false, NULL);
		}
		run(plan, "terngrad:shared=1", true, true, NULL);
	}
}

static double residual(crumb_packer *packer, size_t i)
{
	const float *owed = packer ? crumb_packer_residual(packer) : NULL;

	return owed ? owed[i] : 0;
}

/* Subtracts the residuals of this rank, as learner and as owner. */
static void take_owed(struct side *side, double *balance)
{
	for (size_t s = 0; s < SLICES; s++)
		for (size_t i = 0; i < model[s].n; i++) {
			double owed = residual(crumb_exchange_mean_packer(side->x, s), i);
			for (size_t l = 0; l < side->own; l++)
				owed += residual(crumb_exchange_packer(side->x, l, s), i) / LEARNERS;
			balance[model[s].at + i] -= owed;
		}
}

static void conserved(void)
{
	const char spec[] = "twobit:threshold=0.05";
	const struct policy policy = policy_of(spec);
	const struct plan *plan;

	for (size_t p = 0; (plan = crumb_plan_list(p)) && !plan->between; p++) {
		struct side *side = side_open(net, plan, &policy, &policy, NULL, 0, false);
		double *mine = calloc((side->own + 1) * TOTAL, sizeof *mine);
		double *all = calloc((size_t)LEARNERS * TOTAL, sizeof *all);
		if (!mine || !all)
			abort();
		for (unsigned step = 0; step < STEPS; step++) {
			if (side_step(side, step, LEARNERS))
				die(FAILED, crumb_exchange_why(side->x), plan->name, spec, step);
			for (size_t l = 0; l < side->own; l++)
				for (size_t i = 0; i < TOTAL; i++)
					mine[i] += (double)side->grad[l][i] / LEARNERS;
		}
		take_owed(side, mine);
		if (crumb_exchange_tell(side->x, mine, TOTAL * sizeof *mine, all))
			die(FAILED, crumb_exchange_why(side->x), plan->name, spec, STEPS);
		for (size_t i = 0; i < TOTAL; i++) {
			double applied = -side->param[i] / 0.1f;
			for (size_t l = 0; l < LEARNERS; l++)
				applied -= all[l * TOTAL + i];
			if (fabs(applied) > 1e-3)
				die(WRONG, "something is lost", plan->name, spec, STEPS);
		}
		free(mine);
		free(all);
		side_close(side);
	}
}

static void held(void)
{
	enum { BYTES = 1 << 25 };
	uint8_t *message = calloc(1, BYTES);
	bool *expected = calloc(net->ranks, sizeof *expected);
	unsigned from;
	crumb_span in;

	if (!message || !expected)
		abort();
	memset(expected + 1, net->rank == 0, net->ranks - 1);
	net->timeout = 8;
	if (net->rank > 0 && net->send(net, 0, (crumb_span){message, BYTES}))
		abort();
	if (net->rank == 0)
		nanosleep(&(struct timespec){0, 500000000}, NULL);
	for (unsigned r = 1; r < net->ranks && net->rank == 0; r++) {
		if (net->receive(net, expected, crumb_seconds() - 0.1, &from, &in) || from == net->ranks)
			die(WRONG, "a message that was sent in time", "async", "raw", 0);
		expected[from] = false;
	}
	for (unsigned r = 1; r < net->ranks && net->rank == 0; r++)
		net->send(net, r, (crumb_span){NULL, 0});
	expected[0] = net->rank > 0;
	if (net->rank > 0 && net->receive(net, expected, INFINITY, &from, &in))
		abort();
	free(message);
	free(expected);
}

int main(int argc, char **argv)
{
	const bool overlaps = argc == 8 && !strncmp(argv[5], "overlap-", 8);
	char why[CRUMB_EXCHANGE_WHY_MAX];

	if (!crumb_mpi_wanted() || crumb_mpi_open(&net, 60, why, sizeof why) < 0)
		return 2;
	if (argc == 2 && !strcmp(argv[1], "same"))
		same();
	else if (argc == 2 && !strcmp(argv[1], "conserved"))
		conserved();
	else if (argc == 2 && !strcmp(argv[1], "held"))
		held();
	else if (argc == 8 && !strcmp(argv[1], "fault") &&
	         (crumb_plan_find(argv[5]) || !strncmp(argv[5], "async-", 6) || overlaps)) {
		const struct fault fault = {argv[2], (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4])};
		const bool bound = argv[5][5] == '-';
		net->timeout = atof(argv[7]);
		if (!strncmp(argv[5], "async", 5))
			run_async(bound ? strtoull(argv[5] + 6, NULL, 10) : UINT64_MAX, argv[6], bound,
			          &fault);
		else
			run(crumb_plan_find(argv[5] + (overlaps ? strlen("overlap-") : 0)), argv[6], false,
			    overlaps, &fault);
	} else {
		return 2;
	}
	if (net->rank == 0)
		printf("all right\n");
	crumb_mpi_close(&net);
	return 0;
}
