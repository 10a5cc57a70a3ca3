/* Fitted levels: the moments of laws, and the solvers' promises about Psi.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/optimum.h"
#include "tests/fit_tables.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static void assert_near(double a, double b, double tolerance)
{
	if (!(fabs(a - b) <= tolerance))
		fail_msg("%.17g is not %.17g", a, b);
}

/* ---- Laws to try ------------------------------------------------------------------------------------ */

/* Bins from -1 to 1: eight an octave from 2^-20, and one about zero. */
enum { BINS = 321 };
static double edge[BINS + 1];

struct bins {
	struct fit_histogram h;
	double mass[BINS], sum[3][BINS + 1];
};

static int set_edges(void **state)
{
	(void)state;
	for (int i = 0; i < 161; i++) {
		const double e = i < 160 ? ldexp(1 + i % 8 / 8.0, i / 8 - 20) : 1;
		edge[161 + i] = e;
		edge[160 - i] = -e;
	}
	return 0;
}

static const struct fit_law *sum_up(struct bins *b)
{
	crumb_fit_histogram(&b->h, edge, b->mass, BINS, (double *[]){b->sum[0], b->sum[1], b->sum[2]});
	return &b->h.law;
}

static double gauss_above(double x) { return erfc(x / sqrt(2)) / 2; }
static double laplace_above(double x) { return exp(-x * sqrt(2)) / 2; }

static const struct fit_law *symmetric(struct bins *b, double (*above)(double), double sigma)
{
	for (int i = 0; i < BINS; i++) {
		const double near = fmin(fabs(edge[i]), fabs(edge[i + 1])) / sigma;
		const double far = fmax(fabs(edge[i]), fabs(edge[i + 1])) / sigma;
		b->mass[i] = i == 160 ? 1 - 2 * above(far) : above(near) - above(far);
	}
	return sum_up(b);
}

static const struct fit_law *counted(struct bins *b, const unsigned *count)
{
	for (int i = 0; i < BINS; i++)
		b->mass[i] = count[i];
	return sum_up(b);
}

/* Laws of gradients: normal, Laplace, and lenet's gradients at its first step, after one epoch and after two.
 */
enum { LAWS = 9 };
static const struct fit_law *law_of(struct bins *b, int which)
{
	static const double sigma[3] = {0.1, 0.011, 1.0 / 128};
	if (which < 6)
		return symmetric(b, which < 3 ? gauss_above : laplace_above, sigma[which % 3]);
	return counted(b, table_lenet[which - 6]);
}

enum { STARTS = 2 };
static void start(double *level, size_t count, double lo, int which)
{
	if (which == 0)
		crumb_fit_uniform(level, count, lo);
	else
		crumb_fit_powers(level, count, lo, 0.5);
}

static void assert_ascending(const double *level, size_t count, double lo)
{
	assert_true(level[0] == lo && level[count - 1] == 1);
	for (size_t j = 1; j < count; j++)
		if (!((float)level[j - 1] < (float)level[j]))
			fail_msg("level %zu is %.17g, level %zu is %.17g", j - 1, level[j - 1], j, level[j]);
}

static uint64_t random_state;
static double uniform(void)
{
	random_state = random_state * 6364136223846793005 + 1442695040888963407;
	return (double)(random_state >> 11) * 0x1p-53;
}

/* ---- Moments ---------------------------------------------------------------------------------------- */

/* Sums up every bin's part of (a, b]. */
static void moments_bin_by_bin(const struct fit_histogram *h, double a, double b, double m[3])
{
	m[0] = m[1] = m[2] = 0;
	for (size_t i = 0; i < h->count; i++) {
		const double from = h->edge[i], to = h->edge[i + 1], low = fmax(from, a), high = fmin(to, b);
		if (from == to ? a < from && from <= b : low < high)
			for (int k = 0; k < 3; k++)
				m[k] += from == to ? h->mass[i] * pow(from, k)
				                   : h->mass[i] / (to - from) *
				                             (pow(high, k + 1) - pow(low, k + 1)) / (k + 1);
	}
}

