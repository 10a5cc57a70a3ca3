/* How ranks reach each other: one collective verb.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include <crumb.h>

struct transport {
	unsigned rank, ranks;
	/* Hands out[i] to rank i and receives in[i] from rank i, own part included; every rank calls it, with empty
	 * messages when it has failed. in[] stays valid until the next swap. 0 or a negative crumb error. */
	int (*swap)(struct transport *net, const crumb_span *out, crumb_span *in);
};

/* Ranks that are threads of this process. Opens all ranks at once; net[r] is for the thread that is rank r. */
int crumb_threads_open(struct transport **net, unsigned ranks);
void crumb_threads_close(struct transport **net, unsigned ranks);

#endif
