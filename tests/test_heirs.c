/* A run goes on with other learners, or on other ranks: what has arrived and what is owed is what was put in,
 * to the integer.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/data/drawn_digits.h"
#include "train/holding.h"
#include "train/split.h"

enum {
	BATCH = 48,
	STEPS = 5,
	SCALE = 96
}; /* every gradient is a multiple of SCALE, so that shares are integers */

static const struct layer one_layer[] = {{.type = LAYER_FC, .units = 10}};
static const struct model model = {.name = "one", .layers = one_layer, .layer_count = 1};

struct problem {
	struct data data;
	struct net net;
};

static void problem_open(struct problem *p)
{
	char why[256] = "";
	*p = (struct problem){0};
	assert_int_equal(drawn_digits_make(&p->data, false, BATCH, 10, why, sizeof why), 0);
	assert_int_equal(net_open(&p->net, &model, p->data.shape, why, sizeof why), 0);
}

/* A run of so many learners, opened. */
struct side {
	struct options options;
	struct train_setting setting;
	struct log log;
	struct train train;
	struct holding held;
};

static struct side *side_open(const struct problem *p, size_t learners, const char *plan, const char *up,
                              const char *down)
{
	char why[256] = "";
	struct side *side = calloc(1, sizeof *side);
	assert_non_null(side);
	struct options *o = &side->options;
	*o = (struct options){.learners = learners, .batch = BATCH, .epochs = 1, .seed = 1, .model = &model};
	o->data = "digits";
	o->plan = crumb_plan_find(plan);
	o->down_exact = !down;
	o->codec[0].text = up;
	assert_int_equal(crumb_policy_parse(&o->codec[0].policy, up, NULL), 0);
	if (down)
		assert_int_equal(crumb_policy_parse(&o->down, down, NULL), 0);
	side->setting = (struct train_setting){o, &p->data, &p->net, NULL, NULL, &side->log, NULL};
	if (train_open(&side->train, &side->setting, 0, why, sizeof why) < 0)
		fail_msg("%s", why);
	assert_true(holding_of(&side->held, &side->train));
	return side;
}

static void side_close(struct side *side)
{
	holding_close(&side->held, &side->train);
	train_close(&side->train);
	free(side);
}

static double put_in[7850], arrived[7850];

/* Takes steps on gradients of integers; the sums of what is put in and arrives are kept. */
static void side_steps(struct side *side, unsigned seed)
{
	struct train *t = &side->train;
	const size_t n = side->setting.net->parameters;
	assert_true(n <= sizeof put_in / sizeof *put_in);
	for (unsigned step = 0; step < STEPS; step++) {
		for (size_t l = 0; l < t->own; l++)
			for (size_t i = 0; i < n; i++) {
				seed = seed * 1664525 + 1013904223;
				t->grad[l][i] = (float)(SCALE * ((int)(seed >> 24) % 9 - 4));
				put_in[i] += (double)t->share[l] * t->grad[l][i];
			}
		assert_int_equal(
		        crumb_exchange_step(t->exchange, (const float *const *)t->grad, t->share, t->mean),
		        0);
		for (size_t i = 0; i < n; i++)
			arrived[i] += t->mean[i];
	}
}

static void add_debt(double *debt, const struct crumb_slice *slice, crumb_packer *packer, double share)
{
	const float *residual = packer ? crumb_packer_residual(packer) : NULL;
	for (size_t i = 0; residual && i < slice->n; i++)
		debt[slice->at + i] += share * residual[i];
}

/* All that was put in has arrived or is owed to the mean. */
static void nothing_is_lost(const struct side *side, double tolerance)
{
	const struct train *t = &side->train;
	double debt[7850] = {0};
	bool owes = false;
	for (size_t s = 0; s < t->slices; s++) {
		for (size_t l = 0; l < t->own; l++)
			add_debt(debt, &t->slice[s], side->held.packer[l * t->slices + s], t->share[l]);
		add_debt(debt, &t->slice[s], side->held.mean[s], 1);
	}
	for (size_t i = 0; i < side->setting.net->parameters; i++) {
		assert_true(fabs(put_in[i] - arrived[i] - debt[i]) <= tolerance);
		owes |= debt[i] != 0;
	}
	assert_true(owes);
}

/* Copies what a rank of `ranks` would have had of `from`'s learners. */
static void holding_of_rank(struct holding *held, const struct side *from, uint32_t rank, uint32_t ranks)
{
	const struct train *t = &from->train;
	struct layout layout = from->held.layout;
	layout.rank = rank;
	layout.ranks = ranks;
	layout.first_debtor = rank * layout.learners / ranks;
	layout.debtors = (rank + 1) * layout.learners / ranks - layout.first_debtor;
	assert_true(holding_open(held, t, &layout));
	memcpy(held->debtor, from->held.debtor, layout.learners * sizeof *held->debtor);
	for (size_t s = 0; s < t->slices; s++) {
		for (size_t d = 0; d < layout.debtors; d++) {
			const crumb_packer *its =
			        from->held.packer[(layout.first_debtor + d) * t->slices + s];
			memcpy(held->packer[d * t->slices + s], its,
			       crumb_packer_size(crumb_packer_codec(its), crumb_packer_count(its)));
		}
		const crumb_packer *mean = s % ranks == rank ? from->held.mean[s] : NULL;
		if (mean)
			memcpy(held->mean[s], mean,
			       crumb_packer_size(crumb_packer_codec(mean), crumb_packer_count(mean)));
		else {
			free(held->mean[s]);
			held->mean[s] = NULL;
		}
	}
}

