/* Messages grow until a swap has taken long enough. Each message carries the time that the last swap took, so
 * that all ranks stop together.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/auto/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/exchange.h"
#include "exchange/seconds.h"
#include "exchange/transport.h"

#define LONG_ENOUGH 0.5 /* seconds of a swap */
enum { SHORT = sizeof(double), SWAPS = 3, SHORT_SWAPS = 15, IN_A_ROW = 2 };

struct probe {
	struct crumb_exchange_net *net;
	enum crumb_probe_way way;
	const unsigned *leader;
	size_t others;          /* to which the busiest rank sends */
	unsigned char *message; /* begins with the seconds of the swap before */
	crumb_span *out, *in;
};

static bool sends(const struct probe *p, unsigned from, unsigned to)
{
	switch (p->way) {
	case CRUMB_PROBE_INSIDE:
		return p->leader[from] == p->leader[to] && (p->leader[from] == from || p->leader[to] == to);
	case CRUMB_PROBE_BETWEEN:
		return p->leader[from] == from && p->leader[to] == to;
	default:
		return true;
	}
}

/* Returns the most ranks to which one sends, itself not counted. */
static size_t busiest(const struct probe *p)
{
	size_t most = 1;

	for (unsigned from = 0; from < p->net->ranks; from++) {
		size_t others = 0;
		for (unsigned to = 0; to < p->net->ranks; to++)
			others += from != to && sends(p, from, to);
		most = others > most ? others : most;
	}
	return most;
}

static size_t length_of(const struct probe *p, unsigned from, unsigned to, size_t bytes)
{
	return sends(p, from, to) ? bytes : SHORT;
}

/* Swaps so many bytes with each rank that is sent to, and the time with all. *took becomes its time, and
 * *before the longest time that the swap before took on any rank. Long messages are swapped twice in a row,
 * as in plan shard, where a rank that is first in one swap need not wait for the others. */
static int swap(struct probe *p, size_t bytes, double *took, double *before)
{
	memcpy(p->message, took, sizeof *took);
	const double begin = crumb_seconds();
	for (unsigned r = 0; r < p->net->ranks; r++)
		p->out[r] = (crumb_span){p->message, length_of(p, p->net->rank, r, bytes)};
	const int swaps = bytes == SHORT ? 1 : IN_A_ROW;
	for (int i = 0; i < swaps; i++) {
		const int error = p->net->swap(p->net, p->out, p->in);
		if (error)
			return error;
	}
	*took = (crumb_seconds() - begin) / swaps;
	*before = 0;
	for (unsigned r = 0; r < p->net->ranks; r++) {
		double other;
		if (p->in[r].len != length_of(p, r, p->net->rank, bytes))
			return CRUMB_EFRAME;
		memcpy(&other, p->in[r].data, sizeof other);
		*before = fmax(*before, other);
	}
	for (unsigned r = 0; r < p->net->ranks; r++) /* after an empty swap nobody reads the message */
		p->out[r] = (crumb_span){NULL, 0};
	return p->net->swap(p->net, p->out, p->in);
}

/* Measures the median of some swaps, each on the slowest rank. */
static int median(struct probe *p, size_t bytes, double *seconds)
{
	double took = 0, before[SHORT_SWAPS + 1];
	const int swaps = bytes == SHORT ? SHORT_SWAPS : SWAPS;
	int error = 0;

	for (int i = 0; i <= swaps && !error; i++)
		error = swap(p, bytes, &took, &before[i]);
	if (!error)
		*seconds = crumb_seconds_median(before + 1, (size_t)swaps);
	return error;
}

/* Returns the bytes to each other rank for the i-th length through a port. */
static size_t message(const struct probe *p, int i)
{
	const size_t bytes = ((size_t)LINK_FIRST << 2 * i) / p->others;

	return bytes > SHORT ? bytes : SHORT;
}

static int measure(struct probe *p, struct crumb_link *link, double most)
{
	double seconds = 0;
	int error = median(p, SHORT, &link->latency);

	for (int i = 0; i < LINK_LENGTHS && !error; i++) {
		const double before = i > 0 ? link->wire[i - 1] : 0;
		if (i > 0 && (seconds > LONG_ENOUGH || LINK_FIRST * ldexp(0.25, 2 * i) >= most)) {
			link->wire[i] = 4 * before;
			continue;
		}
		error = median(p, message(p, i), &seconds);
		link->wire[i] = fmax(fmax(seconds - link->latency, before), 1e-9);
	}
	return error;
}

int crumb_probe(struct crumb_link *link, struct crumb_exchange_net *net, enum crumb_probe_way way,
                const unsigned *leader, double most)
{
	*link = crumb_link_even(INFINITY, 0);
	if (!net || net->ranks < 2)
		return 0;
	struct probe p = {.net = net, .way = way, .leader = leader};
	p.others = busiest(&p);
	p.message = calloc(message(&p, LINK_LENGTHS - 1), 1);
	p.out = calloc(net->ranks, sizeof *p.out);
	p.in = calloc(net->ranks, sizeof *p.in);
	const int error = p.message && p.out && p.in ? measure(&p, link, most) : CRUMB_EMEMORY;
	if (!error || !net->settle || net->settle(net)) /* else the transport may still read it */
		free(p.message);
	free(p.out);
	free(p.in);
	return error;
}
