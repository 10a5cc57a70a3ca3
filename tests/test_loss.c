/* The loss: cross-entropy by its definition, its gradient by differences.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include "train/layers/loss.h"

static void loss_is_cross_entropy(void **state)
{
	(void)state;
	enum { N = 3, CLASSES = 4 };
	const uint8_t label[N] = {0, 3, 1};
	float logits[N * CLASSES] = {1, -2, 0.5f, 3, 0, 0, 0, 1, 80, 70, -60, 0}, gradient[N * CLASSES];
	double sum = 0;
	for (size_t i = 0; i < N; i++) {
		double total = 0;
		for (size_t c = 0; c < CLASSES; c++)
			total += exp((double)logits[i * CLASSES + c]);
		sum -= log(exp((double)logits[i * CLASSES + label[i]]) / total);
	}
	size_t errors;
	assert_float_equal(loss_sum(logits, label, N, CLASSES, &errors), sum, 1e-9);
	assert_int_equal(errors, 2);

	const float h = 0x1p-10f, weight = 0.25f;
	loss_gradient(logits, label, N, CLASSES, weight, gradient);
	for (size_t k = 0; k < N * CLASSES; k++) {
		const float old = logits[k];
		logits[k] = old + h;
		const double up = loss_sum(logits, label, N, CLASSES, NULL);
		logits[k] = old - h;
		const double down = loss_sum(logits, label, N, CLASSES, NULL);
		logits[k] = old;
		assert_float_equal(gradient[k], weight * (up - down) / (2 * (double)h), 1e-5);
	}

	const float equal[CLASSES] = {1, 1, 1, 1}, strange[CLASSES] = {NAN, 0, 0, 0};
	loss_sum(equal, label, 1, CLASSES, &errors);
	assert_int_equal(errors, 1);
	assert_true(isnan(loss_sum(strange, label, 1, CLASSES, &errors)));
	assert_int_equal(errors, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(loss_is_cross_entropy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
