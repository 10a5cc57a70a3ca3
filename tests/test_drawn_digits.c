/* The generated digits: the same bytes everywhere, balanced, neither trivial nor hopeless.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "train/data/data.h"
#include "train/data/drawn_digits.h"

#define PIXELS ((size_t)28 * 28)

static void make(struct data *data, size_t train, size_t test)
{
	char why[256];
	*data = (struct data){0};
	assert_int_equal(drawn_digits_make(data, false, train, test, why, sizeof why), 0);
	assert_int_equal(data->train.count, train);
	assert_int_equal(data->test.count, test);
}

static void the_same_on_every_machine(void **state)
{
	(void)state;
	struct data data;
	make(&data, 1000, 500);
	assert_int_equal(crc32(0, data.train.pixel, (uInt)(1000 * PIXELS)), 0xa046dd3c);
	assert_int_equal(crc32(0, data.test.pixel, (uInt)(500 * PIXELS)), 0xb34863b1);
	data_close(&data);
}

static void sizes_change_no_image(void **state)
{
	(void)state;
	struct data small, large;
	make(&small, 30, 20);
	make(&large, 90, 70);
	assert_memory_equal(small.train.pixel, large.train.pixel, 30 * PIXELS);
	assert_memory_equal(small.test.pixel, large.test.pixel, 20 * PIXELS);
	assert_memory_not_equal(small.train.pixel, small.test.pixel, 20 * PIXELS);
	data_close(&small);
	data_close(&large);
}

static void no_image_comes_twice(void **state)
{
	(void)state;
	enum { N = 400 };
	struct data data;
	make(&data, N, N);
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < N; k++) {
			assert_memory_not_equal(data.train.pixel + i * PIXELS, data.test.pixel + k * PIXELS,
			                        PIXELS);
			if (k < i)
				assert_memory_not_equal(data.train.pixel + i * PIXELS,
				                        data.train.pixel + k * PIXELS, PIXELS);
		}
	data_close(&data);
}

static size_t nearest(const double mean[10][28 * 28], const uint8_t *pixel)
{
	size_t best = 0;
	double least = 1e300;
	for (size_t c = 0; c < 10; c++) {
		double distance = 0;
		for (size_t k = 0; k < PIXELS; k++)
			distance += (pixel[k] - mean[c][k]) * (pixel[k] - mean[c][k]);
		if (distance < least) {
			least = distance;
			best = c;
		}
	}
	return best;
}

/* Classifies by the nearest mean image, the simplest of classifiers: better than chance and far from well. */
static void neither_trivial_nor_hopeless(void **state)
{
	(void)state;
	static double mean[10][28 * 28];
	size_t count[10] = {0}, errors = 0;
	struct data data;
	make(&data, 4000, 1000);
	for (size_t i = 0; i < data.train.count; i++) {
		count[data.train.label[i]]++;
		for (size_t k = 0; k < PIXELS; k++)
			mean[data.train.label[i]][k] += data.train.pixel[i * PIXELS + k];
	}
	for (size_t c = 0; c < 10; c++) {
		assert_int_equal(count[c], 400);
		for (size_t k = 0; k < PIXELS; k++)
			mean[c][k] /= (double)count[c];
	}
	for (size_t i = 0; i < data.test.count; i++)
		errors += nearest(mean, data.test.pixel + i * PIXELS) != data.test.label[i];
	assert_in_range(errors, 250, 650);
	data_close(&data);
}

/* Compares with the grey digit of the same number: each channel goes from one level to another, with a border
 * of paper. */
static void colours_are_of_the_same_digits(void **state)
{
	(void)state;
	enum { N = 200, SIDE = 32, EDGE = 2 };
	struct data grey, colour;
	char why[256];
	make(&grey, N, 10);
	assert_int_equal(drawn_digits_make(&colour, true, N, 10, why, sizeof why), 0);
	assert_int_equal(shape_count(colour.shape), 3 * SIDE * SIDE);
	assert_memory_equal(grey.train.label, colour.train.label, N);
	for (size_t i = 0; i < N; i++)
		for (size_t c = 0; c < 3; c++) {
			const uint8_t *from = grey.train.pixel + i * PIXELS;
			const uint8_t *to = colour.train.pixel + (3 * i + c) * SIDE * SIDE;
			double most = 0, there = 0;
			for (int y = 0; y < SIDE; y++)
				for (int x = 0; x < SIDE; x++) {
					const bool on =
					        y >= EDGE && y < SIDE - EDGE && x >= EDGE && x < SIDE - EDGE;
					const int cover = on ? from[(y - EDGE) * 28 + x - EDGE] : 0;
					if (cover > most) {
						most = cover;
						there = to[y * SIDE + x] - to[0];
					}
				}
			assert_true(fabs(there) >= 60 * most / 255 - 1);
			for (int y = EDGE; y < SIDE - EDGE; y++)
				for (int x = EDGE; x < SIDE - EDGE; x++)
					assert_float_equal(to[y * SIDE + x] - to[0],
					                   there * from[(y - EDGE) * 28 + x - EDGE] / most,
					                   1.5);
		}
	data_close(&grey);
	data_close(&colour);
}

static void a_network_sees_mean_0_variance_1(void **state)
{
	(void)state;
	enum { N = 500 };
	static float input[N * 28 * 28];
	char why[256];
	struct data data;
	uint32_t index[N];
	double sum = 0, squares = 0;
	assert_int_equal(data_open(&data, "digits", 1, why, sizeof why), 0);
	assert_int_equal(data.train.count, DIGITS_TRAIN);
	assert_int_equal(data.test.count, DIGITS_TEST);
	for (uint32_t i = 0; i < N; i++)
		index[i] = 23 * i;
	data_batch(&data, &data.train, index, N, 1, 1, input);
	for (size_t i = 0; i < N * PIXELS; i++) {
		sum += input[i];
		squares += (double)input[i] * input[i];
	}
	assert_float_equal(sum / (double)(N * PIXELS), 0, 0.05);
	assert_float_equal(squares / (double)(N * PIXELS), 1, 0.05);
	assert_float_equal(input[PIXELS], ((float)data.train.pixel[23 * PIXELS] - data.mean) * data.scale, 0);
	data_close(&data);
}

static void so_many_are_the_first(void **state)
{
	(void)state;
	struct data all, some;
	char why[256];
	assert_int_equal(data_open(&all, "digits", 1, why, sizeof why), 0);
	assert_int_equal(data_open(&some, "digits:400", 1, why, sizeof why), 0);
	assert_int_equal(some.train.count, 400);
	assert_int_equal(some.test.count, 100);
	assert_memory_equal(some.train.pixel, all.train.pixel, 400 * PIXELS);
	assert_memory_equal(some.test.pixel, all.test.pixel, 100 * PIXELS);
	assert_memory_equal(some.test.label, all.test.label, 100);
	data_close(&all);
	data_close(&some);
}

static void other_names_are_refused(void **state)
{
	(void)state;
	struct data data;
	char why[256] = "";
	assert_int_equal(data_open(&data, "letters", 1, why, sizeof why), -1);
	assert_non_null(strstr(why, "letters"));
	data_close(&data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_same_on_every_machine),
	        cmocka_unit_test(sizes_change_no_image),
	        cmocka_unit_test(no_image_comes_twice),
	        cmocka_unit_test(neither_trivial_nor_hopeless),
	        cmocka_unit_test(colours_are_of_the_same_digits),
	        cmocka_unit_test(a_network_sees_mean_0_variance_1),
	        cmocka_unit_test(so_many_are_the_first),
	        cmocka_unit_test(other_names_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