static void histograms_have_their_bins_moments(void **state)
{
	(void)state;
	enum { N = 12 };
	double e[N + 1], mass[N], sum[3][N + 1], m[3], expected[3];
	for (uint64_t seed = 1; seed <= 3; seed++) {
		random_state = seed;
		e[0] = -1;
		for (int i = 0; i < N; i++) {
			e[i + 1] = (i + seed) % 3 == 0 ? e[i]
			                               : e[i] + uniform() * 0.2; // bins of no width: points
			mass[i] = i % 4 == 3 ? 0 : uniform();
		}
		struct fit_histogram h;
		crumb_fit_histogram(&h, e, mass, N, (double *[]){sum[0], sum[1], sum[2]});
		for (int trial = 0; trial < 2000; trial++) {
			/* anywhere, and just at edges, and outside */
			double a = trial % 3 ? uniform() * 4 - 2 : e[trial % (N + 1)];
			double b = trial % 5 ? uniform() * 4 - 2 : e[(trial / 5) % (N + 1)];
			if (a > b) {
				const double swap = a;
				a = b;
				b = swap;
			}
			h.law.moments(&h.law, a, b, m);
			moments_bin_by_bin(&h, a, b, expected);
			for (int k = 0; k < 3; k++)
				assert_near(m[k], expected[k], 1e-14);
		}
	}
}

static void normals_have_scipys_moments(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(table_normal); i++) {
		struct fit_normal part = {3, table_normal[i].mean, table_normal[i].sigma};
		struct fit_mixture mix;
		crumb_fit_mixture(&mix, &part, 1, table_normal[i].lo, table_normal[i].hi);
		double m[3];
		const double a = table_normal[i].a, b = table_normal[i].b;
		mix.law.moments(&mix.law, a, b, m);
		for (int k = 0; k < 3; k++) // odd moments of what is even cancel
			assert_near(m[k] / 3, table_normal[i].moment[k],
			            1e-11 * table_normal[i].moment[k & 2]);
		double level[3] = {a, a + (b - a) * 0.9, b};
		crumb_fit_descend(&mix.law, level, 3);
		assert_near(level[1], table_normal[i].best, 1e-10);
	}
}

static void a_magnitudes_law_is_folded(void **state)
{
	(void)state;
	struct fit_normal part[2] = {{1, 0.1, 0.2}, {2, -0.3, 0.05}};
	struct fit_mixture mix;
	struct fit_magnitude magnitude;
	crumb_fit_mixture(&mix, part, 2, -1, 1);
	crumb_fit_magnitude(&magnitude, &mix.law);
	/* Levels with a zero, and their upper half on magnitudes, have one Psi. */
	double level[9];
	crumb_fit_powers(level, 9, -1, 0.6);
	assert_near(crumb_fit_psi(&magnitude.law, level + 4, 5), crumb_fit_psi(&mix.law, level, 9), 1e-15);
}

/* ---- The papers' numbers ---------------------------------------------------------------------------- */

