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
			const size_t from = runs * p / own * run,
			             to = p + 1 < own ? runs * (p + 1) / own * run : n;
			if (cut)
				cut[parts] = (struct crumb_slice){slices[s].at + from, to - from,
				                                  slices[s].run, slices[s].kind};
		}
	}
	return parts;
}

double crumb_slices_share(const struct crumb_slice *slices, size_t count, size_t owners)
{
	double *owned = calloc(owners, sizeof *owned), heaviest = owned ? 0 : NAN, all = 0;

	for (size_t s = 0; s < count && owned; s++) {
		size_t least = 0;
		for (size_t k = 1; k < owners; k++)
			least = owned[k] < owned[least] ? k : least;
		owned[least] += (double)slices[s].n;
		heaviest = fmax(heaviest, owned[least]);
		all += (double)slices[s].n;
	}
	free(owned);
	return all > 0 ? heaviest / all : heaviest;
}
