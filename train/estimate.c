/* Timing a step, and the link.
 *
 * SPDX-License-Identifier: MIT */
#include "train/estimate.h"
#include "exchange/auto/probe.h"
#include "exchange/seconds.h"
#include "exchange/transport.h"
#include "train/agree.h"
#include "train/layers/init.h"
#include "train/split.h"
#include "train/worker.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 9 }; /* after one that warms up */

/* Returns the median seconds of a step of n samples; -1 on failure, and worker_why says why. */
static double time_steps(const struct options *o, struct worker *worker, const struct data *data,
                         const struct net *net, float *param, float *grad, size_t n)
{
	float *moment[OPTIMIZER_MOST_MOMENTS] = {NULL};
	double seconds[STEPS], loss;
	uint32_t *index = calloc(n, sizeof *index);
	int failed = !index;

	for (size_t i = 0; i < optimizer_moments(&o->optimizer); i++)
		failed |= !(moment[i] = calloc(net->parameters, sizeof **moment));
	init_parameters(net, o->seed, param);
	for (size_t k = 0; k <= STEPS && !failed; k++) {
		const struct optimizer_step step = {o->lr, o->momentum, o->weight_decay, k + 1};
		const double begin = crumb_seconds();
		for (size_t i = 0; i < n; i++)
			index[i] = (uint32_t)((k * n + i) % data->train.count);
		failed = worker_gradient(worker, param, index, n, NULL, grad, &loss, NULL) < 0;
		optimizer_move(&o->optimizer, &step, param, moment, grad, 0, net->parameters);
		if (k > 0)
			seconds[k - 1] = crumb_seconds() - begin;
	}
	for (size_t i = 0; i < OPTIMIZER_MOST_MOMENTS; i++)
		free(moment[i]);
	free(index);
	return failed ? -1 : crumb_seconds_median(seconds, STEPS);
}

int estimate_print(const struct options *o, const struct data *data, const struct net *net,
                   struct crumb_exchange_net *ranks, char *why, size_t cap)
{
	struct worker *worker = worker_open(net, data);
	float *param = calloc(net->parameters, sizeof *param), *grad = calloc(net->parameters, sizeof *grad);
	const size_t n = split_size(o->batch, o->learners, 0);
	double seconds = -1;
	const double dense = 4.0 * (double)net->parameters; /* most bytes that a rank sends in plan shard */
	struct crumb_link link;

	snprintf(why, cap, "out of memory");
	if (worker && param && grad) {
		seconds = time_steps(o, worker, data, net, param, grad, n);
		if (seconds < 0 && worker_why(worker)[0])
			snprintf(why, cap, "%s", worker_why(worker));
	}
	worker_close(worker);
	free(param);
	free(grad);
	if (seconds < 0)
		return -1;
	if (agree_most(ranks, &seconds, why, cap) < 0)
		return -1;
	const int error = ranks ? crumb_probe(&link, ranks, CRUMB_PROBE_ALL, NULL, dense) : 0;
	if (error) {
		snprintf(why, cap, "%s", ranks->why[0] ? ranks->why : crumb_strerror(error));
		return -1;
	}
	if (ranks && ranks->rank > 0)
		return 0;
	const size_t steps = data->train.count / o->batch; /* of an epoch, whose end is an exchange */
	const size_t wanted = o->local_steps > 0 ? o->local_steps : 1,
	             local = wanted < steps ? wanted : steps;
	printf("--batch %zu --compute %.4gms", n * local, 1e3 * seconds * (double)local);
	if (ranks && ranks->ranks > 1)
		printf(" --nodes %u --link %.4gM --latency %.4gus", ranks->ranks,
		       8e-6 * crumb_link_rate(&link, dense), 1e6 * link.latency);
	putchar('\n');
	return 0;
}
