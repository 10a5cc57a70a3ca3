/* Measurements of a machine and its network for crumb plan.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ESTIMATE_H
#define ESTIMATE_H

#include "train/data/data.h"
#include "nets/net.h"
#include "train/options/options.h"

struct crumb_exchange_net;

/* Times one learner's part of a batch on one thread, the optimizer included, on every rank at once, and the
 * link between ranks. Rank 0 prints a line of options of crumb plan: --batch and --compute, of the slowest
 * rank; and with several ranks --nodes, --link and --latency. 0, or -1 with a line in why. */
int estimate_print(const struct options *options, const struct data *data, const struct net *net,
                   struct crumb_exchange_net *ranks, char *why, size_t cap);

#endif
