/* Plans that know nodes: the mean is that of an exchange between nodes of the nodes' own means, to the bit on
 * every rank; nothing is lost; and one rank's fault is everybody's.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/exchange_cases.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/message.h"
#include "exchange/plan.h"
#include "exchange/team.h"
#include "exchange/transport.h"

enum { MOST_NODES = 4, MOST_LEARNERS = 8, FLOATS = 20000 };

struct run {
	const struct plan *plan;
	const struct policy *policy, *odd_policy; /* odd_policy: of the odd rank */
	unsigned ranks, node_size;
	size_t learners;
	const float *weight;
	int (*swap)(struct crumb_exchange_net *, const crumb_span *,
	            crumb_span *); /* of rank 0; NULL: its own */
	unsigned odd;              /* a rank that ... */
	bool sick, leaves;         /* has a NaN in step 1; leaves before it */
};

struct seat {
	const struct run *run;
	struct crumb_exchange_net *net;
	int opened, error[STEPS];
	char why[STEPS][CRUMB_EXCHANGE_WHY_MAX];
	float mean[STEPS][FLOATS];
	double owed[FLOATS]; /* by this rank, weighted */
	struct exchange_stats stats;
};

static const float eighths[MOST_LEARNERS] = {0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f};
static const float odd_weights[MOST_LEARNERS] = {0.3f, 0.1f, 0.2f, 0.05f, 0.05f, 0.1f, 0.15f, 0.05f};

static size_t learners_before(const struct run *run, unsigned rank)
{
	return rank * run->learners / run->ranks;
}

static float node_weight(const struct run *run, unsigned node)
{
	float sum = 0;

	for (size_t l = learners_before(run, node * run->node_size);
	     l < learners_before(run, (node + 1) * run->node_size); l++)
		sum += run->weight[l];
	return sum;
}

static void add_owed(double *owed, crumb_packer *packer, size_t s, double weight)
{
	const float *residual = packer ? crumb_packer_residual(packer) : NULL;

	for (size_t i = 0; residual && i < slices[s].n; i++)
		owed[slices[s].at + i] += weight * residual[i];
}

static void *seat_main(void *arg)
{
	struct seat *seat = arg;
	const struct run *run = seat->run;
	const bool odd = seat->net->rank == run->odd;
	struct team *team = crumb_team_open(1 + seat->net->rank % 2);
	const struct crumb_exchange_config config = {.slices = slices,
	                                             .slice_count = SLICES,
	                                             .plan = run->plan,
	                                             .policy = odd && run->odd_policy ? run->odd_policy
	                                                                              : run->policy,
	                                             .down = run->policy,
	                                             .learners = run->learners,
	                                             .node_size = run->node_size,
	                                             .seed = CASE_SEED,
	                                             .net = seat->net,
	                                             .team = team};
	struct crumb_exchange *x;
	float *grad[MOST_LEARNERS];
	size_t first, own;

	seat->opened = crumb_exchange_start(&x, &config, seat->why[0], sizeof seat->why[0]);
	if (seat->opened) {
		crumb_team_close(team);
		return NULL;
	}
	crumb_exchange_learners(x, &first, &own);
	for (size_t l = 0; l < own; l++)
		grad[l] = must(malloc(total * sizeof(float)));
	for (unsigned step = 0; step < STEPS; step++) {
		if (odd && run->leaves && step == 1) {
			seat->net->leave(seat->net);
			break;
		}
		for (size_t l = 0; l < own; l++) {
			make_gradient(grad[l], first + l, step);
			if (odd && run->sick && step == 1)
				grad[l][total / 3] = NAN;
		}
		seat->error[step] =
		        crumb_exchange_step(x, (const float *const *)grad, run->weight, seat->mean[step]);
		snprintf(seat->why[step], sizeof seat->why[step], "%s", crumb_exchange_why(x));
	}
	for (size_t s = 0; s < SLICES; s++) {
		if (own && seat->net->rank % run->node_size == 0)
			add_owed(seat->owed, crumb_exchange_packer(x, 0, s), s,
			         node_weight(run, seat->net->rank / run->node_size));
		add_owed(seat->owed, crumb_exchange_mean_packer(x, s), s, 1);
	}
	crumb_exchange_read_stats(x, &seat->stats);
	for (size_t l = 0; l < own; l++)
		free(grad[l]);
	crumb_exchange_close(x);
	crumb_team_close(team);
	return NULL;
}

