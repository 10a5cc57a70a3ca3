/* Softmax and cross-entropy in double precision, whose cost is negligible.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/loss.h"

#include <math.h>
#include <stdbool.h>

static float largest(const float *row, size_t classes)
{
	float most = row[0];
	for (size_t c = 1; c < classes; c++)
		most = row[c] > most ? row[c] : most;
	return most;
}

static double sum_of_exponentials(const float *row, size_t classes, float most)
{
	double sum = 0;
	for (size_t c = 0; c < classes; c++)
		sum += exp((double)row[c] - most);
	return sum;
}

static bool is_right(const float *row, size_t classes, size_t label)
{
	for (size_t c = 0; c < classes; c++)
		if (c != label && !(row[c] < row[label]))
			return false;
	return true;
}

double loss_sum(const float *logits, const uint8_t *label, size_t n, size_t classes, size_t *errors)
{
	double total = 0;
	size_t wrong = 0;
	for (size_t i = 0; i < n; i++) {
		const float *row = logits + i * classes, most = largest(row, classes);
		total += log(sum_of_exponentials(row, classes, most)) + most - row[label[i]];
		wrong += !is_right(row, classes, label[i]);
	}
	if (errors)
		*errors = wrong;
	return total;
}

void loss_gradient(const float *logits, const uint8_t *label, size_t n, size_t classes, float weight,
                   float *gradient)
{
	for (size_t i = 0; i < n; i++) {
		const float *row = logits + i * classes, most = largest(row, classes);
		const double sum = sum_of_exponentials(row, classes, most);
		for (size_t c = 0; c < classes; c++) {
			const double probability = exp((double)row[c] - most) / sum;
			gradient[i * classes + c] = (float)(weight * (probability - (c == label[i])));
		}
	}
}
