/* How ranks reach each other: one collective verb.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include <stdbool.h>
#include <crumb.h>

struct transport {
	unsigned rank, ranks;
	/* in[] shows the senders' own memory: a step ends with an empty swap, so that when it is over nobody
	 * reads it. */
	bool shares_memory;
	/* Hands out[i] to rank i and receives in[i] from rank i, own part included; every rank calls it, with
	 * empty messages when it has failed. in[] stays valid until the next swap, and what out[] shows must
	 * stay as it is until the next swap has returned. 0, or a negative crumb error, then in[] is not set
	 * and every later swap fails too. */
	int (*swap)(struct transport *net, const crumb_span *out, crumb_span *in);
	/* This rank swaps no more, because it has failed elsewhere: the others' swaps, under way and to come,
	 * fail with CRUMB_EPEER instead of waiting for it. Not during a swap of this rank. */
	void (*leave)(struct transport *net);
};

/* Ranks that are threads of this process. Opens all ranks at once; net[r] is for the thread that is rank r.
 * 0, CRUMB_EINVAL or CRUMB_EMEMORY. Close when no rank swaps any more; that sets net[] to NULL. */
int crumb_threads_open(struct transport **net, unsigned ranks);
void crumb_threads_close(struct transport **net, unsigned ranks);

#endif