static int (*own_swap)(struct crumb_exchange_net *, const crumb_span *, crumb_span *);

/* Damages what the second leader sends rank 0 after the vote between nodes. */
static int damaging_swap(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in)
{
	static unsigned char copy[1 << 20];
	static unsigned swaps;
	const int error = own_swap(net, out, in);

	if (!error && ++swaps == 4) {
		assert_true(in[2].len < sizeof copy);
		memcpy(copy, in[2].data, in[2].len);
		copy[sizeof(struct message_head)] ^= 1;
		in[2].data = copy;
	}
	return error;
}

static struct seat *take_seats(const struct run *run)
{
	struct seat *seat = must(calloc(run->ranks, sizeof *seat));
	struct crumb_exchange_net *net[MOST_LEARNERS];

	assert_true(total <= FLOATS);
	assert_int_equal(crumb_exchange_threads(net, run->ranks), 0);
	for (unsigned r = 0; r < run->ranks; r++) {
		seat[r].run = run;
		seat[r].net = net[r];
		if (r == 0 && run->swap) {
			own_swap = net[r]->swap;
			net[r]->swap = run->swap;
		}
	}
	in_threads(seat_main, seat, sizeof *seat, run->ranks);
	crumb_threads_close(net, run->ranks);
	return seat;
}

/* The means that an exchange in one thread makes of the means of nodes; skipped: a step that is left out. */
static void expect(const struct run *run, unsigned skipped, float (*mean)[FLOATS])
{
	const unsigned nodes = run->ranks / run->node_size;
	const struct crumb_exchange_config config = {.slices = slices,
	                                             .slice_count = SLICES,
	                                             .plan = run->plan->between,
	                                             .policy = run->policy,
	                                             .down = run->policy,
	                                             .learners = nodes,
	                                             .seed = CASE_SEED};
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	float *grad = must(malloc(total * sizeof *grad)), *node[MOST_NODES], weight[MOST_NODES];

	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	for (unsigned k = 0; k < nodes; k++) {
		node[k] = must(malloc(total * sizeof(float)));
		weight[k] = node_weight(run, k);
	}
	for (unsigned step = 0; step < STEPS; step++) {
		for (unsigned k = 0; k < nodes; k++) {
			memset(node[k], 0, total * sizeof(float));
			for (size_t l = learners_before(run, k * run->node_size);
			     l < learners_before(run, (k + 1) * run->node_size); l++) {
				const float share = run->weight[l] / weight[k];
				make_gradient(grad, l, step);
				for (size_t i = 0; i < total; i++)
					node[k][i] += share * grad[i];
			}
		}
		if (step != skipped)
			assert_int_equal(
			        crumb_exchange_step(x, (const float *const *)node, weight, mean[step]), 0);
	}
	for (unsigned k = 0; k < nodes; k++)
		free(node[k]);
	free(grad);
	crumb_exchange_close(x);
}

