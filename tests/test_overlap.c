/* Overlap: segments go out while gradients are still computed, and means and packers have the bits that they
 * have without, whatever the plan, ranks and codecs, also around a step that is skipped because a gradient is
 * not finite. A gradient is NaN here until it is said to be final: nothing is read too early.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/exchange_cases.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/plan.h"
#include "exchange/seconds.h"
#include "exchange/team.h"
#include "exchange/transport.h"

enum { RANKS = LEARNERS, SEGMENTS = 3, SICK_STEP = 1, NOWHERE = -1 };

struct run {
	const struct plan *plan;
	const struct policy *policy, *down;
	const float *share;
	unsigned ranks;
	bool overlap;
	long sick; /* element of a learner's gradient that is a NaN in one step; NOWHERE */
	unsigned whole, leaver, sleeper; /* ranks that do not overlap, or miss the second step; NONE */
	bool silent;                     /* crumb_exchange_begin is not called */
	/* by the ranks */
	crumb_packer *packer[LEARNERS + 1][SLICES]; /* copies, of debtors and then of the mean */
};

struct seat {
	struct run *run;
	struct crumb_exchange_net *net;
	int opened, error[STEPS];
	char why[STEPS][CRUMB_EXCHANGE_WHY_MAX];
	float *mean[STEPS];
	uint64_t messages, skipped;
	unsigned packed; /* frames of the last step but one */
};

/* ---- ranks as threads ----------------------------------------------------------------------- */

static crumb_packer *copy_of(const crumb_packer *packer)
{
	if (!packer)
		return NULL;
	const size_t size = crumb_packer_size(crumb_packer_codec(packer), crumb_packer_count(packer));
	return memcpy(must(malloc(size)), packer, size);
}

static void keep_packers(struct run *run, struct crumb_exchange *x)
{
	size_t first, count;

	crumb_exchange_debtors(x, &first, &count);
	for (size_t s = 0; s < SLICES; s++) {
		for (size_t d = 0; d < count; d++)
			run->packer[first + d][s] = copy_of(crumb_exchange_debtor_packer(x, d, s));
		crumb_packer *mean = count > 0 ? crumb_exchange_mean_packer(x, s) : NULL;
		if (mean) /* one rank has it */
			run->packer[LEARNERS][s] = copy_of(mean);
	}
}

/* Fills in the gradients from the end on, in pieces that end anywhere, each said to be final at once. */
static void compute(const struct seat *seat, struct crumb_exchange *x, float **grad, size_t first, size_t own,
                    unsigned step)
{
	const struct run *run = seat->run;
	float *all = must(malloc(total * sizeof *all));
	const bool begun = run->overlap && !run->silent;

	for (size_t l = 0; l < own; l++) {
		make_gradient(all, first + l, step);
		if (run->sick != NOWHERE && step == SICK_STEP && first + l == LEARNERS / 2)
			all[run->sick] = NAN;
		for (size_t end = total, at; end > 0; end = at) {
			const size_t piece = 1 + (size_t)crumb_exchange_seed(step, first + l, end) % 3000;
			at = end > piece ? end - piece : 0;
			memcpy(grad[l] + at, all + at, (end - at) * sizeof *all);
			if (begun)
				crumb_exchange_final(x, l, at);
		}
	}
	free(all);
}

static void take_steps(struct seat *seat, struct crumb_exchange *x)
{
	struct run *run = seat->run;
	const unsigned rank = seat->net->rank;
	float *grad[LEARNERS];
	size_t first, own;

	crumb_exchange_learners(x, &first, &own);
	for (size_t l = 0; l < own; l++)
		grad[l] = must(malloc(total * sizeof(float)));
	for (unsigned step = 0; step < STEPS; step++) {
		seat->net->timeout = run->sleeper == NONE || step == 0 ? 0 : 0.2;
		for (size_t l = 0; l < own; l++)
			for (size_t i = 0; i < total; i++)
				grad[l][i] = NAN;
		if (step == 1 && rank == run->sleeper)
			break;
		if (run->overlap && !run->silent)
			seat->error[step] = crumb_exchange_begin(x, (const float *const *)grad, run->share,
			                                         seat->mean[step]);
		if (step == 1 && rank == run->leaver) { /* with a segment under way */
			for (size_t l = 0; l < own; l++) {
				make_gradient(grad[l], first + l, step);
				crumb_exchange_final(x, l, slices[4].at);
			}
			break;
		}
		if (!seat->error[step]) {
			compute(seat, x, grad, first, own, step);
			seat->error[step] = crumb_exchange_step(x, (const float *const *)grad, run->share,
			                                        seat->mean[step]);
		}
		snprintf(seat->why[step], sizeof seat->why[step], "%s", crumb_exchange_why(x));
		for (size_t l = 0; l < own && step == SICK_STEP; l++)
			for (size_t s = 0; s < SLICES; s++)
				seat->packed += crumb_exchange_frame(x, l, s).len > 0;
	}
	if (rank != run->leaver) {
		struct exchange_stats stats;
		crumb_exchange_read_stats(x, &stats);
		seat->messages = stats.link_messages;
		seat->skipped = stats.skipped;
		keep_packers(run, x);
	}
	crumb_exchange_close(x);
	if (rank == run->leaver)
		seat->net->leave(seat->net);
	for (size_t l = 0; l < own; l++)
		free(grad[l]);
}

