/* A link measured by swaps over its transport.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PROBE_H
#define PROBE_H

#include "exchange/auto/link.h"

struct crumb_exchange_net;

/* The ranks that send to each other: all; with tiers (exchange.h) each node's leader and its other ranks, or
 * the leaders. */
enum crumb_probe_way { CRUMB_PROBE_ALL, CRUMB_PROBE_INSIDE, CRUMB_PROBE_BETWEEN };

/* All ranks measure at the same time, lengths of up to so many bytes through the port of whoever sends most,
 * or until a swap takes half a second; that takes a few seconds. leader: [rank], the first rank of its node;
 * not read for CRUMB_PROBE_ALL. Returns 0, or a swap's error. */
int crumb_probe(struct crumb_link *link, struct crumb_exchange_net *net, enum crumb_probe_way way,
                const unsigned *leader, double most);

#endif