static void assert_means(const struct run *run, unsigned skipped, const char *text)
{
	struct seat *seat = take_seats(run);
	float(*mean)[FLOATS] = must(calloc(STEPS, sizeof *mean));
	const unsigned between = skipped == NONE ? STEPS : STEPS - 1; /* steps in which nodes swap */
	uint64_t frames = 0;

	expect(run, skipped, mean);
	for (unsigned r = 0; r < run->ranks; r++) {
		assert_int_equal(seat[r].opened, 0);
		for (unsigned step = 0; step < STEPS; step++) {
			if (seat[r].error[step] != (step == skipped ? CRUMB_ENONFINITE : 0))
				fail_msg("%s, %s: rank %u, step %u: %s", text, run->plan->name, r, step,
				         seat[r].why[step]);
			if (step != skipped &&
			    memcmp(seat[r].mean[step], mean[step], total * sizeof(float)) != 0)
				fail_msg("%s, %s: %u ranks of %u a node: other bits on rank %u, step %u",
				         text, run->plan->name, run->ranks, run->node_size, r, step);
		}
		for (int kind = 0; kind < CRUMB_KINDS; kind++)
			frames += seat[r].stats.bytes[kind];
		assert_true(r % run->node_size == 0 || seat[r].stats.bytes[CRUMB_FC] == 0);
		assert_int_equal(seat[r].stats.link_messages,
		                 STEPS * (run->ranks - 1) * 3 +
		                         (r % run->node_size ? 0
		                                             : between * (run->ranks / run->node_size - 1) *
		                                                       run->plan->between->swaps));
	}
	assert_true(frames > 0);
	free(mean);
	free(seat);
}

static const struct plan *tiers(size_t i) { return crumb_plan_find(i ? "tiers-shard" : "tiers"); }

static void the_mean_is_that_of_the_nodes_means(void **state)
{
	static const unsigned shape[][2] = {{4, 2}, {4, 1}, {4, 4}, {6, 3}, {8, 2}, {1, 1}};

	(void)state;
	for (size_t i = 0; crumb_list(i); i++) {
		const struct policy policy = parse_policy(crumb_list(i)->name);
		for (size_t p = 0; p < 2; p++)
			for (size_t k = 0; k < sizeof shape / sizeof shape[0]; k++) {
				const struct run run = {.plan = tiers(p),
				                        .policy = &policy,
				                        .ranks = shape[k][0],
				                        .node_size = shape[k][1],
				                        .learners = MOST_LEARNERS,
				                        .weight = k % 2 ? odd_weights : eighths,
				                        .odd = NONE};
				assert_means(&run, NONE, crumb_list(i)->name);
			}
	}
}

/* With raw the mean is gather's, to rounding. */
static void raw_is_gather(void **state)
{
	const struct policy policy = parse_policy("raw");
	struct run run = {.policy = &policy,
	                  .ranks = 4,
	                  .node_size = 2,
	                  .learners = MOST_LEARNERS,
	                  .weight = odd_weights,
	                  .odd = NONE};

	(void)state;
	run.plan = crumb_plan_find("gather");
	struct seat *gather = take_seats(&run);
	for (size_t p = 0; p < 2; p++) {
		run.plan = tiers(p);
		struct seat *seat = take_seats(&run);
		for (unsigned step = 0; step < STEPS; step++)
			for (size_t i = 0; i < total; i++)
				assert_true(fabsf(seat[3].mean[step][i] - gather[3].mean[step][i]) <= 1e-6f);
		free(seat);
	}
	free(gather);
}

/* The weighted gradients are what arrived and what nodes owe. */
static void nothing_is_lost(void **state)
{
	static const char *const specs[] = {"twobit:threshold=0.05", "adacomp", "sign", "topk"};

	(void)state;
	for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
		for (size_t p = 0; p < 2; p++) {
			const struct policy policy = parse_policy(specs[i]);
			const struct run run = {.plan = tiers(p),
			                        .policy = &policy,
			                        .ranks = 4,
			                        .node_size = 2,
			                        .learners = MOST_LEARNERS,
			                        .weight = odd_weights,
			                        .odd = NONE};
			struct seat *seat = take_seats(&run);
			float *grad = must(malloc(total * sizeof *grad));
			double *left = must(calloc(total, sizeof *left));
			for (unsigned step = 0; step < STEPS; step++)
				for (size_t l = 0; l < run.learners; l++) {
					make_gradient(grad, l, step);
					for (size_t k = 0; k < total; k++)
						left[k] += (double)run.weight[l] * grad[k] -
						           (l ? 0 : (double)seat[0].mean[step][k]);
				}
			for (unsigned r = 0; r < run.ranks; r++)
				for (size_t k = 0; k < total; k++)
					left[k] -= seat[r].owed[k];
			for (size_t k = 0; k < total; k++)
				if (fabs(left[k]) > 1e-5)
					fail_msg("%s, %s: element %zu: %g is lost", run.plan->name, specs[i],
					         k, left[k]);
			free(left);
			free(grad);
			free(seat);
		}
}