/* Computed outside this project, from the formulas, and given to 17 digits. */
static const struct {
	double lo;
	size_t parts;
	struct fit_normal part[3];
	size_t count;
	double start[8], after_1[8], after_10[8], psi[11];
} alq[] = {
        {-1,
         1,
         {{1.0, 0.0, 0.1}},
         8,
         {-1.0, -0.5, -0.25, -0.125, 0.125, 0.25, 0.5, 1.0},
         {-1.0, -0.34628750165250455, -0.19985296896143123, -0.025920722459046405, 0.0857222220107075,
          0.19397909507831834, 0.30267501306708555, 1.0},
         {-1.0, -0.24731951210365877, -0.11864258544409872, -0.0345375222642257, 0.04107744458666579,
          0.12470213523708717, 0.2523150269764842, 1.0},
         {0.009569333430591867, 0.0032039329453730646, 0.002018429118790069, 0.0017584643231824371,
          0.001716391102438547, 0.001700581734230208, 0.0016906688544177824, 0.001684376119753229,
          0.0016806215316957083, 0.0016784527300479195, 0.0016772170314116885}},
        {-1,
         1,
         {{1.0, 0.0, 0.1}},
         8,
         {-1.0, -0.7142857142857143, -0.4285714285714286, -0.1428571428571429, 0.1428571428571428,
          0.4285714285714284, 0.7142857142857142, 1.0},
         {-1.0, -0.4967314194926373, -0.23367184412296155, -0.02853857486459136, 0.11649436187369383,
          0.23233566068746658, 0.3322960704851984, 1.0},
         {-1.0, -0.2458718646217372, -0.117041160020003, -0.03299202541352399, 0.042431524845121416,
          0.12577896216629747, 0.2530623364994147, 1.0},
         {0.014342226309457222, 0.004671177639248831, 0.0023869910753687297, 0.0018572697701694208,
          0.001760756472785462, 0.001727890068356039, 0.0017071377347356478, 0.0016939495184744755,
          0.0016860872684929817, 0.0016815505787499852, 0.001678968143969658}},
        {-1,
         3,
         {{1.0, 0.01, 0.05}, {4.0, 0.0, 0.1}, {9.0, -0.02, 0.02}},
         8,
         {-1.0, -0.5, -0.25, -0.125, 0.125, 0.25, 0.5, 1.0},
         {-1.0, -0.3462874715350427, -0.19974877925935713, -0.022447820164448608, 0.06222327511186923,
          0.17597248422696443, 0.28913784741171344, 1.0},
         {-1.0, -0.22551313065121198, -0.08869481304227902, -0.029843341489021194, 0.011047536721035402,
          0.09496196930998482, 0.2312492938563605, 1.0},
         {0.013201133538777238, 0.002043375226998442, 0.001159506881866895, 0.000953552967919113,
          0.0009225577369027162, 0.000911847483098099, 0.0009033701851294329, 0.0008962520758249021,
          0.0008907287059486125, 0.0008867324444561247, 0.0008840178112460477}},
        {0,
         1,
         {{1.0, 0.0, 0.2}},
         5,
         {0.0, 0.125, 0.25, 0.5, 1.0},
         {0.0, 0.1173508820642433, 0.26935417710510323, 0.45620591397364774, 1.0},
         {0.0, 0.11949221984990555, 0.2551997309504994, 0.44606576219381067, 1.0},
         {0.004328401430402555, 0.004007417746665887, 0.003960449200019192, 0.003952145466615743,
          0.003950358184440301, 0.003949973010258179, 0.003949889952337955, 0.003949872036911955,
          0.003949868172082659, 0.003949867338286151, 0.0039498671583981255}},
};

static void alq_follows_the_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(alq); i++) {
		struct fit_normal part[3];
		struct fit_mixture mix;
		double level[8], whole[3];
		memcpy(part, alq[i].part, sizeof part);
		memcpy(level, alq[i].start, sizeof level);
		crumb_fit_mixture(&mix, part, alq[i].parts, alq[i].lo, 1);
		mix.law.moments(&mix.law, alq[i].lo, 1, whole);
		assert_near(crumb_fit_psi(&mix.law, level, alq[i].count) / whole[0], alq[i].psi[0], 1e-12);
		for (int sweep = 1; sweep <= 10; sweep++) {
			const double psi = crumb_fit_descend(&mix.law, level, alq[i].count);
			assert_near(psi / whole[0], alq[i].psi[sweep], 1e-12);
			for (size_t j = 0; j < alq[i].count; j++)
				if (sweep == 1)
					assert_near(level[j], alq[i].after_1[j], 1e-9);
				else if (sweep == 10)
					assert_near(level[j], alq[i].after_10[j], 1e-9);
		}
	}
}

