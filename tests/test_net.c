/* Networks laid out: shapes, slices and first values.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "net_cases.h"
#include "train/layers/init.h"

static void lenet_is_the_papers(void **state)
{
	(void)state;
	static const struct {
		size_t n, run;
		enum crumb_kind kind;
	} want[] = {{500, 25, CRUMB_CONV},        {20, 0, CRUMB_BIAS},     {25000, 500, CRUMB_CONV},
	            {50, 0, CRUMB_BIAS},          {400000, 800, CRUMB_FC}, {500, 0, CRUMB_BIAS},
	            {5000, 500, CRUMB_KIND_LAST}, {10, 0, CRUMB_BIAS}};
	struct net net;
	open_net(&net, model_find("lenet"), (struct shape){1, 28, 28});
	assert_int_equal(net.parameters, 431080);
	assert_int_equal(net.classes, 10);
	assert_int_equal(net.slice_count, COUNT(want));
	size_t at = 0;
	for (size_t s = 0; s < COUNT(want); s++) {
		assert_int_equal(net.slice[s].at, at);
		assert_int_equal(net.slice[s].n, want[s].n);
		assert_int_equal(net.slice[s].run, want[s].run);
		assert_int_equal(net.slice[s].kind, want[s].kind);
		at += want[s].n;
	}
	assert_int_equal(at, net.parameters);
}

static void networks_are_as_large_as_the_papers(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t parameters, pixels_at_last; /* inputs of the last layer */
	} want[] = {{"lenet", 431080, 500},
	            {"mlp", 10020874, 2048},
	            {"cifar-cnn", 89578, 1024},
	            {"cifarnet", 1068298, 192},
	            {"bn50-dnn", 4680734, 1024},
	            {"resnet20", 269722, 64},
	            {"resnet32", 464154, 64},
	            {"char-lstm", 3321411, 512 * 50},
	            {"lenet-relu", 431080, 500},
	            {"gpt-mini", 1017027, 128 * 64},
	            {"gpt-small", 10771584, 384 * 256}};
	for (size_t i = 0; i < COUNT(want); i++) {
		struct net net;
		const struct model *model = model_find(want[i].name);
		assert_non_null(model);
		open_net(&net, model, model->input);
		assert_int_equal(net.parameters, want[i].parameters);
		assert_int_equal(shape_count(net.layer[net.layer_count - 1].in), want[i].pixels_at_last);
	}
}

/* The AdaComp paper's network for MNIST is lenet with ReLU after its convolutions. */
static void lenet_relu_is_lenet_with_two_more(void **state)
{
	(void)state;
	const struct model *relu = model_find("lenet-relu"), *lenet = model_find("lenet");
	size_t k = 0, more = 0;
	assert_non_null(relu);
	for (size_t i = 0; i < relu->layer_count; i++)
		if (relu->layers[i].type == LAYER_RELU && relu->layers[i - 1].type == LAYER_CONV)
			more++;
		else
			assert_memory_equal(&relu->layers[i], &lenet->layers[k++], sizeof *lenet->layers);
	assert_int_equal(k, lenet->layer_count);
	assert_int_equal(more, 2);
}

static void too_small_an_input_is_refused(void **state)
{
	(void)state;
	struct net net;
	char why[256] = "";
	assert_int_equal(net_open(&net, model_find("lenet"), (struct shape){1, 12, 12}, why, sizeof why), -1);
	assert_non_null(strstr(why, "too small"));
	assert_int_equal(net_open(&net, model_find("resnet20"), (struct shape){3, 30, 32}, why, sizeof why),
	                 -1);
	assert_non_null(strstr(why, "does not suit"));
	assert_int_equal(net_open(&net, model_find("char-lstm"), (struct shape){67, 50, 2}, why, sizeof why),
	                 -1);
	assert_int_equal(net_open(&net, model_find("gpt-mini"), (struct shape){67, 50, 2}, why, sizeof why),
	                 -1);
	assert_int_equal(net_open(&net, model_find("gpt-small"), (struct shape){66, 50, 1}, why, sizeof why),
	                 -1);
	assert_non_null(strstr(why, "does not suit"));
}

