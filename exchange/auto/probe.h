/* A link measured by swaps over its transport.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PROBE_H
#define PROBE_H

#include "exchange/auto/link.h"

struct crumb_exchange_net;

/* All ranks measure at the same time, all sending to all, lengths of up to so many bytes through a port, or
 * until a swap takes half a second; that takes a few seconds. Returns 0, or a swap's error. */
int crumb_probe(struct crumb_link *link, struct crumb_exchange_net *net, double most);

#endif
