/* crumb-train: trains a network with compressed gradients, and compares codecs.
 *
 * SPDX-License-Identifier: MIT */
#include "data.h"
#include "log.h"
#include "net.h"
#include "options.h"
#include "table.h"
#include "train.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <team.h>

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

static int load(const struct options *o, struct data *data, struct net *net, char *why, size_t cap)
{
	if (data_open(data, o->data, why, cap) < 0 || net_open(net, o->model, data->shape, why, cap) < 0)
		return -1;
	if (net->classes != data->classes) {
		snprintf(why, cap, "%s tells %d classes apart, %s has %d", o->model->name, net->classes,
		         o->data, data->classes);
		return -1;
	}
	if (data->train.count < o->batch) {
		snprintf(why, cap, "%s has fewer samples, %zu, than a batch of %zu", o->data,
		         data->train.count, o->batch);
		return -1;
	}
	return 0;
}

/* Runs all codecs one after another; *done of them came to their end. */
static int train_all(const struct train_setting *setting, struct report *run, size_t *done, char *why,
                     size_t cap)
{
	for (*done = 0; *done < setting->options->codec_count; ++*done)
		if (train_run(setting, *done, &run[*done], why, cap) < 0)
			return -1;
	return 0;
}

static int compare(const struct options *o, const struct data *data, const struct net *net, char *why,
                   size_t cap)
{
	struct report run[OPTIONS_MOST_CODECS];
	struct log log;
	size_t done = 0;
	struct team *team = crumb_team_open((unsigned)o->threads);
	if (!team) {
		snprintf(why, cap, "%zu threads cannot be started", o->threads);
		return -1;
	}
	int result = log_open(&log, o, why, cap);
	if (result == 0) {
		const struct train_setting setting = {o, data, net, team, &log};
		result = train_all(&setting, run, &done, why, cap);
		char late[512];
		if (log_close(&log, late, sizeof late) < 0 && result == 0) {
			snprintf(why, cap, "%s", late);
			result = -1;
		}
	}
	if (done > 0)
		table_print(stdout, o, run, done);
	crumb_team_close(team);
	return result;
}

int main(int argc, char **argv)
{
	static struct options options;
	static struct data data;
	static struct net net;
	char why[4608] = "";
	int result = 0;
	switch (options_parse(&options, argc, argv)) {
	case OPTIONS_WRONG:
		return STATUS_USAGE;
	case OPTIONS_DONE:
		break;
	case OPTIONS_RUN:
		result = load(&options, &data, &net, why, sizeof why);
		if (result == 0)
			result = compare(&options, &data, &net, why, sizeof why);
		data_close(&data);
		break;
	}
	if (result < 0)
		fprintf(stderr, "crumb-train: %s\n", why);
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "crumb-train: standard output: %s\n",
		        errno ? strerror(errno) : "cannot be written");
		result = -1;
	}
	return result < 0 ? STATUS_FAILED : 0;
}