static void amq_follows_the_vectors(void **state)
{
	(void)state;
	static const struct {
		double sigma, p, psi, slope; // of the positive half
		size_t count;
		double best; // 0: not given
	} amq[] = {
	        {0.1, 0.5, 0.0047846667152959335, 0.07060996170711888, 8, 0},
	        {0.1, 0.3602, 0.0012021798149618231, -1.5453562824982274e-05, 8, 0.3602},
	        {0.01, 0.2, 3.971319116567763e-05, 0.0003624210473138368, 8, 0},
	        {0.05, 0.5412, 9.316001922026268e-05, 1.8186949918146968e-06, 16, 0.5412},
	        {0.0078125, 0.1328, 1.8098137327890306e-05, -8.815292774474385e-07, 8, 0.1328},
	        {0.01104854345603981, 0.1566, 0, 0, 8, 0.1566}, // 1 / sqrt(8192)
	};
	for (size_t i = 0; i < COUNT_OF(amq); i++) {
		struct fit_normal part = {1, 0, amq[i].sigma};
		struct fit_mixture mix;
		double level[16];
		const double p = amq[i].p, step = 1e-6;
		crumb_fit_mixture(&mix, &part, 1, -1, 1);
		crumb_fit_powers(level, amq[i].count, -1, p);
		const double psi = crumb_fit_psi(&mix.law, level, amq[i].count);
		if (amq[i].psi > 0) {
			assert_near(psi / 2, amq[i].psi, 1e-14);
			crumb_fit_powers(level, amq[i].count, -1, p + step);
			const double above = crumb_fit_psi(&mix.law, level, amq[i].count);
			crumb_fit_powers(level, amq[i].count, -1, p - step);
			const double below = crumb_fit_psi(&mix.law, level, amq[i].count);
			assert_near((above - below) / (4 * step), amq[i].slope, 1e-9);
		}
		if (amq[i].best > 0)
			assert_near(crumb_fit_multiplier(&mix.law, level, amq[i].count, -1, 0), amq[i].best,
			            1e-4); // 0.36029 stands as 0.3602 there
	}
}

/* ---- Coordinate descent ----------------------------------------------------------------------------- */

static void a_move_is_to_the_best_place(void **state)
{
	(void)state;
	for (int which = 0; which < LAWS; which++) {
		struct bins b;
		const struct fit_law *law = law_of(&b, which);
		const double whole = b.sum[0][BINS];
		for (int s = 0; s < STARTS; s++) {
			double level[8];
			start(level, 8, -1, s);
			for (int j = 0; j + 2 < 8; j++) {
				const double before = crumb_fit_psi(law, level, 8);
				double three[3] = {level[j], level[j + 1], level[j + 2]};
				const double psi = crumb_fit_descend(law, three, 3);
				for (int k = 1; k < 1000; k++) {
					double other[3] = {three[0], 0, three[2]};
					other[1] = three[0] + (three[2] - three[0]) * k / 1000;
					assert_true(psi <= crumb_fit_psi(law, other, 3) + 1e-15 * whole);
				}
				level[j + 1] = three[1];
				assert_true(crumb_fit_psi(law, level, 8) <= before + 1e-15 * whole);
			}
		}
	}
}

/* This holds to the bit, and long after there is nothing left to gain. */
static void a_sweep_never_raises_psi(void **state)
{
	(void)state;
	for (int which = 0; which < LAWS; which++)
		for (int s = 0; s < STARTS; s++)
			for (size_t count = 3; count <= 16; count++)
				for (int lo = -1; lo <= 0; lo++) {
					struct bins b;
					struct fit_magnitude magnitude;
					const struct fit_law *law = law_of(&b, which);
					double level[16];
					if (lo == 0) {
						crumb_fit_magnitude(&magnitude, law);
						law = &magnitude.law;
					}
					start(level, count, lo, s);
					double before = crumb_fit_psi(law, level, count);
					for (int sweep = 0; sweep < 40; sweep++) {
						const double psi = crumb_fit_descend(law, level, count);
						assert_true(psi <= before);
						assert_true(psi == crumb_fit_psi(law, level, count));
						before = psi;
					}
					assert_ascending(level, count, lo);
				}
}

static void alq_converges_near_the_optimum(void **state)
{
	(void)state;
	for (int which = 0; which < LAWS; which++)
		for (size_t count = 8; count <= 16; count += 8) {
			struct bins b;
			const struct fit_law *law = law_of(&b, which);
			double best[16];
			const double optimum = crumb_fit_optimum(&b.h, best, count);
			assert_true(optimum == crumb_fit_psi(law, best, count) ||
			            fabs(optimum / crumb_fit_psi(law, best, count) - 1) < 1e-12);
			for (int s = 0; s < STARTS; s++) {
				double level[16], plain[16];
				start(level, count, -1, s);
				memcpy(plain, level, sizeof plain);
				const size_t sweeps = crumb_fit_alq(law, level, count);
				const double psi = crumb_fit_psi(law, level, count);
				size_t alone = 0; // sweeps of coordinate descent alone
				double before, now = crumb_fit_psi(law, plain, count);
				do {
					before = now;
					now = crumb_fit_descend(law, plain, count);
				} while (++alone < 100 && before - now > 1e-4 * before);
				if (sweeps >= (count == 8 ? 10 : 64) || psi > 1.01 * optimum || alone > 64)
					fail_msg(
					        "law %d, %zu levels, start %d: %zu sweeps, Psi is %.4f of the "
					        "optimum; %zu sweeps without Newton",
					        which, count, s, sweeps, psi / optimum, alone);
				assert_ascending(level, count, -1);
			}
		}
}

