/* Long slices cut into parts, so that ranks and threads have even shares.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange.h"

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
