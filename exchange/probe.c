/* Messages are doubled until a swap takes long enough to be timed. How long the last one took travels in the
 * messages, so that all ranks go on, and stop, together.
 *
 * SPDX-License-Identifier: MIT */
#include "probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "exchange.h"
#include "seconds.h"
#include "transport.h"

#define LONG_ENOUGH 20e-3 /* seconds of a swap */
enum { SHORT = sizeof(double), FIRST = 1 << 14, MOST = 1 << 24, SWAPS = 5 };

struct probe {
	struct transport *net;
	unsigned char *message; /* begins with the seconds of the swap before */
	crumb_span *out, *in;
};

/* A swap of so many bytes to each rank: *took, and the longest that the one *before* took on any rank. */
static int swap(struct probe *p, size_t bytes, double *took, double *before)
{
	memcpy(p->message, took, sizeof *took);
	const double begin = crumb_seconds();
	for (unsigned r = 0; r < p->net->ranks; r++)
		p->out[r] = (crumb_span){p->message, bytes};
	const int error = p->net->swap(p->net, p->out, p->in);
	if (error)
		return error;
	*took = crumb_seconds() - begin;
	*before = 0;
	for (unsigned r = 0; r < p->net->ranks; r++) {
		double other;
		if (p->in[r].len != bytes)
			return CRUMB_EFRAME;
		memcpy(&other, p->in[r].data, sizeof other);
		*before = fmax(*before, other);
	}
	for (unsigned r = 0; r < p->net->ranks; r++) /* when this one is over nobody reads the message */
		p->out[r] = (crumb_span){NULL, 0};
	return p->net->swap(p->net, p->out, p->in);
}

/* The median of some swaps, each on the slowest rank. */
static int median(struct probe *p, size_t bytes, double *seconds)
{
	double took = 0, before[SWAPS + 1];
	int error = 0;

	for (int i = 0; i <= SWAPS && !error; i++)
		error = swap(p, bytes, &took, &before[i]);
	if (!error)
		*seconds = crumb_seconds_median(before + 1, SWAPS);
	return error;
}

static int measure(struct probe *p, struct crumb_link *link)
{
	double seconds = 0;
	int error = median(p, SHORT, &link->latency);

	for (size_t bytes = FIRST; !error; bytes *= 2) {
		error = median(p, bytes, &seconds);
		if (seconds >= link->latency + LONG_ENOUGH || bytes == MOST) {
			link->rate = (double)(p->net->ranks - 1) * (double)bytes /
			             fmax(seconds - link->latency, 1e-9);
			break;
		}
	}
	return error;
}

int crumb_probe(struct crumb_link *link, struct transport *net)
{
	*link = (struct crumb_link){.rate = INFINITY};
	if (!net || net->ranks < 2)
		return 0;
	struct probe p = {net, calloc(MOST, 1), calloc(net->ranks, sizeof *p.out),
	                  calloc(net->ranks, sizeof *p.in)};
	const int error = p.message && p.out && p.in ? measure(&p, link) : CRUMB_EMEMORY;
	free(p.message);
	free(p.out);
	free(p.in);
	return error;
}
