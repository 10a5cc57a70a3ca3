/* What crumb plan wants to know of a machine and its network.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ESTIMATE_H
#define ESTIMATE_H

#include "train/data/data.h"
#include "nets/net.h"
#include "train/options/options.h"

struct transport;

/* Times one learner's part of a batch on one thread, optimizer and all, on every rank at once, and the link
 * between them; rank 0 prints options of crumb plan in a line: --batch and --compute, of the slowest rank;
 * with more ranks than one, --nodes, --link and --latency. 0, or -1 with a line in why. */
int estimate_print(const struct options *options, const struct data *data, const struct net *net,
                   struct transport *ranks, char *why, size_t cap);

#endif
