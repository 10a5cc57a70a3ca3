/* Networks as lists of parameters, compared with published counts.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include "nets/model.h"
#include "nets/net.h"
#include "nets/sizes.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct sizes sizes_of(const char *name)
{
	struct sizes sizes;
	if (sizes_find(&sizes, name))
		fail_msg("there is no %s", name);
	return sizes;
}

static size_t parameters_of_kind(const struct sizes *sizes, enum crumb_kind kind)
{
	size_t sum = 0;
	for (size_t i = 0; i < sizes->count; i++)
		sum += sizes->tensor[i].kind == kind ? sizes->tensor[i].n : 0;
	return sum;
}

/* Counts include biases and batch normalisation: Caffe's AlexNet and GoogLeNet, torchvision's others. */
static void networks_have_the_published_sizes(void **state)
{
	static const struct {
		const char *name;
		size_t parameters, layers, last, batchnorm;
	} want[] = {
	        {"lenet", 431080, 4, 5000, 0},
	        {"alexnet", 60965224, 8, 4096000, 0},
	        {"vgg-a", 132863336, 11, 4096000, 0},
	        {"googlenet", 6998552, 58, 1024000, 0},
	        {"resnet18", 11689512, 21, 512000, 9600},
	        {"resnet50", 25557032, 54, 2048000, 53120},
	        {"gpt2", 124439808, 50, 0, 38400},
	        {"gpt-mini", 1017027, 23, 8576, 2816},
	};
	(void)state;
	for (size_t i = 0; i < COUNT(want); i++) {
		const struct sizes sizes = sizes_of(want[i].name);
		size_t layers = 0;
		for (size_t k = 0; k < sizes.count; k++)
			layers += sizes.tensor[k].run != 0;
		assert_int_equal(sizes.parameters, want[i].parameters);
		assert_int_equal(layers, want[i].layers);
		assert_int_equal(parameters_of_kind(&sizes, CRUMB_KIND_LAST), want[i].last);
		assert_int_equal(parameters_of_kind(&sizes, CRUMB_BATCHNORM), want[i].batchnorm);
	}
}

static void tensors_lie_one_after_another(void **state)
{
	const char *name;
	(void)state;
	for (size_t i = 0; (name = sizes_list(i)); i++) {
		const struct sizes sizes = sizes_of(name);
		size_t at = 0;
		for (size_t k = 0; k < sizes.count; k++) {
			const struct crumb_slice *tensor = &sizes.tensor[k];
			const bool weights = tensor->run != 0;
			assert_int_equal(tensor->at, at);
			assert_true(tensor->n > 0);
			assert_true(!weights || tensor->n % tensor->run == 0);
			assert_int_equal(weights,
			                 tensor->kind != CRUMB_BIAS && tensor->kind != CRUMB_BATCHNORM);
			at += tensor->n;
		}
		assert_int_equal(at, sizes.parameters);
	}
}

/* A trained network has one list of slices for the trainer and for crumb plan. */
static void trained_networks_have_the_trainers_slices(void **state)
{
	const struct model *model;
	(void)state;
	for (size_t i = 0; (model = model_list(i)); i++) {
		const struct sizes sizes = sizes_of(model->name);
		struct net net;
		char why[256];
		assert_int_equal(net_open(&net, model, model->input, why, sizeof why), 0);
		assert_int_equal(sizes.count, net.slice_count);
		for (size_t k = 0; k < sizes.count; k++)
			assert_memory_equal(&sizes.tensor[k], &net.slice[k], sizeof net.slice[k]);
	}
}

static void names_are_found_and_others_are_not(void **state)
{
	const char *name;
	struct sizes sizes;
	size_t count = 0;
	(void)state;
	while ((name = sizes_list(count))) {
		assert_int_equal(sizes_find(&sizes, name), 0);
		count++;
	}
	assert_true(count >= 6);
	assert_int_equal(sizes_find(&sizes, "alexnet2"), -1);
	assert_int_equal(sizes_find(&sizes, ""), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(networks_have_the_published_sizes),
	        cmocka_unit_test(tensors_lie_one_after_another),
	        cmocka_unit_test(trained_networks_have_the_trainers_slices),
	        cmocka_unit_test(names_are_found_and_others_are_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
