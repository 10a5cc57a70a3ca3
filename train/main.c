/* crumb-train: trains a network with compressed gradients, and compares codecs.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "exchange/team.h"
#include "exchange/transport.h"
#include "nets/net.h"
#include "program/program.h"
#include "train/agree.h"
#include "train/data/data.h"
#include "train/estimate.h"
#include "train/idle_rules.h"
#include "train/options/options.h"
#include "train/report/dump.h"
#include "train/report/live_page.h"
#include "train/report/log.h"
#include "train/report/table.h"
#include "train/train.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define START_SECONDS 60 /* for MPI to start, before options are read */

static bool drops(const struct net *net)
{
	for (size_t i = 1; i < net->layer_count; i++)
		if (net->layer[i].layer.type == LAYER_FC)
			return true;
	return false;
}

static int load(const struct options *o, struct data *data, struct net *net, char *why, size_t cap)
{
	if (data_open(data, o->data, o->model->input.height, why, cap) < 0 ||
	    data_augment(data, &o->augment, why, cap) < 0 || (o->whiten && data_whiten(data, why, cap) < 0) ||
	    net_open(net, o->model, data->shape, why, cap) < 0)
		return -1;
	if (net->classes != data->classes) {
		snprintf(why, cap, "%s tells %d classes apart, %s has %d", o->model->name, net->classes,
		         o->data, data->classes);
		return -1;
	}
	if (net->places != data->places) {
		snprintf(why, cap, "%s judges %d places of a sample, %s labels %d", o->model->name,
		         net->places, o->data, data->places);
		return -1;
	}
	if (o->flat)
		net_flatten(net);
	net->dropout = (float)o->dropout;
	net->carries = o->carry_state;
	if (o->carry_state && net->states == 0) {
		snprintf(why, cap, "%s has no layer for --carry-state", o->model->name);
		return -1;
	}
	if (o->dropout > 0 && !drops(net)) {
		snprintf(why, cap, "%s has no layer for --dropout", o->model->name);
		return -1;
	}
	if (data->train.count < o->batch) {
		snprintf(why, cap, "%s has fewer samples, %zu, than a batch of %zu", o->data,
		         data->train.count, o->batch);
		return -1;
	}
	return 0;
}

/* Returns this rank's share of the CPUs, which ranks of one machine divide. */
static size_t share_of_cpus(const struct crumb_exchange_net *ranks)
{
	const size_t cpus = options_cpus(), share = ranks ? cpus / ranks->local : cpus;
	return share > 0 ? share : 1;
}

/* Runs all codecs one after another, also after one that diverges. *done: those that came to an end. */
static int train_all(const struct train_setting *setting, struct report *run, size_t *done, char *why,
                     size_t cap)
{
	for (*done = 0; *done < setting->options->codec_count; ++*done) {
		if (train_run(setting, *done, &run[*done], why, cap) < 0)
			return -1;
		if (run[*done].diverged && (!setting->ranks || setting->ranks->rank == 0))
			program_say("crumb-train: %s", why);
	}
	return 0;
}

static bool any_diverged(const struct report *run, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (run[i].diverged)
			return true;
	return false;
}

static int compare(const struct options *o, const struct data *data, const struct net *net,
                   struct crumb_exchange_net *ranks, char *why, size_t cap)
{
	struct report run[OPTIONS_MOST_CODECS];
	struct log log;
	size_t done = 0;
	const unsigned rank = ranks ? ranks->rank : 0;
	const size_t threads = o->threads ? o->threads : share_of_cpus(ranks);
	struct team *team = crumb_team_open((unsigned)threads);
	if (!team) {
		snprintf(why, cap, "%zu threads cannot be started", threads);
		return -1;
	}
	int result = log_open(&log, o, rank, ranks ? ranks->ranks : 1, why, cap);
	if (result == 0) {
		struct live_page page;
		const struct train_setting setting = {o, data, net, team, ranks, &log, &page};
		result = live_page_open(&page, o, rank, why, cap);
		if (result == 0 && o->dump_gradients)
			result = dump_open(o->dump_gradients, rank == 0 && !o->resume, why, cap);
		if (result == 0)
			result = train_all(&setting, run, &done, why, cap);
		char late[512];
		const int closed = log_close(&log, late, sizeof late);
		if ((live_page_close(&page, late, sizeof late) < 0 || closed < 0) && result == 0) {
			snprintf(why, cap, "%s", late);
			result = -1;
		}
	}
	const bool diverged = any_diverged(run, done);
	if (done > 0 && rank == 0 && !(diverged && o->codec_count == 1)) /* it would say nothing */
		table_print(stdout, o, run, done);
	if (diverged && result == 0) {
		/* Nobody ends the job before all have written their logs. */
		if (ranks && ranks->losses == 0)
			agree_meet(ranks, why, cap);
		*why = 0; /* it is said */
		result = -1;
	}
	crumb_team_close(team);
	return result;
}

static int run(const struct options *options, struct crumb_exchange_net *ranks)
{
	static struct data data;
	static struct net net;
	char why[4608] = "";
	int result = load(options, &data, &net, why, sizeof why);
	if (result == 0)
		result = agree(options, &data, ranks, why, sizeof why);
	if (result == 0)
		result = idle_rules_check(options, &net, !ranks || ranks->rank == 0, why, sizeof why);
	if (result == 0)
		result = options->estimate ? estimate_print(options, &data, &net, ranks, why, sizeof why)
		                           : compare(options, &data, &net, ranks, why, sizeof why);
	data_close(&data);
	if (result < 0 && *why)
		program_say("crumb-train: %s", why);
	return result < 0 ? STATUS_FAILED : 0;
}

static int start_ranks(struct crumb_exchange_net **ranks)
{
	char why[256];
	if (!crumb_mpi_wanted() || crumb_mpi_open(ranks, START_SECONDS, why, sizeof why) == 0)
		return 0;
	fprintf(stderr, "crumb-train: %s\n", why);
	return -1;
}

/* Buffers the message of a rank above 0, which end_ranks prints rank by rank: all ranks notice most failures
 * at once, and the first one that aborts ends them all. */
static void hold_back(const struct crumb_exchange_net *ranks)
{
	static char held[1 << 16];
	if (ranks && ranks->rank > 0)
		setvbuf(stderr, held, _IOFBF, sizeof held);
}

static int end_ranks(struct crumb_exchange_net *ranks, int status)
{
	if (ranks && status) {
		const unsigned turn = ranks->rank < 20 ? ranks->rank : 20;
		nanosleep(&(struct timespec){turn / 10, turn % 10 * 100000000L}, NULL);
		fflush(stderr);
		crumb_mpi_abort(ranks, status);
	}
	crumb_mpi_close(&ranks);
	return status;
}

int main(int argc, char **argv)
{
	static struct options options;
	struct crumb_exchange_net *ranks = NULL;
	int status = 0;
	program_begin();
	if (start_ranks(&ranks) < 0)
		return STATUS_FAILED;
	hold_back(ranks);
	switch (options_parse(&options, argc, argv, !ranks || ranks->rank == 0)) {
	case OPTIONS_WRONG:
		status = STATUS_USAGE;
		break;
	case OPTIONS_DONE:
		break;
	case OPTIONS_RUN:
		if (ranks)
			ranks->timeout = options.timeout;
		status = run(&options, ranks);
		break;
	}
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		program_say("crumb-train: standard output: %s",
		            errno ? strerror(errno) : "cannot be written");
		status = STATUS_FAILED;
	}
	return end_ranks(ranks, status);
}