static void *seat_main(void *arg)
{
	struct seat *seat = arg;
	const struct run *run = seat->run;
	struct team *team = crumb_team_open(1 + seat->net->rank % 2);
	struct crumb_exchange *x = NULL;
	const struct crumb_exchange_config config = {.slices = slices,
	                                             .slice_count = SLICES,
	                                             .plan = run->plan,
	                                             .policy = run->policy,
	                                             .down = run->down,
	                                             .overlap = run->overlap && seat->net->rank != run->whole,
	                                             .segment = 1,
	                                             .learners = LEARNERS,
	                                             .node_size = run->ranks % 2 ? 1 : 2,
	                                             .seed = CASE_SEED,
	                                             .net = seat->net,
	                                             .team = team};

	seat->opened = crumb_exchange_start(&x, &config, seat->why[0], sizeof seat->why[0]);
	if (!seat->opened && run->whole != NONE) {
		seat->error[0] = crumb_exchange_tell(x, NULL, 0, NULL);
		snprintf(seat->why[0], sizeof seat->why[0], "%s", crumb_exchange_why(x));
		crumb_exchange_close(x);
	} else if (!seat->opened) {
		take_steps(seat, x);
	}
	crumb_team_close(team);
	return NULL;
}

static void run_ranks(struct run *run, struct seat *seat)
{
	struct crumb_exchange_net *net[RANKS];

	assert_int_equal(crumb_exchange_threads(net, run->ranks), 0);
	for (unsigned r = 0; r < run->ranks; r++) {
		seat[r] = (struct seat){.run = run, .net = net[r]};
		for (unsigned step = 0; step < STEPS; step++)
			seat[r].mean[step] = must(calloc(total, sizeof(float)));
	}
	in_threads(seat_main, seat, sizeof *seat, run->ranks);
	crumb_threads_close(net, run->ranks);
	for (unsigned r = 0; r < run->ranks; r++)
		assert_int_equal(seat[r].opened, 0);
}

static void free_run(struct run *run, struct seat *seat)
{
	for (size_t l = 0; l <= LEARNERS; l++)
		for (size_t s = 0; s < SLICES; s++)
			free(run->packer[l][s]);
	for (unsigned r = 0; r < run->ranks; r++)
		for (unsigned step = 0; step < STEPS; step++)
			free(seat[r].mean[step]);
}

static struct run plain_run(const struct plan *plan, const struct policy *policy, unsigned ranks)
{
	return (struct run){.plan = plan,
	                    .policy = policy,
	                    .share = even_share,
	                    .ranks = ranks,
	                    .overlap = true,
	                    .sick = NOWHERE,
	                    .whole = NONE,
	                    .leaver = NONE,
	                    .sleeper = NONE};
}

/* ---- the same bits -------------------------------------------------------------------------- */

static void assert_same_packers(const struct run *a, const struct run *b, const char *text)
{
	for (size_t l = 0; l <= LEARNERS; l++)
		for (size_t s = 0; s < SLICES; s++) {
			const crumb_packer *p = a->packer[l][s], *q = b->packer[l][s];
			assert_int_equal(!p, !q);
			if (p && memcmp(p, q, crumb_packer_size(crumb_packer_codec(p), slices[s].n)) != 0)
				fail_msg(
				        "%s, %s, %u ranks, NaN at %ld: packer %zu of slice %zu is another one",
				        a->plan->name, text, a->ranks, a->sick, l, s);
		}
}