/* The derivative is taken by differences of Psi itself. */
static void gradient_descent_begins_with_the_papers_step(void **state)
{
	(void)state;
	const double nudge = 1e-7;
	for (int which = 0; which < 6; which++) { /* normal laws, which have a density without jumps */
		const double rate = which < 3 ? 0.1 : 100;
		static const double sigma[3] = {0.3, 0.1, 0.05};
		struct fit_normal part = {1, 0.02, sigma[which % 3]};
		struct fit_mixture law;
		crumb_fit_mixture(&law, &part, 1, -1, 1);
		double level[8], next[8];
		crumb_fit_uniform(level, 8, -1);
		memcpy(next, level, sizeof level);
		crumb_fit_gradient_step(&law.law, next, 8, rate);
		for (int j = 1; j < 7; j++) {
			double moved[8];
			memcpy(moved, level, sizeof level);
			moved[j] += nudge;
			const double above = crumb_fit_psi(&law.law, moved, 8);
			moved[j] -= 2 * nudge;
			const double slope = (above - crumb_fit_psi(&law.law, moved, 8)) / (2 * nudge);
			const double most = 0.49 * (2.0 / 7), step = fmax(-most, fmin(most, rate * slope));
			assert_near(next[j], level[j] - step, rate * 1e-7);
		}
	}
}

static void gradient_descent_lowers_psi(void **state)
{
	(void)state;
	for (int which = 0; which < LAWS; which++)
		for (size_t count = 4; count <= 64; count *= 2)
			for (int s = 0; s < STARTS; s++) {
				struct bins b;
				const struct fit_law *law = law_of(&b, which);
				double level[64], best[64];
				crumb_fit_uniform(level, count, -1);
				if (s == 1)
					crumb_fit_powers(level, count, -1, crumb_fit_start(count, -1));
				memcpy(best, level, sizeof level);
				const double before = crumb_fit_psi(law, level, count);
				crumb_fit_gradient(law, level, count);
				crumb_fit_alq(law, best, count);
				const double psi = crumb_fit_psi(law, level, count);
				assert_ascending(level, count, -1);
				const double least = crumb_fit_psi(law, best, count);
				if (!(psi <= before) || (count <= 16 && psi < 0.999 * least) ||
				    (count == 4 && psi > 1.001 * least))
					fail_msg(
					        "law %d, %zu levels, start %d: Psi goes from %g to %g; by coordinates %g",
					        which, count, s, before, psi, least);
			}
}

/* Levels are agreed on by computing them everywhere. */
static void levels_are_the_same_bits_everywhere(void **state)
{
	(void)state;
	static const double expected[8] = {-0x1p+0,
	                                   -0x1.328d3aab4cb96p-4,
	                                   -0x1.3815adfe3d6c4p-6,
	                                   -0x1.034fb6ca2403p-13,
	                                   0x1.86400e8084926p-7,
	                                   0x1.1dd1e16afc9bfp-5,
	                                   0x1.91a4a62be475dp-4,
	                                   0x1p+0};
	struct bins b;
	double level[8];
	crumb_fit_powers(level, 8, -1, 0.5);
	crumb_fit_alq(counted(&b, table_lenet[1]), level, 8);
	for (int j = 0; j < 8; j++)
		if (level[j] != expected[j])
			fail_msg("level %d is %a", j, level[j]);
}

static void a_laws_mass_does_not_matter(void **state)
{
	(void)state;
	struct bins b;
	double level[8], scaled[8];
	crumb_fit_uniform(level, 8, -1);
	memcpy(scaled, level, sizeof level);
	crumb_fit_alq(counted(&b, table_lenet[0]), level, 8);
	for (int i = 0; i < BINS; i++)
		b.mass[i] *= 0x1p-300;
	crumb_fit_alq(sum_up(&b), scaled, 8);
	assert_memory_equal(level, scaled, sizeof level);
}

/* ---- AMQ and ZipML ---------------------------------------------------------------------------------- */

