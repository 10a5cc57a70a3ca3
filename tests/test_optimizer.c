/* Optimizers against their papers' recurrences in double, and their texts.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "train/update/optimizer.h"
#include "train/data/random.h"

enum { N = 37, STEPS = 25 };

static const struct optimizer_step setting = {.rate = 0.01, .momentum = 0.9, .decay = 0.1};

/* One parameter: its moments, and its value after gradient g in step t. */
struct by_hand {
	double p, a, b;
};

static void sgd(struct by_hand *x, double g, double t)
{
	(void)t;
	x->a = 0.9 * x->a + g;
	x->p -= 0.01 * x->a;
}

static void adam(struct by_hand *x, double g, double t)
{
	x->a = 0.9 * x->a + 0.1 * g;
	x->b = 0.999 * x->b + 0.001 * g * g;
	const double mean = x->a / (1 - pow(0.9, t)), square = x->b / (1 - pow(0.999, t));
	x->p -= 0.01 * mean / (sqrt(square) + 1e-8);
}

static void adamw(struct by_hand *x, double g, double t)
{
	x->p -= 0.01 * 0.1 * x->p;
	adam(x, g, t);
}

static void other_adam(struct by_hand *x, double g, double t)
{
	x->a = 0.5 * x->a + 0.5 * g;
	x->b = 0.9 * x->b + 0.1 * g * g;
	const double mean = x->a / (1 - pow(0.5, t)), square = x->b / (1 - pow(0.9, t));
	x->p -= 0.01 * mean / (sqrt(square) + 0.25);
}

static void rmsprop(struct by_hand *x, double g, double t)
{
	(void)t;
	x->b = 0.9 * x->b + 0.1 * g * g;
	x->p -= 0.01 * g / (sqrt(x->b) + 1e-8);
}

static void other_rmsprop(struct by_hand *x, double g, double t)
{
	(void)t;
	x->b = 0.5 * x->b + 0.5 * g * g;
	x->p -= 0.01 * g / (sqrt(x->b) + 0.25);
}

static const struct {
	const char *text;
	size_t moments;
	void (*step)(struct by_hand *x, double g, double t);
	bool apart; /* the decay is no part of g */
} optimizers[] = {
        {"sgd", 1, sgd, false},
        {"adam", 2, adam, false},
        {"adam:epsilon=0.25,beta2=0.9,beta1=0.5", 2, other_adam, false},
        {"adamw", 2, adamw, true},
        {"rmsprop", 1, rmsprop, false},
        {"rmsprop:decay=0.5,epsilon=0.25", 1, other_rmsprop, false},
};

/* Steps in two parts, as threads do. */
static void steps_are_the_papers(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof optimizers / sizeof *optimizers; k++) {
		struct optimizer optimizer;
		struct random random = random_stream(1, RANDOM_WEIGHTS, k);
		struct optimizer_step step = setting;
		float param[N], first[N] = {0}, second[N] = {0}, gradient[N];
		float *const moment[] = {first, second};
		struct by_hand x[N] = {{0}};
		assert_int_equal(optimizer_parse(&optimizer, optimizers[k].text, NULL), 0);
		assert_int_equal(optimizer_moments(&optimizer), optimizers[k].moments);
		for (size_t i = 0; i < N; i++)
			x[i].p = param[i] = random_between(&random, -1, 1);
		for (step.number = 1; step.number <= STEPS; step.number++) {
			for (size_t i = 0; i < N; i++) {
				gradient[i] = random_between(&random, -2, 2);
				const double decay = optimizers[k].apart ? 0 : 0.1 * x[i].p;
				optimizers[k].step(&x[i], gradient[i] + decay, (double)step.number);
			}
			optimizer_move(&optimizer, &step, param, moment, gradient, 0, 16);
			optimizer_move(&optimizer, &step, param, moment, gradient, 16, N - 16);
			for (size_t i = 0; i < N; i++)
				assert_float_equal(param[i], x[i].p, 1e-5);
		}
	}
}

static void averages_forget(void **state)
{
	(void)state;
	float mean[] = {1, -3};
	const float param[] = {2, 5};
	optimizer_average(mean, param, 2, 0.75f);
	assert_true(mean[0] == 1.25f && mean[1] == -1.0f);
}

