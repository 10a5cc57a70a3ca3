/* One step of the exchange on simulated ranks, beside the closed form: step MODEL POLICY DOWN PLAN RATE
 * LATENCY TOGETHER COMPUTE
 *
 * DOWN: a policy, or exact. PLAN: one of exchange/plan.h's, or all-reduce, which is MPI's own on f32. RATE:
 * bytes a second of a node's port, LATENCY: seconds from rank to rank, both for the closed form. TOGETHER:
 * ranks of a node, which share its port. COMPUTE: seconds for which each worker of plan async computes before
 * a push, at random within a half of it more or less, so that workers do not keep step; its step is the mean
 * over many, at the server. Rank 0 prints, in CSV: ranks, bytes up, bytes down, the busiest owner's share,
 * simulated seconds, predicted seconds. Gradients are the same everywhere, and so are means: all ranks keep
 * them in the same memory.
 *
 * SPDX-License-Identifier: MIT */
#include "bench/simgrid/simulated.h"
#include "exchange/auto/cost.h"
#include "exchange/exchange.h"
#include "exchange/plan.h"
#include "exchange/plans/async.h"
#include "exchange/policy.h"
#include "nets/sizes.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ASYNC_STEPS = 24, ASYNC_WARM = 8 }; /* of an epoch; those that are not counted */

