/* Trains a network with one codec: gradients of all learners, their mean through the exchange, the optimizer.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_H
#define TRAIN_H

#include "train/data/data.h"
#include "train/report/log.h"
#include "nets/net.h"
#include "train/options/options.h"
#include "train/report/report.h"

struct team;
struct crumb_exchange_net;
struct live_page;

/* The caller's objects, which the runs of all codecs share. */
struct train_setting {
	const struct options *options;
	const struct data *data;
	const struct net *net;
	struct team *team;
	struct crumb_exchange_net *ranks; /* NULL: this process is alone */
	struct log *log;
	struct live_page *page; /* NULL: none */
};

/* Trains with the options' codec of this index. Everything but seconds and link is a pure function of the
 * options and the data, for any threads and ranks, except with --codec auto, which measures time, plan async
 * that does not keep lock step, and plan tiers, where it depends on the nodes, too. A rank trains its own
 * learners. 0 and *run, or -1 with a line in why. A run that diverges is 0, *run up to there, and a line in
 * why, on all ranks alike. */
int train_run(const struct train_setting *setting, size_t codec, struct report *run, char *why, size_t cap);

#endif