static void same_bits_in(struct run whole, const char *text)
{
	struct run overlapped = whole;
	struct seat expected[RANKS], got[RANKS];

	whole.overlap = false;
	run_ranks(&whole, expected);
	run_ranks(&overlapped, got);
	for (unsigned step = 0; step < STEPS; step++)
		for (unsigned r = 0; r < whole.ranks; r++) {
			const bool skips = step == SICK_STEP && whole.sick != NOWHERE;
			assert_int_equal(expected[r].error[step], skips ? CRUMB_ENONFINITE : 0);
			if (got[r].error[step] != expected[r].error[step])
				fail_msg("%s, %s, %u ranks, NaN at %ld, step %u: %s", whole.plan->name, text,
				         whole.ranks, whole.sick, step, got[r].why[step]);
			if (!skips &&
			    memcmp(got[r].mean[step], expected[r].mean[step], total * sizeof(float)) != 0)
				fail_msg("%s, %s, %u ranks, NaN at %ld, step %u: another mean",
				         whole.plan->name, text, whole.ranks, whole.sick, step);
			assert_int_equal(got[r].packed, skips ? 0 : expected[r].packed);
			assert_int_equal(got[r].skipped, whole.sick != NOWHERE);
			if (whole.sick == NOWHERE && !whole.plan->between) {
				const uint64_t most = SEGMENTS * expected[r].messages;
				assert_in_range(got[r].messages, most - most / whole.plan->swaps, most);
			}
		}
	assert_same_packers(&whole, &overlapped, text);
	free_run(&whole, expected);
	free_run(&overlapped, got);
}

static void same_bits_of(struct run run, const char *text)
{
	same_bits_in(run, text);
	run.share = run.ranks % 2 ? even_share : uneven_share;
	run.sick = (long)total - 1; /* seen first, */
	same_bits_in(run, text);
	run.sick = 0; /* and last, with all the rest on its way */
	same_bits_in(run, text);
}

/* Every plan on any number of ranks without a residual, with one, and with learners that agree; the other
 * codecs' defaults with every plan, and their other settings with some. */
static void same_bits_law(const struct policy *policy, const char *text, bool defaults)
{
	static unsigned turn;
	const bool often =
	        !strcmp(text, "raw") || !strcmp(text, "adacomp") || !strcmp(text, "terngrad:shared=1");
	const struct plan *plan;

	for (size_t i = 0; (plan = crumb_plan_list(i)) && plan->mean; i++)
		for (unsigned ranks = 1; ranks <= RANKS; ranks++) {
			struct run run = plain_run(plan, policy, ranks);
			run.down = ranks % 2 && plan->assign ? policy : NULL;
			if (often)
				same_bits_of(run, text);
			run.sick = 0;
			if (!often && turn++ % (defaults ? RANKS : 31) == 0)
				same_bits_in(run, text);
		}
	turn += defaults;
}

static void means_and_packers_are_those_without(void **state)
{
	(void)state;
	for_every_setting(same_bits_law);
}

static void a_rank_may_be_silent(void **state)
{
	const struct policy policy = parse_policy("adacomp");
	const struct plan *plan;

	(void)state;
	for (size_t i = 0; (plan = crumb_plan_list(i)); i++) {
		struct run run = plain_run(plan, &policy, 3);
		run.silent = true;
		if (plan->mean)
			same_bits_in(run, "adacomp");
	}
}

/* ---- it overlaps ---------------------------------------------------------------------------- */

static atomic_uint swaps;
static int (*own_swap)(struct crumb_exchange_net *, const crumb_span *, crumb_span *);

static int counting_swap(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in)
{
	const int error = own_swap(net, out, in);

	if (net->rank == 0)
		swaps++;
	return error;
}

struct half {
	struct crumb_exchange_net *net;
	unsigned seen; /* swaps while the first elements were not final */
	int error;
};

static void *half_main(void *arg)
{
	struct half *half = arg;
	const struct policy policy = parse_policy("raw");
	const struct crumb_exchange_config config = {.slices = slices,
	                                             .slice_count = SLICES,
	                                             .policy = &policy,
	                                             .overlap = true,
	                                             .segment = 1,
	                                             .learners = 2,
	                                             .seed = CASE_SEED,
	                                             .net = half->net};
	const double late = crumb_seconds() + 20;
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	float *grad = must(malloc(total * sizeof *grad)), *mean = must(malloc(total * sizeof *mean));

	const float *const grads[] = {grad};
	make_gradient(grad, half->net->rank, 0);
	half->error = crumb_exchange_start(&x, &config, why, sizeof why);
	half->error = half->error ? half->error : crumb_exchange_begin(x, grads, even_share, mean);
	if (!half->error) {
		crumb_exchange_final(x, 0, slices[4].at);
		while (swaps < 2 && crumb_seconds() < late)
			;
		half->seen = swaps;
		half->error = crumb_exchange_step(x, grads, even_share, mean);
		crumb_exchange_close(x);
	}
	free(grad);
	free(mean);
	return NULL;
}

