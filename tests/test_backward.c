/* The backward pass: every layer's gradient against differences; and dropout.
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
#include "net_cases.h"
#include "train/data/random.h"

static double along(struct pass *pass, const float *param, const float *direction, size_t outputs)
{
	double sum = 0;
	assert_int_equal(pass_forward(pass, param), 0);
	for (size_t k = 0; k < outputs; k++)
		sum += (double)direction[k] * pass_logits(pass)[k];
	return sum;
}

/* Compares the gradient of sum(direction * logits) by every parameter with differences. Between kinks of relu
 * and pool that sum is linear in each parameter: a difference is exact up to rounding, and the differences to
 * both sides show a kink. Few parameters may have one. */
static void check_gradient_with(const struct model *model, struct shape input, float dropout, bool carries)
{
	enum { BATCH = 3 };
	const float h = 0x1p-9f;
	const double tolerance = 3e-3;
	struct net net;
	open_net(&net, model, input);
	net.dropout = dropout;
	net.carries = carries;
	const size_t outputs = BATCH * (size_t)(net.classes * net.places);
	float *param = new_floats(net.parameters), *grad = new_floats(net.parameters),
	      *direction = new_floats(outputs);
	fill(param, net.parameters, 3, 0.5f);
	fill(direction, outputs, 4, 1);
	struct pass *pass = open_pass(&net, BATCH);
	fill(pass_input(pass), BATCH * shape_count(input), 5, 1);
	for (size_t i = 0; i < BATCH; i++)
		pass_drop(pass, i, random_stream(6, RANDOM_DROPOUT, i));
	float *states = new_floats(BATCH * net.states + 1);
	fill(states, BATCH * net.states, 7, 1);
	for (size_t i = 0; i < BATCH && carries; i++)
		pass_begin_state(pass, i, states + i * net.states);

	const double here = along(pass, param, direction, outputs);
	memcpy(pass_logits_gradient(pass), direction, outputs * sizeof *direction);
	assert_int_equal(pass_backward(pass, grad, NULL), 0);
	size_t kinks = 0;
	for (size_t p = 0; p < net.parameters; p++) {
		const float old = param[p];
		param[p] = old + h;
		const double above = (along(pass, param, direction, outputs) - here) / (double)h;
		param[p] = old - h;
		const double below = (here - along(pass, param, direction, outputs)) / (double)h;
		param[p] = old;
		if (fabs(above - below) > tolerance * (1 + fabs(above)))
			kinks++;
		else if (fabs(0.5 * (above + below) - grad[p]) > tolerance * (1 + fabs(above)))
			fail_msg("parameter %zu of %zu: differences %g and %g, gradient %g", p,
			         net.parameters, above, below, (double)grad[p]);
	}
	assert_true(20 * kinks <= net.parameters);
	pass_close(pass);
	free(param);
	free(grad);
	free(direction);
	free(states);
}

static void check_gradient(const struct model *model) { check_gradient_with(model, model->input, 0, false); }

static void gradients_are_differences(void **state)
{
	(void)state;
	static const struct layer fc[] = {{.type = LAYER_FC, .units = 4}};
	static const struct layer fc_relu_fc[] = {
	        {.type = LAYER_FC, .units = 7}, {.type = LAYER_RELU}, {.type = LAYER_FC, .units = 4}};
	static const struct layer conv[] = {{.type = LAYER_CONV, .units = 4, .size = 3}};
	static const struct layer conv_conv_fc[] = {{.type = LAYER_CONV, .units = 20, .size = 2},
	                                            {.type = LAYER_CONV, .units = 3, .size = 3},
	                                            {.type = LAYER_FC, .units = 4}};
	static const struct layer conv_pool[] = {{.type = LAYER_CONV, .units = 4, .size = 2},
	                                         {.type = LAYER_MAX_POOL, .size = 2}};
	static const struct model smaller[] = {{"", "", {2, 3, 3}, fc, COUNT(fc)},
	                                       {"", "", {1, 4, 3}, fc_relu_fc, COUNT(fc_relu_fc)},
	                                       {"", "", {3, 5, 4}, conv, COUNT(conv)},
	                                       {"", "", {1, 6, 5}, conv_conv_fc, COUNT(conv_conv_fc)},
	                                       {"", "", {2, 6, 7}, conv_pool, COUNT(conv_pool)}};
	for (size_t i = 0; i < COUNT(smaller); i++)
		check_gradient(&smaller[i]);
	for (size_t i = 0; i < SMALL_MODELS; i++)
		check_gradient(&small_model[i]);
	for (int height = 5; height < 9; height++)
		check_gradient_with(&small_model[EVERY_WINDOW], (struct shape){2, height, 8}, 0, false);
	check_gradient_with(&smaller[1], smaller[1].input, 0.4f, false);
	check_gradient_with(&small_model[RECURRENT], small_model[RECURRENT].input, 0, true);
}

/* Passes inputs of 1 through a layer that changes nothing: the logits are dropout's factors. */
static void dropout_is_fair(void **state)
{
	(void)state;
	enum { BATCH = 8, N = 500 };
	static const float share = 0.3f;
	static const struct layer layers[] = {{.type = LAYER_RELU}, {.type = LAYER_FC, .units = N}};
	const struct model model = {.name = "same", .layers = layers, .layer_count = COUNT(layers)};
	struct net net;
	char why[256];
	open_net(&net, &model, (struct shape){N, 1, 1});
	net.dropout = share;
	float *param = new_floats(net.parameters);
	for (size_t i = 0; i < N; i++)
		param[i * N + i] = 1;
	struct pass *pass = open_pass(&net, BATCH), *one = open_pass(&net, 1),
	            *test = pass_open(&net, 1, PASS_TEST, why, sizeof why);
	assert_non_null(test);
	for (size_t i = 0; i < BATCH * N; i++)
		pass_input(pass)[i] = 1;
	memcpy(pass_input(one), pass_input(pass), N * sizeof *param);
	memcpy(pass_input(test), pass_input(pass), N * sizeof *param);
	for (size_t i = 0; i < BATCH; i++)
		pass_drop(pass, i, random_stream(1, RANDOM_DROPOUT, i));
	pass_drop(one, 0, random_stream(1, RANDOM_DROPOUT, 5));
	assert_int_equal(pass_forward(pass, param), 0);
	assert_int_equal(pass_forward(one, param), 0);
	assert_int_equal(pass_forward(test, param), 0);
	const float *drawn = pass_logits(pass);
	size_t left = 0;
	for (size_t i = 0; i < BATCH * N; i++) {
		assert_true(drawn[i] == 0 || drawn[i] == 1 / (1 - share));
		left += drawn[i] > 0;
	}
	const double all = BATCH * N, sigma = sqrt(all * (double)share * (1 - (double)share));
	assert_true(fabs((double)left - all * (1 - (double)share)) < 4 * sigma);
	assert_memory_equal(pass_logits(one), drawn + 5 * N, N * sizeof *drawn);
	assert_memory_not_equal(drawn, drawn + N, N * sizeof *drawn);
	for (size_t i = 0; i < N; i++)
		assert_true(pass_logits(test)[i] == 1);
	pass_close(pass);
	pass_close(one);
	pass_close(test);
	free(param);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(gradients_are_differences),
	        cmocka_unit_test(dropout_is_fair),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
