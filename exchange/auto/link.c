/* Links: time is linear between two lengths; beyond them the rate stays.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/auto/link.h"

#include <math.h>

static double length(int i) { return ldexp(LINK_FIRST, 2 * i); }

struct crumb_link crumb_link_even(double rate, double latency)
{
	struct crumb_link link = {.latency = latency};

	for (int i = 0; i < LINK_LENGTHS; i++)
		link.wire[i] = length(i) / rate;
	return link;
}

struct crumb_link crumb_link_slower(const struct crumb_link *a, const struct crumb_link *b)
{
	struct crumb_link link = {.latency = fmax(a->latency, b->latency)};

	for (int i = 0; i < LINK_LENGTHS; i++)
		link.wire[i] = fmax(a->wire[i], b->wire[i]);
	return link;
}

double crumb_link_rate(const struct crumb_link *link, double bytes)
{
	int i = 0;

	while (i < LINK_LENGTHS && bytes > length(i))
		i++;
	if (i == 0)
		return length(0) / link->wire[0];
	if (i == LINK_LENGTHS)
		return length(i - 1) / link->wire[i - 1];
	const double part = (bytes - length(i - 1)) / (length(i) - length(i - 1));
	return bytes / (link->wire[i - 1] + part * (link->wire[i] - link->wire[i - 1]));
}