static void a_nan_is_skipped_together(void **state)
{
	const struct policy policy = parse_policy("twobit");

	(void)state;
	for (size_t p = 0; p < 2; p++)
		for (unsigned odd = 0; odd < 4; odd++) {
			const struct run run = {.plan = tiers(p),
			                        .policy = &policy,
			                        .ranks = 4,
			                        .node_size = 2,
			                        .learners = MOST_LEARNERS,
			                        .weight = eighths,
			                        .odd = odd,
			                        .sick = true};
			assert_means(&run, 1, "a NaN");
		}
}

static void one_ranks_fault_is_everybodys(void **state)
{
	const struct policy policy = parse_policy("twobit"), other = parse_policy("sign");

	(void)state;
	for (size_t p = 0; p < 2; p++)
		for (unsigned odd = 0; odd < 4; odd++)
			for (int leaves = 0; leaves < 2; leaves++) {
				const struct run run = {.plan = tiers(p),
				                        .policy = &policy,
				                        .odd_policy = leaves ? NULL : &other,
				                        .ranks = 4,
				                        .node_size = 2,
				                        .learners = MOST_LEARNERS,
				                        .weight = eighths,
				                        .odd = odd,
				                        .leaves = leaves};
				struct seat *seat = take_seats(&run);
				for (unsigned r = 0; r < run.ranks; r++)
					for (unsigned step = (unsigned)leaves;
					     step < STEPS && (r != odd || !leaves); step++) {
						assert_int_equal(seat[r].error[step],
						                 leaves ? CRUMB_EPEER : CRUMB_EFRAME);
						assert_true(strlen(seat[r].why[step]) > 0);
					}
				free(seat);
			}
}

/* Texts about leaders have their numbers among all ranks. */
static void leaders_are_called_ranks(void **state)
{
	const struct policy policy = parse_policy("twobit");
	const struct run run = {.plan = tiers(0),
	                        .policy = &policy,
	                        .ranks = 4,
	                        .node_size = 2,
	                        .learners = MOST_LEARNERS,
	                        .weight = eighths,
	                        .swap = damaging_swap,
	                        .odd = NONE};
	struct seat *seat = take_seats(&run);

	(void)state;
	assert_int_equal(seat[0].error[0], CRUMB_EFRAME);
	assert_string_equal(seat[0].why[0],
	                    "between nodes: step 0: rank 0: the message of rank 2 is damaged");
	free(seat);
}

static void nodes_are_whole(void **state)
{
	const struct policy policy = parse_policy("sign");
	const struct run run = {.plan = tiers(0),
	                        .policy = &policy,
	                        .ranks = 4,
	                        .node_size = 3,
	                        .learners = 4,
	                        .weight = eighths,
	                        .odd = NONE};
	struct seat *seat = take_seats(&run);

	(void)state;
	for (unsigned r = 0; r < run.ranks; r++) {
		assert_int_equal(seat[r].opened, CRUMB_EINVAL);
		assert_string_equal(seat[r].why[0], "4 ranks are no nodes of 3");
	}
	free(seat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_mean_is_that_of_the_nodes_means),
	        cmocka_unit_test(raw_is_gather),
	        cmocka_unit_test(nothing_is_lost),
	        cmocka_unit_test(a_nan_is_skipped_together),
	        cmocka_unit_test(one_ranks_fault_is_everybodys),
	        cmocka_unit_test(leaders_are_called_ranks),
	        cmocka_unit_test(nodes_are_whole),
	};
	place_slices();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