static void clipping_keeps_the_direction(void **state)
{
	(void)state;
	const float wanted[] = {3e-20f, -4e-20f, 0};
	for (double norm = 1e-20; norm < 1e-18; norm *= 1.5) {
		float gradient[] = {3e-20f, -4e-20f, 0};
		optimizer_clip(gradient, 3, norm);
		for (size_t i = 0; i < 3; i++)
			assert_float_equal(gradient[i], wanted[i] * fmin(1, norm / 5e-20), 1e-26);
	}
	float infinite[] = {1, INFINITY, 2};
	optimizer_clip(infinite, 3, 0.1);
	assert_true(infinite[0] == 1 && isinf(infinite[1]) && infinite[2] == 2);
}

/* Without a gradient AdamW decays a transformer's weights and embeddings, and neither biases nor norms. */
static void adamw_decays_matrices(void **state)
{
	(void)state;
	struct net net;
	struct optimizer optimizer;
	char why[256] = "";
	const struct optimizer_step step = {.rate = 0.5, .decay = 0.5, .number = 1};
	const struct model *model = model_find("gpt-mini");
	assert_int_equal(net_open(&net, model, model->input, why, sizeof why), 0);
	float *param = malloc(net.parameters * sizeof *param), *zeros = calloc(net.parameters, sizeof *zeros);
	float *const moment[] = {calloc(net.parameters, sizeof(float)),
	                         calloc(net.parameters, sizeof(float))};
	assert_true(param && zeros && moment[0] && moment[1]);
	for (size_t i = 0; i < net.parameters; i++)
		param[i] = 1;
	assert_int_equal(optimizer_parse(&optimizer, "adamw", NULL), 0);
	optimizer_move_net(&optimizer, &step, &net, param, moment, zeros, 0, 5000); /* as threads do */
	optimizer_move_net(&optimizer, &step, &net, param, moment, zeros, 5000, net.parameters - 5000);
	for (size_t s = 0; s < net.slice_count; s++)
		for (size_t i = 0; i < net.slice[s].n; i++)
			assert_true(param[net.slice[s].at + i] == (net.slice[s].run > 0 ? 0.75f : 1));
	free(param);
	free(zeros);
	free(moment[0]);
	free(moment[1]);
}

/* Nesterov's momentum is a step from where the momentum alone would lead: with v' = momentum v + g, as
 * PyTorch has it, p falls by rate (g + momentum v'). */
static void outer_steps_look_ahead(void **state)
{
	(void)state;
	float param[] = {1, -3}, velocity[] = {0, 0};
	const float gradient[] = {2, -4};
	optimizer_nesterov(param, velocity, gradient, 2, 0.5f, 0.25f);
	assert_true(velocity[0] == 2 && velocity[1] == -4);
	assert_true(param[0] == 1 - 0.5f * 2.5f && param[1] == -3 + 0.5f * 5);
	optimizer_nesterov(param, velocity, gradient, 2, 0.5f, 0.25f);
	assert_true(velocity[0] == 2.5f && velocity[1] == -5);
	assert_true(param[0] == -0.25f - 0.5f * 2.625f && param[1] == -0.5f + 0.5f * 5.25f);
}

static void wrong_texts(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int bad; /* offset of the first bad character */
	} wrong[] = {{"", 0},
	             {"sdg", 0},
	             {"sgd:momentum=1", 4},
	             {"adam:", 5},
	             {"adam:beta1", 10},
	             {"adam:beta1=1", 11},
	             {"adam:beta1=0.5,", 15},
	             {"adam:beta1=0.5;", 14},
	             {"rmsprop:beta2=0.5", 8},
	             {"rmsprop:decay=x", 14},
	             {"adam:epsilon=0", 13}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct optimizer optimizer = {.beta1 = 7}, before = optimizer;
		const char *bad = NULL;
		assert_int_equal(optimizer_parse(&optimizer, wrong[i].text, &bad), -1);
		assert_ptr_equal(bad, wrong[i].text + wrong[i].bad);
		assert_memory_equal(&optimizer, &before, sizeof before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(steps_are_the_papers),         cmocka_unit_test(averages_forget),
	        cmocka_unit_test(clipping_keeps_the_direction), cmocka_unit_test(outer_steps_look_ahead),
	        cmocka_unit_test(adamw_decays_matrices),        cmocka_unit_test(wrong_texts),
	};
	return cmocka_run_group_tests_name("optimizer", tests, NULL, NULL);
}