/* A table whose gradients no pass computes is refused. */
static void a_layer_has_one_shortcut_and_an_embedding_one_head(void **state)
{
	static const struct layer shortcuts[] = {{.type = LAYER_CONV, .units = 2, .size = 3, .pad = 1},
	                                         {.type = LAYER_CONV, .units = 2, .size = 3, .pad = 1},
	                                         {.type = LAYER_SHORTCUT, .back = 2},
	                                         {.type = LAYER_SHORTCUT, .back = 3},
	                                         {.type = LAYER_FC, .units = 10}};
	static const struct layer heads[] = {{.type = LAYER_EMBEDDING, .units = 8},
	                                     {.type = LAYER_LINEAR, .units = 5, .tied = true},
	                                     {.type = LAYER_LINEAR, .units = 8},
	                                     {.type = LAYER_LINEAR, .units = 5, .tied = true}};
	const struct model wrong[] = {{"shortcuts", "", {2, 6, 6}, shortcuts, COUNT(shortcuts)},
	                              {"heads", "", {5, 4, 1}, heads, COUNT(heads)}};
	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct net net;
		char why[256] = "";
		assert_int_equal(net_open(&net, &wrong[i], wrong[i].input, why, sizeof why), -1);
		assert_non_null(strstr(why, "does not suit"));
	}
}

/* Every parameter is in one tensor, and a matrix is what a policy compresses. */
static void tensors_are_the_slices(void **state)
{
	(void)state;
	const struct model *model;
	for (size_t i = 0; (model = model_list(i)); i++) {
		struct net net;
		open_net(&net, model, model->input);
		for (size_t s = 0; s < net.slice_count; s++) {
			const struct crumb_slice *slice = &net.slice[s];
			bool matrix = slice->run == 0;
			assert_int_equal(net_tensor_end(&net, slice->at, &matrix), slice->at + slice->n);
			assert_int_equal(matrix, slice->run != 0);
			assert_int_equal(net_tensor_end(&net, slice->at + slice->n - 1, &matrix),
			                 slice->at + slice->n);
		}
	}
}

static void initial_values_follow_the_seed(void **state)
{
	(void)state;
	struct net net;
	open_net(&net, model_find("lenet"), (struct shape){1, 28, 28});
	float *one = new_floats(net.parameters), *same = new_floats(net.parameters),
	      *two = new_floats(net.parameters);
	init_parameters(&net, 1, one);
	init_parameters(&net, 1, same);
	init_parameters(&net, 2, two);
	assert_memory_equal(one, same, net.parameters * sizeof *one);
	assert_memory_not_equal(one, two, net.parameters * sizeof *one);

	const struct net_layer *fc = &net.layer[4]; /* before a relu: variance 2 / fan-in */
	double squares = 0;
	for (size_t i = 0; i < fc->weights; i++)
		squares += (double)one[fc->weights_at + i] * one[fc->weights_at + i];
	assert_float_equal(squares / (double)fc->weights, 2.0 / 800, 0.02 * 2.0 / 800);
	for (size_t i = 0; i < fc->bias; i++)
		assert_true(one[fc->bias_at + i] == 0);
	free(one);
	free(same);
	free(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(lenet_is_the_papers),
	        cmocka_unit_test(lenet_relu_is_lenet_with_two_more),
	        cmocka_unit_test(networks_are_as_large_as_the_papers),
	        cmocka_unit_test(too_small_an_input_is_refused),
	        cmocka_unit_test(a_layer_has_one_shortcut_and_an_embedding_one_head),
	        cmocka_unit_test(tensors_are_the_slices),
	        cmocka_unit_test(initial_values_follow_the_seed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
