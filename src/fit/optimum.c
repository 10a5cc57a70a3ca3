/* Dynamic programming over levels and the places where they may be.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/optimum.h"
#include <math.h>
#include <stdint.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* The edges that levels may be at: both ends, and those beside a bin with mass, since between the others Psi
 * is linear; or all, if these are fewer than the levels. With the moments' prefix sums up to an edge, first =
 * sum[1] - edge sum[0] and second = sum[2] - edge sum[1]: Psi between edges a and c is second(a) - second(c)
 * + a first(c) - c first(a). */
struct places {
	size_t count;
	double edge[CRUMB_FIT_BINS + 1], first[CRUMB_FIT_BINS + 1], second[CRUMB_FIT_BINS + 1];
};

static void places_add(struct places *p, const struct fit_histogram *h, size_t i)
{
	p->edge[p->count] = h->edge[i];
	p->first[p->count] = h->sum[1][i] - h->edge[i] * h->sum[0][i];
	p->second[p->count] = h->sum[2][i] - h->edge[i] * h->sum[1][i];
	p->count++;
}

static void places_of(struct places *p, const struct fit_histogram *h, size_t levels)
{
	p->count = 0;
	for (size_t i = 0; i <= h->count; i++)
		if (i == 0 || i == h->count || h->mass[i - 1] > 0 || h->mass[i] > 0)
			places_add(p, h, i);
	if (p->count >= levels)
		return;
	p->count = 0;
	for (size_t i = 0; i <= h->count; i++)
		places_add(p, h, i);
}

/* Returns the least Psi up to place at with one level more, if the level before it may be at any place below
 * end; before[from] + edge[from] first(at) - edge(at) first(from) - second(at) is Psi with that level at
 * place from. */
static double extend(const struct places *p, const double *before, size_t at, uint16_t *best)
{
	const double c = p->edge[at], first = p->first[at];
	double least = INFINITY;
	*best = 0;
	for (size_t from = 0; from < at && c - p->edge[from] >= CRUMB_FIT_GAP; from++) {
		const double psi = before[from] + p->edge[from] * first - c * p->first[from];
		if (psi < least) {
			least = psi;
			*best = (uint16_t)from;
		}
	}
	least -= p->second[at];
	return least > 0 ? least : 0; /* rounding may leave less than nothing */
}

double crumb_fit_optimum(const struct fit_histogram *h, double *level, size_t count)
{
	struct places places;
	places_of(&places, h, count);
	const size_t last = places.count - 1;
	double least[CRUMB_FIT_BINS + 1]; /* Psi up to a place that is the current level */
	uint16_t before[CRUMB_FIT_LEVELS][CRUMB_FIT_BINS + 1]; /* the place of the level before it */
	least[0] = 0;
	for (size_t c = 1; c <= last; c++)
		least[c] = INFINITY;
	for (size_t j = 1; j < count; j++) {
		double sum[CRUMB_FIT_BINS + 1];
		for (size_t c = 0; c <= last; c++)
			sum[c] = least[c] + places.second[c];
		least[0] = INFINITY;
		for (size_t c = 1; c <= last; c++)
			least[c] = extend(&places, sum, c, &before[j][c]);
	}
	if (least[last] == INFINITY)
		return INFINITY;
	size_t at = last;
	level[count - 1] = places.edge[at];
	for (size_t j = count - 1; j > 0; j--) {
		at = before[j][at];
		level[j - 1] = places.edge[at];
	}
	return crumb_fit_psi(&h->law, level, count);
}
