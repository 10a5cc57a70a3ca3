/* SPDX-License-Identifier: MIT */
#include "histogram.h"

void crumb_histogram_law(struct histogram_law *law, const double *mass)
{
	double power = 0x1p-20;
	for (size_t at = 0; at <= HISTOGRAM_SIDE; at++) {
		const double edge = power * (double)(8 + at % 8) / 8;
		law->edge[HISTOGRAM_SIDE + 1 + at] = edge;
		law->edge[HISTOGRAM_SIDE - at] = -edge;
		power *= at % 8 == 7 ? 2 : 1;
	}
	crumb_fit_histogram(&law->of, law->edge, mass, HISTOGRAM_BINS,
	                    (double *const[]){law->sum[0], law->sum[1], law->sum[2]});
}
