/* Slices cut into parts, so that ranks and threads have even shares.
 *
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include "exchange/exchange.h"

size_t crumb_slices_cut(const struct crumb_slice *slices, size_t count, size_t longest,
                        struct crumb_slice *cut)
{
	size_t parts = 0;

	for (size_t s = 0; s < count; s++) {
		const size_t n = slices[s].n, run = slices[s].run ? slices[s].run : 1, runs = n / run;
		size_t own = longest && n > longest ? (n + longest - 1) / longest : 1;
		own = own > runs ? runs + !runs : own;
		for (size_t p = 0; p < own; p++, parts++) {
			const size_t from = (size_t)((uint64_t)runs * p / own) * run,
			             to = p + 1 < own ? (size_t)((uint64_t)runs * (p + 1) / own) * run : n;
			if (cut)
				cut[parts] = (struct crumb_slice){slices[s].at + from, to - from,
				                                  slices[s].run, slices[s].kind};
		}
	}
	return parts;
}

/* Adds to the least of a binary heap, which is its first. Returns the sum. */
static double add_to_least(double *heap, size_t count, double more)
{
	const double sum = heap[0] + more;
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && heap[child + 1] < heap[child];
		if (heap[child] >= sum)
			break;
		heap[at] = heap[child];
	}
	return heap[at] = sum;
}

double crumb_slices_share(const struct crumb_slice *slices, size_t count, size_t owners)
{
	double *owned = calloc(owners, sizeof *owned), heaviest = owned ? 0 : NAN, all = 0;

	for (size_t s = 0; s < count && owned; s++) {
		heaviest = fmax(heaviest, add_to_least(owned, owners, (double)slices[s].n));
		all += (double)slices[s].n;
	}
	free(owned);
	return all > 0 ? heaviest / all : heaviest;
}