static void fail(const char *what)
{
	fprintf(stderr, "step: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Gaussian enough, and with tensors of unlike sizes. */
static void fill(float *grad, const struct sizes *sizes)
{
	uint64_t state = 1;

	for (size_t t = 0; t < sizes->count; t++) {
		const struct crumb_slice *slice = &sizes->tensor[t];
		for (size_t i = 0; i < slice->n; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			const int a = (int)(state >> 33 & 0xffff), b = (int)(state >> 48),
			          c = (int)(state >> 17 & 0xffff);
			grad[slice->at + i] = (float)(a + b + c - 98304) * 1e-6f / (float)(t + 1);
		}
	}
}

static double sum(const uint64_t *kind)
{
	double all = 0;
	for (int k = 0; k < CRUMB_KINDS; k++)
		all += (double)kind[k];
	return all;
}

/* The largest share of the gradient that a rank averages. */
static double busiest_share(struct crumb_exchange *x, const struct crumb_slice *slice, size_t slices,
                            size_t n)
{
	double own = 0, most;
	for (size_t s = 0; s < slices; s++)
		own += crumb_exchange_mean_packer(x, s) ? (double)slice[s].n / (double)n : 0;
	MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return most;
}

struct result {
	double up, down, share, start, end;
	struct crumb_load load;
	struct crumb_load async[CRUMB_ASYNC_LOADS]; /* instead, of plan async */
};

static void all_reduce(struct result *result, unsigned ranks, size_t n)
{
	float *grad = SMPI_SHARED_MALLOC(n * sizeof *grad), *mean = SMPI_SHARED_MALLOC(n * sizeof *mean);
	MPI_Barrier(MPI_COMM_WORLD);
	const double start = MPI_Wtime();
	MPI_Allreduce(grad, mean, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	*result = (struct result){.up = 4.0 * (double)n, .start = start, .end = MPI_Wtime()};
	result->load = crumb_cost_ring(ranks, result->up);
	SMPI_SHARED_FREE(grad);
	SMPI_SHARED_FREE(mean);
}

/* Returns the load of a node's port. */
static struct crumb_load load_of(const struct plan *plan, const struct crumb_exchange_net *net, double share,
                                 const struct crumb_cost_frames *up, const struct crumb_cost_frames *down,
                                 double dense)
{
	const struct plan *packing = plan->between ? plan->between : plan;
	const unsigned ranks = plan->between ? net->ranks / net->local : net->ranks;
	struct crumb_load load =
	        packing->assign ? crumb_cost_owner(ranks, share, up, down) : crumb_cost_gather(ranks, up);
	const struct crumb_cost_frames raw = {.bytes = dense};

	if (plan->between)
		crumb_cost_tiers(&load, net->local, &raw);
	else
		crumb_cost_crowd(&load, ranks, net->local, share < 1 ? net->local : 1);
	return load;
}

/* When the server takes pushes. */
struct pushes {
	uint64_t warm; /* parts that are not counted */
	uint64_t first, last;
	double start, end;
};

static int take_push(void *arg, float share, uint64_t taken)
{
	struct pushes *pushes = arg;
	(void)share;
	if (taken < pushes->warm)
		pushes->first = taken, pushes->start = MPI_Wtime();
	pushes->last = taken, pushes->end = MPI_Wtime();
	return 0;
}

/* Has workers compute and push, and writes the mean time of a step of all of them. */
static void async_step(struct result *result, struct crumb_exchange *x, struct crumb_exchange_net *net,
                       const float *share, const float *grad, size_t n, double compute)
{
	const unsigned workers = net->ranks - 1;
	struct pushes pushes = {.warm = (uint64_t)ASYNC_WARM * workers};
	/* Workers share what they pull, which nobody looks at. */
	float *param = net->rank ? SMPI_SHARED_MALLOC(n * sizeof *param) : calloc(n, sizeof *param);
	float *mean = net->rank ? NULL : calloc(n, sizeof *mean);
	const struct async_epoch epoch = {.parts = (uint64_t)ASYNC_STEPS * workers,
	                                  .weight = share,
	                                  .param = param,
	                                  .mean = mean,
	                                  .move = take_push,
	                                  .arg = &pushes};
	struct async_work work;
	uint64_t random = net->rank;
	if (!param || (!mean && net->rank == 0))
		fail("not enough memory");
	crumb_async_begin(x, &epoch, &work);
	while (net->rank && work.count) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		usleep((useconds_t)(1e6 * compute * (0.5 + (double)(random >> 40) * 0x1p-24)));
		if (crumb_async_swap(x, (const float *const[]){grad}, &work) < 0)
			fail(crumb_exchange_why(x));
		if (result->up == 0) {
			struct exchange_stats stats;
			crumb_exchange_read_stats(x, &stats);
			result->up = sum(stats.bytes);
			result->down = sum(stats.down);
		}
	}
	if (net->rank == 0 && crumb_async_serve(x) < 0)
		fail(crumb_exchange_why(x));
	MPI_Bcast(&result->up, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
	MPI_Bcast(&result->down, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
	if (net->rank == 0)
		result->end = (pushes.end - pushes.start) * workers / (double)(pushes.last - pushes.first);
	const struct crumb_cost_frames up = {.bytes = result->up}, down = {.bytes = result->down};
	crumb_cost_async(result->async, workers, net->ranks - net->local, &up, &down);
}

static void one_step(struct result *result, struct crumb_exchange_net *net, const struct sizes *sizes,
                     const struct policy *up, const struct policy *down, const struct plan *plan,
                     double compute)
{
	const size_t slices = crumb_slices_cut(sizes->tensor, sizes->count, plan->longest_slice, NULL);
	struct crumb_slice *slice = calloc(slices, sizeof *slice);
	float *share = calloc(net->ranks, sizeof *share);
	float *grad = SMPI_SHARED_MALLOC(sizes->parameters * sizeof *grad),
	      *mean = SMPI_SHARED_MALLOC(sizes->parameters * sizeof *mean);
	if (!slice || !share || !grad || !mean)
		fail("not enough memory");
	crumb_slices_cut(sizes->tensor, sizes->count, plan->longest_slice, slice);
	for (unsigned r = 0; r < net->ranks; r++)
		share[r] = 1.0f / (float)net->ranks;
	if (net->rank == 0)
		fill(grad, sizes);

	const struct crumb_exchange_config config = {.slices = slice,
	                                             .slice_count = slices,
	                                             .policy = up,
	                                             .down = down,
	                                             .plan = plan,
	                                             .staleness = UINT64_MAX,
	                                             .learners = net->ranks - (plan->serves ? 1 : 0),
	                                             .seed = 1,
	                                             .net = net};
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	if (crumb_exchange_start(&x, &config, why, sizeof why) < 0)
		fail(why);
	MPI_Barrier(MPI_COMM_WORLD);
	if (plan->serves) {
		*result = (struct result){.share = 1};
		async_step(result, x, net, share, grad, sizes->parameters, compute);
		return;
	}
	const double start = MPI_Wtime();
	if (crumb_exchange_step(x, (const float *const[]){grad}, share, mean) < 0)
		fail(crumb_exchange_why(x));

	struct exchange_stats stats;
	crumb_exchange_read_stats(x, &stats);
	*result = (struct result){.up = sum(stats.bytes),
	                          .down = sum(stats.down),
	                          .share = busiest_share(x, slice, slices, sizes->parameters),
	                          .start = start,
	                          .end = simulated_end(net)};
	const struct crumb_cost_frames frames = {.bytes = result->up}, means = {.bytes = result->down};
	result->load = load_of(plan, net, result->share, &frames, &means, 4.0 * (double)sizes->parameters);
	result->load.messages *= simulated_groups(net->ranks);
}

int main(int argc, char **argv)
{
	const struct plan *plan = argc == 9 ? crumb_plan_find(argv[4]) : NULL;
	struct crumb_exchange_net *net =
	        simulated_open(argc == 9 ? (unsigned)atoi(argv[7]) : 1, plan ? plan->swaps : 0);
	static struct sizes sizes;
	static struct policy up, down;
	struct result result;
	double start, end;

	if (argc != 9)
		fail("step MODEL POLICY DOWN PLAN RATE LATENCY TOGETHER COMPUTE");
	const bool exact = !strcmp(argv[3], "exact");
	if (sizes_find(&sizes, argv[1]) || crumb_policy_parse(&up, argv[2], NULL) ||
	    (!exact && crumb_policy_parse(&down, argv[3], NULL)) || (!plan && strcmp(argv[4], "all-reduce")))
		fail("no such model, policy or plan");
	if (plan)
		one_step(&result, net, &sizes, &up, exact ? NULL : &down, plan, atof(argv[8]));
	else
		all_reduce(&result, net->ranks, sizes.parameters);
	/* All can begin with the last rank that does. */
	MPI_Reduce(&result.start, &start, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(&result.end, &end, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (net->rank == 0) {
		const struct crumb_cluster cluster = {.nodes = net->ranks / net->local,
		                                      .gpus = 1,
		                                      .network_rate = atof(argv[5]),
		                                      .network_latency = atof(argv[6]),
		                                      .gpu_rate = INFINITY,
		                                      .host_rate = INFINITY};
		result.load.codec = 0; /* simulated ranks compute in no time */
		const struct crumb_cost cost =
		        plan && plan->serves ? crumb_cost_async_step(&cluster, result.async, atof(argv[8]), 0)
		                             : crumb_cost_step(&cluster, &result.load, 0, 0);
		printf("%u,%.0f,%.0f,%.5f,%.6f,%.6f\n", net->ranks, result.up, result.down, result.share,
		       end - start, crumb_cost_total(&cost));
	}
	MPI_Finalize();
	return 0;
}
