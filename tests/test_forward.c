/* The forward pass: every layer against its definition, statistics that are given, states that are carried
 * on.
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
#include "layers_by_hand.h"
#include "net_cases.h"

static void check_forward(const struct model *model, struct shape input)
{
	enum { BATCH = 3, MOST = 1000 }; /* MOST: outputs of a layer */
	struct net net;
	open_net(&net, model, input);
	float *param = new_floats(net.parameters);
	fill(param, net.parameters, 1, 0.5f);
	struct pass *pass = open_pass(&net, BATCH);
	const size_t pixels = shape_count(net.input);
	fill(pass_input(pass), BATCH * pixels, 2, 1);
	assert_int_equal(pass_forward(pass, param), 0);
	static double value[16][BATCH * MOST]; /* value[l]: input of layer */
	for (size_t k = 0; k < BATCH * pixels; k++)
		value[0][k] = pass_input(pass)[k];
	for (size_t l = 0; l < net.layer_count; l++) {
		const struct net_layer *layer = &net.layer[l];
		const size_t from = layer->layer.back ? l + 1 - (size_t)layer->layer.back : l;
		assert_true(shape_count(layer->out) <= MOST);
		layer_by_hand(layer, param, BATCH, value[l], net.layer[from].in, value[from], value[l + 1]);
	}
	const size_t classes = (size_t)net.classes, places = (size_t)net.places;
	for (size_t i = 0; i < BATCH; i++)
		for (size_t c = 0; c < classes; c++)
			for (size_t p = 0; p < places; p++)
				assert_float_equal(pass_logits(pass)[(i * places + p) * classes + c],
				                   value[net.layer_count][(i * classes + c) * places + p],
				                   1e-5);
	pass_close(pass);
	free(param);
}

static void forward_is_the_definition(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMALL_MODELS; i++)
		check_forward(&small_model[i], small_model[i].input);
	for (int height = 5; height < 9; height++)
		check_forward(&small_model[EVERY_WINDOW], (struct shape){2, height, 8});
}

/* Tests a batch with its own statistics: the outputs equal those of its training. */
static void a_test_takes_given_statistics(void **state)
{
	(void)state;
	enum { BATCH = 4 };
	struct net net;
	char why[256] = "";
	open_net(&net, &small_model[BLOCKS], small_model[BLOCKS].input);
	assert_int_equal(net.statistics, 2 * (3 + 7 + 7));
	float *param = new_floats(net.parameters + net.statistics);
	fill(param, net.parameters, 1, 0.5f);
	struct pass *train = open_pass(&net, BATCH),
	            *test = pass_open(&net, BATCH, PASS_TEST, why, sizeof why);
	assert_non_null(test);
	const size_t pixels = BATCH * shape_count(net.input);
	fill(pass_input(train), pixels, 2, 1);
	memcpy(pass_input(test), pass_input(train), pixels * sizeof *param);
	assert_int_equal(pass_forward(train, param), 0);
	pass_statistics(train, param + net.parameters);
	assert_int_equal(pass_forward(test, param), 0);
	for (size_t k = 0; k < BATCH * (size_t)net.classes; k++)
		assert_float_equal(pass_logits(test)[k], pass_logits(train)[k], 1e-5);
	param[net.parameters] += 1;
	assert_int_equal(pass_forward(test, param), 0);
	assert_true(fabsf(pass_logits(test)[0] - pass_logits(train)[0]) > 1e-3f);
	pass_close(train);
	pass_close(test);
	free(param);
}

/* Two pieces of a sequence, of which the second begins with the first one's states, are the sequence. */
static void carried_states_join_pieces(void **state)
{
	(void)state;
	enum { BATCH = 3, CHANNELS = 6, TIME = 4 };
	const struct model *model = &small_model[RECURRENT];
	struct net whole, half;
	open_net(&whole, model, (struct shape){CHANNELS, 2 * TIME, 1});
	open_net(&half, model, (struct shape){CHANNELS, TIME, 1});
	half.carries = true;
	assert_int_equal(half.states, 2 * (5 + 3));
	float *param = new_floats(whole.parameters), *states = new_floats(BATCH * half.states);
	fill(param, whole.parameters, 1, 0.5f);
	struct pass *one = open_pass(&whole, BATCH), *two = open_pass(&half, BATCH);
	fill(pass_input(one), BATCH * shape_count(whole.input), 2, 1);
	assert_int_equal(pass_forward(one, param), 0);
	const size_t outputs = TIME * (size_t)half.classes;
	for (size_t piece = 0; piece < 2; piece++) {
		for (size_t row = 0; row < BATCH * CHANNELS; row++)
			memcpy(pass_input(two) + row * TIME, pass_input(one) + (2 * row + piece) * TIME,
			       TIME * sizeof(float));
		for (size_t i = 0; i < BATCH; i++)
			pass_begin_state(two, i, piece == 0 ? NULL : states + i * half.states);
		assert_int_equal(pass_forward(two, param), 0);
		for (size_t i = 0; i < BATCH; i++) {
			pass_end_state(two, i, states + i * half.states);
			for (size_t k = 0; k < outputs; k++)
				assert_float_equal(pass_logits(two)[i * outputs + k],
				                   pass_logits(one)[(2 * i + piece) * outputs + k], 1e-6);
		}
	}
	pass_close(one);
	pass_close(two);
	free(param);
	free(states);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(forward_is_the_definition),
	        cmocka_unit_test(a_test_takes_given_statistics),
	        cmocka_unit_test(carried_states_join_pieces),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