static void no_multiplier_is_better(void **state)
{
	(void)state;
	for (int which = 0; which < LAWS; which++)
		for (size_t count = 4; count <= 16; count += 3)
			for (int lo = -1; lo <= 0; lo++) {
				struct bins b;
				struct fit_magnitude magnitude;
				const struct fit_law *law = law_of(&b, which);
				double level[16], other[16];
				if (lo == 0) {
					crumb_fit_magnitude(&magnitude, law);
					law = &magnitude.law;
				}
				const double p = crumb_fit_multiplier(law, level, count, lo, 0);
				const double psi = crumb_fit_psi(law, level, count);
				assert_true(0 < p && p < 1);
				assert_ascending(level, count, lo);
				crumb_fit_powers(other, count, lo, p);
				assert_memory_equal(level, other, count * sizeof *level);
				for (int k = 1; k < 2000; k++) {
					crumb_fit_powers(other, count, lo, k / 2000.0);
					assert_true(psi <= crumb_fit_psi(law, other, count) * (1 + 1e-9));
				}
			}
	struct bins b; // where none is better, it stays
	double level[3];
	assert_true(crumb_fit_multiplier(law_of(&b, 0), level, 3, -1, 0.25) == 0.25);
}

static double best_of_all(const struct fit_histogram *h, double *level, size_t placed, size_t from,
                          size_t count)
{
	if (placed + 1 == count) {
		level[placed] = h->edge[h->count];
		return level[placed] - level[placed - 1] < CRUMB_FIT_GAP
		               ? INFINITY
		               : crumb_fit_psi(&h->law, level, count);
	}
	double best = INFINITY;
	for (size_t i = from; i < h->count; i++)
		if (h->edge[i] - level[placed - 1] >= CRUMB_FIT_GAP) {
			level[placed] = h->edge[i];
			best = fmin(best, best_of_all(h, level, placed + 1, i + 1, count));
		}
	return best;
}

static void the_optimum_is_the_best_of_all(void **state)
{
	(void)state;
	enum { N = 10 };
	for (int trial = 0; trial < 30; trial++) {
		random_state = (uint64_t)trial;
		double e[N + 1] = {-1}, mass[N], sum[3][N + 1];
		for (int i = 0; i < N; i++) {
			e[i + 1] = e[i] + ((trial + i) % 7 == 0   ? 0
			                   : (trial + i) % 7 == 3 ? 0.4 * CRUMB_FIT_GAP
			                                          : 0.01 + uniform());
			mass[i] = uniform() * uniform();
		}
		struct fit_histogram h;
		crumb_fit_histogram(&h, e, mass, N, (double *[]){sum[0], sum[1], sum[2]});
		for (size_t count = 2; count <= N; count++) {
			double level[N] = {-1}, all[N] = {-1};
			const double psi = crumb_fit_optimum(&h, level, count),
			             best = best_of_all(&h, all, 1, 1, count);
			if (psi == INFINITY && best == INFINITY)
				continue;
			assert_near(psi, best, 1e-12);
			assert_near(psi, crumb_fit_psi(&h.law, level, count), 1e-12);
			assert_true(level[0] == e[0] && level[count - 1] == e[N]);
		}
		double level[12];
		assert_true(crumb_fit_optimum(&h, level, 12) == INFINITY); // eleven edges
	}
}

/* ---- Degenerate laws ------------------------------------------------------------------------------ */

static void solve_and_check(const struct fit_law *law, double lo)
{
	static const double previous[] = {0.5, -0.5, 2, NAN, 0x1p-12};
	for (int s = 0; s < STARTS + 2; s++)
		for (size_t count = 2; count <= 16; count += count < 4 ? 1 : 6) {
			double level[16];
			start(level, count, lo, s % 2);
			for (size_t j = 1; s >= STARTS && j + 1 < count; j++) // as near as may be to one end
				level[j] = s == STARTS ? lo + (double)j * CRUMB_FIT_GAP
				                       : 1 - (double)(count - 1 - j) * CRUMB_FIT_GAP;
			assert_ascending(level, count, lo);
			const double first = crumb_fit_psi(law, level, count);
			const size_t sweeps = crumb_fit_alq(law, level, count);
			assert_true(1 <= sweeps && sweeps <= 64);
			assert_true(crumb_fit_psi(law, level, count) <= first);
			assert_ascending(level, count, lo);
			for (size_t i = 0; i < COUNT_OF(previous); i++) {
				const double p = crumb_fit_multiplier(law, level, count, lo, previous[i]);
				assert_true(0 < p && p < 1);
				assert_ascending(level, count, lo);
			}
		}
}

