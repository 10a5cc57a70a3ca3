/* SPDX-License-Identifier: MIT */
#include "fit/optimum.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { PLACES = CRUMB_FIT_BINS + 1 };

/* The edges that levels may be at. Between two bins without mass Psi is a straight line in a level, so that
 * an edge there is never needed. With first = sum[1] - edge sum[0] and second = sum[2] - edge sum[1], of the
 * moments' sums up to an edge, Psi between a and c is second(a) - second(c) + a first(c) - c first(a). */
struct places {
	size_t count;
	double edge[PLACES], first[PLACES], second[PLACES];
};

static void add_place(struct places *p, const struct fit_histogram *h, size_t i)
{
	p->edge[p->count] = h->edge[i];
	p->first[p->count] = h->sum[1][i] - h->edge[i] * h->sum[0][i];
	p->second[p->count] = h->sum[2][i] - h->edge[i] * h->sum[1][i];
	p->count++;
}

static void find_places(struct places *p, const struct fit_histogram *h, size_t levels)
{
	p->count = 0;
	for (size_t i = 0; i <= h->count; i++)
		if (i == 0 || i == h->count || h->mass[i - 1] > 0 || h->mass[i] > 0)
			add_place(p, h, i);
	if (p->count >= levels)
		return;
	p->count = 0;
	for (size_t i = 0; i <= h->count; i++)
		add_place(p, h, i);
}

/* One level of the dynamic program. */
struct stage {
	const struct places *places;
	double before[PLACES]; /* least Psi up to a place that is the level before, plus the place's second */
	double psi[PLACES];    /* least Psi up to a place that is this level, */
	uint16_t from[PLACES]; /* and the place of the level before then */
};

/* Finds psi and from of a place; the level before is at one of lo to hi. */
static void solve_place(struct stage *s, size_t at, size_t lo, size_t hi)
{
	const struct places *const p = s->places;
	const double c = p->edge[at], first = p->first[at];
	double least = INFINITY; /* plus this place's second */
	s->from[at] = (uint16_t)lo;
	for (size_t from = lo; from <= hi && c - p->edge[from] >= CRUMB_FIT_GAP; from++) {
		const double psi = s->before[from] + p->edge[from] * first - c * p->first[from];
		if (psi < least) {
			least = psi;
			s->from[at] = (uint16_t)from;
		}
	}
	const double psi = least - p->second[at]; /* rounding may leave less than 0 */
	s->psi[at] = psi > 0 ? psi : 0;
}

/* Solves all places but the first, each between two that are solved. For a < b < c < d, Psi of (a, c] and of
 * (b, d] is no more than that of (a, d] and of (b, c], so that from never falls from one place to the next;
 * nor does a place's from when a level is added. */
static void solve_places(struct stage *s, size_t last)
{
	uint16_t fewer[PLACES]; /* from, with a level fewer */
	memcpy(fewer, s->from, sizeof fewer);
	s->psi[0] = INFINITY;
	for (size_t step = 256; step; step /= 2)
		for (size_t at = step; at <= last; at += 2 * step) {
			const size_t hi = at + step <= last ? s->from[at + step] : last;
			const size_t lo = fewer[at] < hi ? fewer[at] : hi; /* rounding may say more */
			solve_place(s, at, lo > s->from[at - step] ? lo : s->from[at - step], hi);
		}
}
_Static_assert(CRUMB_FIT_BINS < 512, "steps of 256 and less reach every place");

double crumb_fit_optimum(const struct fit_histogram *h, double *level, size_t count)
{
	struct places places;
	find_places(&places, h, count);
	const size_t last = places.count - 1;
	struct stage stage = {.places = &places};
	uint16_t from[OPTIMUM_LEVELS][PLACES]; /* of every stage */
	stage.psi[0] = 0;
	for (size_t c = 1; c <= last; c++)
		stage.psi[c] = INFINITY;
	for (size_t j = 1; j < count; j++) {
		for (size_t c = 0; c <= last; c++)
			stage.before[c] = stage.psi[c] + places.second[c];
		if (j < count - 1)
			solve_places(&stage, last);
		else
			solve_place(&stage, last, 0, last);
		memcpy(from[j], stage.from, sizeof from[j]);
	}
	if (stage.psi[last] == INFINITY)
		return INFINITY;
	size_t at = last;
	level[count - 1] = places.edge[at];
	for (size_t j = count - 1; j > 0; j--) {
		at = from[j][at];
		level[j - 1] = places.edge[at];
	}
	return crumb_fit_psi(&h->law, level, count);
}