static void goes_on(struct side *to, const struct side *from, uint32_t ranks)
{
	for (uint32_t rank = 0; rank < ranks; rank++) {
		struct holding then;
		holding_of_rank(&then, from, rank, ranks);
		holding_inherit(&to->train, &to->held, &then);
		holding_close(&then, &from->train);
	}
}

static const struct {
	const char *plan, *up, *down;

} ways[] = {
        {"gather", "twobit:threshold=96", NULL},
        {"gather", "strom:threshold=192", NULL},
        {"shard", "twobit:threshold=96", "strom:threshold=96"},
        {"server", "strom:threshold=96", "twobit:threshold=192"},
};

/* Learners become fewer and more; with powers of two in exact integers, else to rounding. */
static void learners_pass_on_what_they_owe(void **state)
{
	static const struct {
		size_t learners[3];
		double tolerance;
	} runs[] = {{{4, 2, 8}, 0}, {{8, 1, 4}, 0}, {{2, 2, 4}, 0}, {{3, 5, 2}, 1e-2}, {{7, 3, 4}, 1e-2}};
	struct problem p;
	(void)state;
	problem_open(&p);
	for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
		for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
			struct side *before = NULL;
			memset(put_in, 0, sizeof put_in);
			memset(arrived, 0, sizeof arrived);
			for (unsigned k = 0; k < 3; k++) {
				struct side *side = side_open(&p, runs[r].learners[k], ways[w].plan,
				                              ways[w].up, ways[w].down);
				if (before) {
					goes_on(side, before, k + 1);
					nothing_is_lost(side, runs[r].tolerance);
					side_close(before);
				}
				side_steps(side, (unsigned)(k + r));
				nothing_is_lost(side, runs[r].tolerance);
				before = side;
			}
			side_close(before);
		}
	data_close(&p.data);
}

/* Learners that move to other ranks have their packers as they were, to the byte. */
static void packers_move_whole(void **state)
{
	struct problem p;
	(void)state;
	problem_open(&p);
	for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
		for (uint32_t ranks = 1; ranks <= 6; ranks++) {
			struct side *from = side_open(&p, 4, ways[w].plan, ways[w].up, ways[w].down);
			struct side *to = side_open(&p, 4, ways[w].plan, ways[w].up, ways[w].down);
			side_steps(from, ranks);
			goes_on(to, from, ranks);
			for (size_t i = 0; i < 5 * from->train.slices; i++) {
				const size_t s = i % from->train.slices, d = i / from->train.slices;
				const crumb_packer *had = d < 4 ? from->held.packer[i] : from->held.mean[s];
				const crumb_packer *has = d < 4 ? to->held.packer[i] : to->held.mean[s];
				if (had)
					assert_memory_equal(has, had,
					                    crumb_packer_size(crumb_packer_codec(had),
					                                      crumb_packer_count(had)));
			}
			side_close(from);
			side_close(to);
		}
	data_close(&p.data);
}

/* Returns the sum of all velocities, each times its learner's share. */
static double sum_of_velocities(const struct side *side)
{
	const struct train *t = &side->train;
	double sum = 0;
	for (size_t i = 0; i < t->own * t->slices; i++) {
		const struct crumb_slice *slice = &t->slice[i % t->slices];
		const float *velocity = crumb_packer_velocity(side->held.packer[i]);
		for (size_t k = 0; velocity && k < slice->n; k++)
			sum += (double)t->share[i / t->slices] * fabs((double)velocity[k]);
	}
	return sum;
}

/* A warm-up goes on, whoever is the heir, and with the same learners so do velocities. */
static void a_warm_up_goes_on(void **state)
{
	struct problem p;
	(void)state;
	problem_open(&p);
	for (size_t heirs = 1; heirs <= 8; heirs++) {
		struct side *from = side_open(&p, 4, "gather", "last=dgc:warmup=20;bias=raw", NULL);
		struct side *to = side_open(&p, heirs, "gather", "last=dgc:warmup=20;bias=raw", NULL);
		side_steps(from, 1);
		goes_on(to, from, 2);
		for (size_t l = 0; l < heirs; l++)
			assert_int_equal(crumb_packer_step(to->held.packer[l * to->train.slices]), STEPS);
		const double before = sum_of_velocities(from), after = sum_of_velocities(to);
		assert_true(after > 0 &&
		            (heirs % 4 ? after <= before : fabs(after - before) < 1e-5 * before));
		side_close(from);
		side_close(to);
	}
	data_close(&p.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(learners_pass_on_what_they_owe),
	        cmocka_unit_test(packers_move_whole),
	        cmocka_unit_test(a_warm_up_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
