/* SPDX-License-Identifier: MIT */
#include "fit/histogram.h"
#include <string.h>

void crumb_histogram_add_bucket(struct histogram_count *s)
{
	const float top = s->norm > s->top ? s->norm : s->top;
	if (top == 0)
		return;
	const double kept = (double)s->top / (double)top, weight = (double)s->norm / (double)top;
	for (size_t i = 0; i < HISTOGRAM_BINS; i++)
		s->mass[i] = s->mass[i] * (kept * kept) + weight * weight * s->weight * s->count[i];
	s->top = top;
	memset(s->count, 0, sizeof s->count);
}

void crumb_histogram_law(struct histogram_law *law, const double *mass)
{
	double power = 0x1p-20;
	for (size_t at = 0; at <= HISTOGRAM_SIDE_BINS; at++) {
		const double edge = power * (double)(8 + at % 8) / 8;
		law->edge[HISTOGRAM_SIDE_BINS + 1 + at] = edge;
		law->edge[HISTOGRAM_SIDE_BINS - at] = -edge;
		power *= at % 8 == 7 ? 2 : 1;
	}
	crumb_fit_histogram(&law->of, law->edge, mass, HISTOGRAM_BINS,
	                    (double *const[]){law->sum[0], law->sum[1], law->sum[2]});
}

void crumb_histogram_of(struct histogram_law *law, double *mass, const struct fit_law *of)
{
	double m[3];
	memset(mass, 0, HISTOGRAM_BINS * sizeof *mass);
	crumb_histogram_law(law, mass);
	for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
		of->moments(of, law->edge[i], law->edge[i + 1], m);
		mass[i] = m[0];
	}
	crumb_histogram_law(law, mass);
}
