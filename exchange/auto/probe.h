/* What a link does, measured by swaps over its transport.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PROBE_H
#define PROBE_H

#include "exchange/auto/link.h"

struct transport;

/* All ranks measure at the same time, all sending to all, lengths of up to so many bytes through a port, or
 * until a swap takes half a second; that is for a few seconds. 0, or what a swap returns.
 */
int crumb_probe(struct crumb_link *link, struct transport *net, double most);

#endif
