/* What a link does, measured by swaps over its transport.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PROBE_H
#define PROBE_H

struct transport;

struct crumb_link {
	double rate; /* bytes a second through a rank's port while all send to all; INFINITY: nothing is sent
	              */
	double latency; /* seconds of a swap of next to nothing */
};

/* All ranks measure at the same time, for about a tenth of a second. 0, or what a swap returns. */
int crumb_probe(struct crumb_link *link, struct transport *net);

#endif
