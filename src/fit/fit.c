/* Laws and their moments; levels of least Psi under a law.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/fit.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- Histograms ------------------------------------------------------------------------------------- */

/* Adds the moments of a mass that is uniform over (a, b], or at a if a == b. */
static void add_uniform(double m[3], double mass, double a, double b)
{
	m[0] += mass;
	m[1] += mass * (a + b) / 2;
	m[2] += mass * (a * a + a * b + b * b) / 3;
}

/* Returns the number of bins that end at or before x. */
static size_t bins_before(const struct fit_histogram *h, double x)
{
	size_t low = 0, high = h->count;
	while (low < high) {
		const size_t mid = (low + high) / 2;
		if (h->edge[mid + 1] <= x)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Adds the part of bin i in (a, b], where a < edge[i + 1]. */
static void add_part(const struct fit_histogram *h, size_t i, double a, double b, double m[3])
{
	const double from = h->edge[i], to = h->edge[i + 1];
	a = a > from ? a : from;
	b = b < to ? b : to;
	if (a < b)
		add_uniform(m, h->mass[i] * ((b - a) / (to - from)), a, b);
	else if (a == from && b == to) /* a point */
		add_uniform(m, h->mass[i], a, b);
}

static void histogram_moments(const struct fit_law *law, double a, double b, double m[3])
{
	const struct fit_histogram *h = (const struct fit_histogram *)law;
	const size_t first = bins_before(h, a), last = bins_before(h, b);
	m[0] = m[1] = m[2] = 0;
	if (first < last) {
		add_part(h, first, a, b, m);
		for (int k = 0; k < 3; k++)
			m[k] += h->sum[k][last] - h->sum[k][first + 1];
	}
	if (last < h->count)
		add_part(h, last, a, b, m);
}

void crumb_fit_histogram(struct fit_histogram *h, const double *edge, const double *mass, size_t count,
                         double *const sum[3])
{
	double m[3] = {0, 0, 0};
	h->law.moments = histogram_moments;
	h->count = count;
	h->edge = edge;
	h->mass = mass;
	for (int k = 0; k < 3; k++) {
		h->sum[k] = sum[k];
		sum[k][0] = 0;
	}
	for (size_t i = 0; i < count; i++) {
		add_uniform(m, mass[i], edge[i], edge[i + 1]);
		for (int k = 0; k < 3; k++)
			sum[k][i + 1] = m[k];
	}
}

/* ---- Normals ---------------------------------------------------------------------------------------- */

/* Returns exp(-x), x >= 0, by the series at the remainder of x modulo log 2. */
static double exp_minus(double x)
{
	static const double log2_high = 0x1.62e42feep-1, log2_low = 0x1.a39ef35793c76p-33;
	if (!(x < 708))
		return 0;
	const uint64_t twos = (uint64_t)(x / (log2_high + log2_low) + 0.5);
	const double r = (double)twos * log2_high - x + (double)twos * log2_low;
	double sum = 1;
	for (int k = 14; k > 0; k--)
		sum = 1 + sum * r / k;
	const uint64_t bits = (1023 - twos) << 52;
	double scale;
	memcpy(&scale, &bits, sizeof scale);
	return sum * scale;
}

/* The standard normal's density, and its mass above x >= 0: from the middle by a series of positive terms, in
 * the tail by Laplace's continued fraction. */
static double density(double x) { return 0.39894228040143267794 * exp_minus(x * x / 2); }
static double upper_tail(double x)
{
	if (x < 3) {
		double term = x, sum = x;
		for (int k = 3; term > 1e-17 * sum; k += 2) {
			term *= x * x / k;
			sum += term;
		}
		return 0.5 - density(x) * sum;
	}
	double fraction = x;
	for (int k = 40; k > 0; k--)
		fraction = x + k / fraction;
	return density(x) / fraction;
}

static double normal_mass(double a, double b) /* a <= b; nothing cancels in either tail */
{
	if (a >= 0)
		return upper_tail(a) - upper_tail(b);
	if (b <= 0)
		return upper_tail(-b) - upper_tail(-a);
	return 1 - upper_tail(-a) - upper_tail(b);
}

static void mixture_moments(const struct fit_law *law, double a, double b, double m[3])
{
	const struct fit_mixture *mix = (const struct fit_mixture *)law;
	m[0] = m[1] = m[2] = 0;
	a = a > mix->lo ? a : mix->lo;
	b = b < mix->hi ? b : mix->hi;
	if (!(a < b))
		return;
	for (size_t i = 0; i < mix->count; i++) {
		const double mean = mix->part[i].mean, sigma = mix->part[i].sigma, w = mix->part[i].weight;
		const double x = (a - mean) / sigma, y = (b - mean) / sigma;
		const double at_x = density(x), at_y = density(y);
		/* Moments of the standard normal over (x, y]. */
		const double mass = normal_mass(x, y), first = at_x - at_y,
		             second = mass + x * at_x - y * at_y;
		m[0] += w * mass;
		m[1] += w * (mean * mass + sigma * first);
		m[2] += w * (mean * mean * mass + 2 * mean * sigma * first + sigma * sigma * second);
	}
}

void crumb_fit_mixture(struct fit_mixture *m, struct fit_normal *part, size_t count, double lo, double hi)
{
	*m = (struct fit_mixture){{mixture_moments}, lo, hi, part, count};
	for (size_t i = 0; i < count; i++) {
		if (!(part[i].sigma > CRUMB_FIT_GAP))
			part[i].sigma = CRUMB_FIT_GAP;
		part[i].weight /=
		        normal_mass((lo - part[i].mean) / part[i].sigma, (hi - part[i].mean) / part[i].sigma);
	}
}

/* ---- Magnitudes ------------------------------------------------------------------------------------- */

static void magnitude_moments(const struct fit_law *law, double a, double b, double m[3])
{
	const struct fit_law *of = ((const struct fit_magnitude *)law)->of;
	double negative[3];
	of->moments(of, a, b, m);
	of->moments(of, -b, -a, negative);
	m[0] += negative[0];
	m[1] -= negative[1];
	m[2] += negative[2];
}

void crumb_fit_magnitude(struct fit_magnitude *m, const struct fit_law *of)
{
	*m = (struct fit_magnitude){{magnitude_moments}, of};
}

/* ---- Levels ----------------------------------------------------------------------------------------- */

void crumb_fit_uniform(double *level, size_t count, double lo)
{
	for (size_t i = 0; i < count; i++)
		level[i] = lo + (1 - lo) * ((double)i / (double)(count - 1));
}

static size_t positive_levels(size_t count, double lo) { return lo < 0 ? count / 2 : count - 1; }

void crumb_fit_powers(double *level, size_t count, double lo, double p)
{
	const size_t positive = positive_levels(count, lo);
	double power = 1;
	level[count - 1 - positive] = 0; /* of an even count the negatives overwrite it */
	for (size_t i = 0; i < positive; i++, power *= p) {
		level[count - 1 - i] = power;
		if (lo < 0)
			level[i] = -power;
	}
}

double crumb_fit_start(size_t count, double lo)
{
	double p = 0.5;
	for (size_t positive = positive_levels(count, lo); positive > 16; positive /= 2)
		p = sqrt(p);
	return p;
}

/* Returns Psi of one interval; rounding may leave less than 0. */
static double between(const double m[3], double a, double c)
{
	const double psi = (a + c) * m[1] - m[2] - a * c * m[0];
	return psi > 0 ? psi : 0;
}

double crumb_fit_psi(const struct fit_law *law, const double *level, size_t count)
{
	double psi = 0, m[3];
	for (size_t j = 0; j + 1 < count; j++) {
		law->moments(law, level[j], level[j + 1], m);
		psi += between(m, level[j], level[j + 1]);
	}
	return psi;
}

/* Returns Psi of the two intervals that end and begin at l. */
static double beside(const struct fit_law *law, const double *l) { return crumb_fit_psi(law, l - 1, 3); }

/* Moves a level, unless that raises Psi. */
static void move(const struct fit_law *law, double *l, double to)
{
	const double from = *l, before = beside(law, l);
	*l = to;
	if (!(beside(law, l) <= before))
		*l = from;
}

/* Returns the best place between a and c: there the mass above a is the integral of (c - r) / (c - a), as the
 * derivative of Psi says. Searched by the secant rule with every third step a bisection, so that no inverse
 * of F is needed, which fails in the tails. */
static double best_between(const struct fit_law *law, double a, double now, double c)
{
	double m[3], low = a + CRUMB_FIT_GAP, high = c - CRUMB_FIT_GAP;
	law->moments(law, a, c, m);
	if (!(m[0] > 0) || !(low < high))
		return now;
	const double below = (c * m[0] - m[1]) / (c - a);
	double under = -below, over = m[0] - below;
	for (int i = 0; i < 100 && high - low > 0x1p-48 * (c - a); i++) {
		const double at = low + (high - low) * (i % 3 == 2 ? 0.5 : under / (under - over));
		law->moments(law, a, at, m);
		const double there = m[0] - below;
		if (there == 0)
			return at;
		if (there < 0) {
			low = at;
			under = there;
			over /= 2;
		} else {
			high = at;
			over = there;
			under /= 2;
		}
	}
	return (low + high) / 2;
}

static double sweep(const struct fit_law *law, double *level, size_t count, bool downward)
{
	for (size_t j = 1; j + 1 < count; j++) {
		double *l = downward ? level + count - 1 - j : level + j;
		move(law, l, best_between(law, l[-1], l[0], l[1]));
	}
	return crumb_fit_psi(law, level, count);
}

double crumb_fit_descend(const struct fit_law *law, double *level, size_t count)
{
	return sweep(law, level, count, false);
}

/* Returns the derivative of Psi by *l; *coupling: its derivative by l[1]. */
static double derivative(const struct fit_law *law, const double *l, double *coupling)
{
	double left[3], right[3];
	law->moments(law, l[-1], l[0], left);
	law->moments(law, l[0], l[1], right);
	*coupling = -right[0];
	return left[1] - l[-1] * left[0] - (l[1] * right[0] - right[1]);
}

static double nearer_distance(const double *l) /* to a neighbour */
{
	return l[0] - l[-1] < l[1] - l[0] ? l[0] - l[-1] : l[1] - l[0];
}

/* Takes one step of Newton's method on all inner levels together; the second derivatives are tridiagonal.
 * Descent alone creeps along the valley in which levels shift together. Only a step that keeps levels apart
 * and lowers Psi is taken, so that the pivots' signs need no test. */
static double newton_step(const struct fit_law *law, double *level, size_t count, double psi)
{
	double slope[CRUMB_FIT_LEVELS], pivot[CRUMB_FIT_LEVELS], beside[CRUMB_FIT_LEVELS],
	        to[CRUMB_FIT_LEVELS], m[3];
	const size_t last = count - 1;
	slope[0] = beside[0] = 0;
	pivot[0] = 1;
	for (size_t j = 1; j < last; j++) {
		const double near = nearer_distance(level + j) / 8;
		slope[j] = derivative(law, level + j, &beside[j]);
		law->moments(law, level[j] - near, level[j] + near, m);
		pivot[j] = (level[j + 1] - level[j - 1]) * m[0] / (2 * near);
		const double times = beside[j - 1] / pivot[j - 1];
		pivot[j] -= times * beside[j - 1];
		slope[j] -= times * slope[j - 1];
		if (pivot[j] == 0)
			return psi;
	}
	to[0] = level[0];
	to[last] = level[last];
	for (size_t j = last - 1; j > 0; j--) {
		const double next = to[j + 1] - level[j + 1];
		to[j] = level[j] - (slope[j] + beside[j] * next) / pivot[j];
	}
	for (size_t j = 0; j < last; j++)
		if (!(to[j + 1] - to[j] >= CRUMB_FIT_GAP))
			return psi;
	const double there = crumb_fit_psi(law, to, count);
	if (!(there < psi))
		return psi;
	memcpy(level, to, count * sizeof *to);
	return there;
}

static size_t converge(const struct fit_law *law, double *level, size_t count, bool downward)
{
	double psi = crumb_fit_psi(law, level, count);
	const size_t most = count > 16 ? 8 : 64;
	size_t sweeps = 0;
	for (bool gains = true; gains && sweeps < most; sweeps++) {
		const double before = psi;
		psi = newton_step(law, level, count, sweep(law, level, count, downward));
		gains = before - psi > 1e-4 * before;
	}
	return sweeps;
}

/* Under a law that peaks at zero one level settles there. Of an even number it may be either of the middle
 * ones, and the order of a sweep decides which; one of the two minima can be better by some percent. */
size_t crumb_fit_alq(const struct fit_law *law, double *level, size_t count)
{
	double other[CRUMB_FIT_LEVELS];
	memcpy(other, level, count * sizeof *other);
	const size_t up = converge(law, level, count, false), down = converge(law, other, count, true);
	if (crumb_fit_psi(law, other, count) < crumb_fit_psi(law, level, count))
		memcpy(level, other, count * sizeof *other);
	return up > down ? up : down;
}

static double limited(double step, double most) { return step > most ? most : step < -most ? -most : step; }

void crumb_fit_gradient_step(const struct fit_law *law, double *level, size_t count, double rate)
{
	double step[CRUMB_FIT_LEVELS], coupling;
	for (size_t j = 1; j + 1 < count; j++)
		step[j] = limited(rate * derivative(law, level + j, &coupling),
		                  0.49 * nearer_distance(level + j));
	for (size_t j = 1; j + 1 < count; j++)
		level[j] -= step[j];
}

void crumb_fit_gradient(const struct fit_law *law, double *level, size_t count)
{
	double psi = crumb_fit_psi(law, level, count), rate = 0.1, to[CRUMB_FIT_LEVELS];
	for (int step = 0; step < 1024; step++) {
		memcpy(to, level, count * sizeof *to);
		crumb_fit_gradient_step(law, to, count, rate);
		bool apart = true;
		for (size_t j = 0; j + 1 < count; j++)
			apart = apart && to[j + 1] - to[j] >= CRUMB_FIT_GAP;
		const double there = apart ? crumb_fit_psi(law, to, count) : INFINITY;
		if (!(there < psi)) {
			rate /= 2;
			continue;
		}
		memcpy(level, to, count * sizeof *to);
		const double gain = psi - there;
		psi = there;
		rate *= 2;
		if (!(gain > 1e-6 * psi))
			return;
	}
}

/* ---- AMQ -------------------------------------------------------------------------------------------- */

static const double max_p = 1 - 0x1p-16, min_power = 0x1p-100;

static bool in_range(double p, size_t count, double lo)
{
	double power = p;
	for (size_t i = positive_levels(count, lo); i > 2; i--)
		power *= p;
	return 0 < p && p <= max_p && power >= min_power;
}

struct search {
	const struct fit_law *law;
	double *level, lo, p, psi; /* p, psi: the best so far */
	size_t count;
};

static double psi_at(struct search *s, double p)
{
	crumb_fit_powers(s->level, s->count, s->lo, p);
	const double psi = crumb_fit_psi(s->law, s->level, s->count);
	if (psi < s->psi) {
		s->psi = psi;
		s->p = p;
	}
	return psi;
}

double crumb_fit_multiplier(const struct fit_law *law, double *level, size_t count, double lo,
                            double previous)
{
	const double ratio = 0.84089641525371454303,
	             golden = 0.61803398874989484820; /* 2^(-1/4); (sqrt(5) - 1) / 2 */
	struct search s = {law, level, lo, max_p, INFINITY, count};
	if (in_range(previous, count, lo))
		psi_at(&s, previous);
	double best = max_p, least = INFINITY, p = max_p;
	for (int i = 0; i < 64 && in_range(p, count, lo); i++, p *= ratio) {
		const double psi = psi_at(&s, p);
		if (psi < least) {
			least = psi;
			best = p;
		}
	}
	double low = best * ratio, high = best / ratio < max_p ? best / ratio : max_p;
	double left = high - golden * (high - low), right = low + golden * (high - low);
	double psi_left = psi_at(&s, left), psi_right = psi_at(&s, right);
	for (int i = 0; i < 40; i++)
		if (psi_left < psi_right) {
			high = right;
			right = left;
			psi_right = psi_left;
			left = high - golden * (high - low);
			psi_left = psi_at(&s, left);
		} else {
			low = left;
			left = right;
			psi_left = psi_right;
			right = low + golden * (high - low);
			psi_right = psi_at(&s, right);
		}
	crumb_fit_powers(level, count, lo, s.p);
	return s.p;
}