/* Two ranks wait with the rest of their gradients until the first segment has been swapped. */
static void segments_go_out_early(void **state)
{
	struct crumb_exchange_net *net[2];
	struct half half[2];

	(void)state;
	swaps = 0;
	assert_int_equal(crumb_exchange_threads(net, 2), 0);
	own_swap = net[0]->swap;
	for (unsigned r = 0; r < 2; r++) {
		net[r]->swap = counting_swap;
		half[r] = (struct half){.net = net[r]};
	}
	in_threads(half_main, half, sizeof *half, 2);
	for (unsigned r = 0; r < 2; r++) {
		assert_int_equal(half[r].error, 0);
		assert_true(half[r].seen >= 2); /* frames, and the end */
	}
	crumb_threads_close(net, 2);
}

/* ---- errors --------------------------------------------------------------------------------- */

/* A rank ends in the midst of a step, or does not come to it: the others return its error. */
static void nobody_waits_in_vain(void **state)
{
	const struct policy policy = parse_policy("adacomp");
	const struct plan *plan;

	(void)state;
	for (size_t i = 0; (plan = crumb_plan_list(i)); i++)
		for (unsigned odd = 0; odd < RANKS && plan->mean; odd++)
			for (int sleeps = 0; sleeps < 2; sleeps++) {
				struct run run = plain_run(plan, &policy, RANKS);
				struct seat seat[RANKS];
				*(sleeps ? &run.sleeper : &run.leaver) = odd;
				run_ranks(&run, seat);
				for (unsigned r = 0; r < RANKS; r++) {
					if (r == odd)
						continue;
					assert_int_equal(seat[r].error[0], 0);
					assert_int_equal(seat[r].error[1], CRUMB_EPEER);
					assert_non_null(strstr(seat[r].why[1], "step 1: rank"));
					assert_int_equal(seat[r].error[2], CRUMB_EPEER);
				}
				free_run(&run, seat);
			}
}

/* A rank that divides a step otherwise is found when ranks first tell each other anything. */
static void ranks_overlap_alike(void **state)
{
	const struct policy policy = parse_policy("raw");
	const struct plan *plan;

	(void)state;
	for (size_t i = 0; (plan = crumb_plan_list(i)); i++) {
		struct run run = plain_run(plan, &policy, 3);
		struct seat seat[RANKS];
		if (!plan->mean)
			continue;
		run.whole = 2;
		run_ranks(&run, seat);
		for (unsigned r = 0; r < 3; r++) {
			assert_int_equal(seat[r].error[0], CRUMB_EFRAME);
			assert_non_null(strstr(seat[r].why[0], "overlaps otherwise"));
		}
		free_run(&run, seat);
	}
}

static int no_swap(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in)
{
	(void)net, (void)out, (void)in;
	return CRUMB_EPEER;
}

static void misuse_is_refused(void **state)
{
	struct crumb_exchange_net net = {.ranks = 1, .swap = no_swap};
	struct crumb_exchange_config config = {.slices = slices,
	                                       .slice_count = SLICES,
	                                       .overlap = true,
	                                       .segment = 1,
	                                       .learners = 1,
	                                       .net = &net};
	float *grad = must(calloc(total, sizeof *grad)), *mean = must(calloc(total, sizeof *mean));
	const float *const grads[] = {grad}, *const others[] = {mean}, share = 1;
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];

	(void)state;
	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), CRUMB_EINVAL);
	assert_non_null(strstr(why, "MPI_THREAD_SERIALIZED"));
	config.net = NULL;
	config.plan = crumb_plan_find("async");
	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), CRUMB_EINVAL);
	config.plan = NULL;
	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	assert_int_equal(crumb_exchange_change(x, &config, why, sizeof why), CRUMB_EINVAL);
	config.overlap = false;
	assert_int_equal(crumb_exchange_change(x, &config, why, sizeof why), CRUMB_EINVAL);
	assert_int_equal(crumb_exchange_begin(x, grads, &share, mean), 0);
	assert_int_equal(crumb_exchange_step(x, others, &share, mean), CRUMB_EINVAL);
	assert_non_null(strstr(crumb_exchange_why(x), "other arrays"));
	assert_int_equal(crumb_exchange_begin(x, grads, &share, mean), CRUMB_EINVAL); /* it has failed */
	crumb_exchange_close(x);
	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	assert_int_equal(crumb_exchange_begin(x, grads, &share, mean), CRUMB_EINVAL);
	assert_int_equal(crumb_exchange_step(x, grads, &share, mean), 0);
	crumb_exchange_close(x);
	free(grad);
	free(mean);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(means_and_packers_are_those_without),
	        cmocka_unit_test(a_rank_may_be_silent),
	        cmocka_unit_test(segments_go_out_early),
	        cmocka_unit_test(nobody_waits_in_vain),
	        cmocka_unit_test(ranks_overlap_alike),
	        cmocka_unit_test(misuse_is_refused),
	};

	place_slices();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