/* Few bins with mass, and most of that in one of them, from anywhere. */
static void levels_ascend_on_sparse_laws(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct bins b = {.mass = {0}};
		random_state = seed;
		for (size_t i = 0; i < seed % 7; i++)
			b.mass[(size_t)(uniform() * BINS)] = uniform() < 0.3 ? 1e9 : uniform();
		const struct fit_law *law = sum_up(&b);
		const size_t count = 3 + seed % 14;
		double level[16];
		crumb_fit_uniform(level, count, -1);
		for (size_t j = 1; j + 1 < count; j++)
			level[j] += (uniform() - 0.5) / (double)count;
		const double first = crumb_fit_psi(law, level, count);
		crumb_fit_alq(law, level, count);
		assert_ascending(level, count, -1);
		assert_true(crumb_fit_psi(law, level, count) <= first);
	}
}

static void levels_ascend_whatever_comes_in(void **state)
{
	(void)state;
	static const int one[] = {-1, 0, 1, 150, 160, 161, 200, 320}; // none; the only bin with mass
	for (size_t i = 0; i < COUNT_OF(one); i++) {
		struct bins b = {.mass = {0}};
		double level[16];
		if (one[i] >= 0)
			b.mass[one[i]] = 1000;
		solve_and_check(sum_up(&b), -1);
		const double psi = crumb_fit_optimum(&b.h, level, 16);
		const double width = one[i] < 0 ? 0 : edge[one[i] + 1] - edge[one[i]];
		assert_near(psi, 1000 * width * width / 6, 1e-12 * 1000);
		assert_ascending(level, 16, -1);
	}
	static const double point[] = {-1, -0.3, 0, 0x1p-30, 0.5, 1};
	for (size_t i = 0; i < COUNT_OF(point); i++) {
		const double e[4] = {-1, point[i], point[i], 1}, mass[3] = {0, 5, 0};
		double sum[3][4], level[3];
		struct fit_histogram h;
		struct fit_magnitude magnitude;
		crumb_fit_histogram(&h, e, mass, 3, (double *[]){sum[0], sum[1], sum[2]});
		crumb_fit_magnitude(&magnitude, &h.law);
		solve_and_check(&h.law, -1);
		solve_and_check(&magnitude.law, 0);
		const double psi = crumb_fit_optimum(&h, level, 3);
		if (fabs(point[i]) == 1) // an edge that is another one
			assert_true(psi == INFINITY);
		else
			assert_near(psi, 0, 1e-14);

		struct fit_normal part[2] = {{1, point[i], 0}, {0, 0, 0.1}};
		struct fit_mixture mix;
		crumb_fit_mixture(&mix, part, 2, -1, 1);
		solve_and_check(&mix.law, -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(histograms_have_their_bins_moments),
	        cmocka_unit_test(normals_have_scipys_moments),
	        cmocka_unit_test(a_magnitudes_law_is_folded),
	        cmocka_unit_test(alq_follows_the_vectors),
	        cmocka_unit_test(amq_follows_the_vectors),
	        cmocka_unit_test(a_move_is_to_the_best_place),
	        cmocka_unit_test(a_sweep_never_raises_psi),
	        cmocka_unit_test(alq_converges_near_the_optimum),
	        cmocka_unit_test(gradient_descent_begins_with_the_papers_step),
	        cmocka_unit_test(gradient_descent_lowers_psi),
	        cmocka_unit_test(levels_are_the_same_bits_everywhere),
	        cmocka_unit_test(a_laws_mass_does_not_matter),
	        cmocka_unit_test(no_multiplier_is_better),
	        cmocka_unit_test(the_optimum_is_the_best_of_all),
	        cmocka_unit_test(levels_ascend_on_sparse_laws),
	        cmocka_unit_test(levels_ascend_whatever_comes_in),
	};
	return cmocka_run_group_tests(tests, set_edges, NULL);
}
