/* Augmented images: parts of the image that they are of, drawn evenly, the same for the same seed, epoch and
 * sample.
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

#include "train/data/augment.h"
#include "train/data/data.h"

enum { CHANNELS = 3, SIDE = 10, DRAWS = 3000 };

static const struct shape image = {CHANNELS, SIDE, SIDE};

/* Returns an image in which no pixel is black, so that the last one tells whether it is drawn, and a channel
 * has none twice. */
static const uint8_t *pixels(void)
{
	static uint8_t pixel[CHANNELS * SIDE * SIDE];
	for (int i = 0; !pixel[CHANNELS * SIDE * SIDE - 1] && i < CHANNELS * SIDE * SIDE; i++)
		pixel[i] = (uint8_t)(1 + (i * 7 + i / 100 * 31) % 251);
	return pixel;
}

static float at(int c, int row, int column)
{
	const bool within = row >= 0 && row < SIDE && column >= 0 && column < SIDE;
	return within ? pixels()[(c * SIDE + row) * SIDE + column] : 0;
}

static struct augment parsed(const char *text)
{
	struct augment augment;
	assert_int_equal(augment_parse(&augment, text, NULL), 0);
	return augment;
}

/* Returns true if `seen`, of side x side, is the part of the image that begins here, up to each channel's
 * light; light[c] is then the least-squares line: slope and the mean's rise. */
static bool is_part(const float *seen, int side, int row, int column, bool mirrored,
                    double light[CHANNELS][2])
{
	for (int c = 0; c < CHANNELS; c++) {
		double n = side * side, sx = 0, sy = 0, sxx = 0, sxy = 0;
		for (int i = 0; i < side * side; i++) {
			const double x =
			        at(c, row + i / side, column + (mirrored ? side - 1 - i % side : i % side));
			const double y = seen[c * side * side + i];
			sx += x;
			sy += y;
			sxx += x * x;
			sxy += x * y;
		}
		const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
		for (int i = 0; i < side * side; i++) {
			const double x =
			        at(c, row + i / side, column + (mirrored ? side - 1 - i % side : i % side));
			if (fabs(sy / n + slope * (x - sx / n) - seen[c * side * side + i]) > 1e-2)
				return false;
		}
		light[c][0] = slope;
		light[c][1] = (sy - sx) / n;
	}
	return true;
}

/* TensorFlow's per_image_standardization: mean 0 and variance 1, whatever the image's brightness and
 * contrast; an image that hardly varies is divided by 1 / sqrt(n) instead. */
static void whitened_images_have_one_light(void **state)
{
	(void)state;
	enum { N = CHANNELS * SIDE * SIDE, IMAGES = 4 };
	uint8_t pixel[IMAGES * N];
	float input[IMAGES * N];
	for (size_t i = 0; i < N; i++) {
		pixel[i] = (uint8_t)(pixels()[i] / 4);
		pixel[N + i] = (uint8_t)(3 * pixel[i] + 40); /* the same in another light */
		pixel[2 * N + i] = 200;
		pixel[3 * N + i] =
		        (uint8_t)(200 +
		                  (i == 0)); /* of standard deviation sqrt(n - 1) / n, below 1 / sqrt(n) */
	}
	struct data data = {.image = image, .test = {.count = IMAGES, .pixel = pixel}};
	const struct augment none = parsed("none");
	const uint32_t index[IMAGES] = {0, 1, 2, 3};
	char why[64];
	assert_int_equal(data_augment(&data, &none, why, sizeof why), 0);
	assert_int_equal(data_whiten(&data, why, sizeof why), 0);
	data.train = data.test;
	for (int training = 0; training < 2; training++) {
		data_batch(&data, training ? &data.train : &data.test, index, IMAGES, 1, 1, input);
		double sum = 0, squares = 0;
		for (size_t i = 0; i < N; i++) {
			sum += (double)input[i];
			squares += (double)input[i] * (double)input[i];
			assert_float_equal(input[N + i], input[i], 1e-5);
			assert_true(input[2 * N + i] == 0);
			assert_float_equal(input[3 * N + i], ((i == 0) - 1.0 / N) * sqrt(N), 1e-4);
		}
		assert_float_equal(sum / N, 0, 1e-6);
		assert_float_equal(squares / N, 1, 1e-5);
	}
	data.text = true;
	assert_int_equal(data_whiten(&data, why, sizeof why), -1);
}

static void tests_take_the_middle(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int side, first;
	} want[] = {{"none", SIDE, 0}, {"shift", SIDE, 0}, {"crop:side=6", 6, 2}};
	for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
		const struct augment augment = parsed(want[k].text);
		const struct shape shape = augment_shape(&augment, image);
		float seen[CHANNELS * SIDE * SIDE];
		assert_int_equal(shape.height, want[k].side);
		assert_int_equal(shape.width, want[k].side);
		augment_test(&augment, image, pixels(), seen);
		for (int i = 0; i < CHANNELS * want[k].side * want[k].side; i++) {
			const int c = i / (want[k].side * want[k].side),
			          rest = i % (want[k].side * want[k].side);
			assert_true(seen[i] == at(c, want[k].first + rest / want[k].side,
			                          want[k].first + rest % want[k].side));
		}
	}
	const struct augment none = parsed("none"), large = parsed("crop:side=11");
	float seen[CHANNELS * SIDE * SIDE], trained[CHANNELS * SIDE * SIDE];
	augment_test(&none, image, pixels(), seen);
	augment_train(&none, image, pixels(), 1, 2, 3, trained);
	assert_memory_equal(seen, trained, sizeof seen);
	assert_int_equal(augment_shape(&large, image).height, 0);
}

/* Asserts that counts are within 5 standard deviations of even ones. */
static void even(const int *count, int n)
{
	const double p = 1.0 / n;
	for (int i = 0; i < n; i++)
		assert_true(fabs(count[i] - DRAWS * p) < 5 * sqrt(DRAWS * p * (1 - p)));
}

static void draw_parts(const char *text, int side, int pad, double brightness, double contrast)
{
	const struct augment augment = parsed(text);
	const int places = SIDE + 2 * pad - side + 1;
	int rows[16] = {0}, columns[16] = {0}, mirrors[2] = {0};
	double most_bright = 0, least = 9, most = 0;
	for (uint32_t sample = 0; sample < DRAWS; sample++) {
		float seen[CHANNELS * SIDE * SIDE];
		double light[CHANNELS][2];
		int found = 0;
		augment_train(&augment, image, pixels(), 1, 5, sample, seen);
		for (int k = 0; k < 2 * places * places; k++) {
			const int row = k / 2 / places, column = k / 2 % places;
			if (!is_part(seen, side, row - pad, column - pad, k % 2 == 1, light))
				continue;
			found++;
			rows[row]++;
			columns[column]++;
			mirrors[k % 2]++;
			for (int c = 0; c < CHANNELS; c++) {
				assert_float_equal(light[c][0], light[0][0], 1e-3);
				assert_float_equal(light[c][1], light[0][1], 1e-2);
			}
			most_bright = fmax(most_bright, fabs(light[0][1]));
			least = fmin(least, light[0][0]);
			most = fmax(most, light[0][0]);
		}
		assert_int_equal(found, 1);
	}
	even(rows, places);
	even(columns, places);
	even(mirrors, 2);
	assert_true(most_bright <= brightness + 1e-2 && most_bright >= 0.98 * brightness);
	assert_true(least >= 1 - contrast - 1e-3 && least <= 1 - 0.98 * contrast);
	assert_true(most <= 1 + contrast + 1e-3 && most >= 1 + 0.98 * contrast);
}

static void parts_are_drawn_evenly(void **state)
{
	(void)state;
	draw_parts("shift:pad=2", SIDE, 2, 0, 0);
	draw_parts("crop:side=7,brightness=40,contrast=0.5", 7, 0, 40, 0.5);
}

static void draws_follow_seed_epoch_and_sample(void **state)
{
	(void)state;
	enum { N = CHANNELS * 6 * 6 };
	const struct augment augment = parsed("crop:side=6");
	float one[N], other[N];
	augment_train(&augment, image, pixels(), 1, 2, 3, one);
	for (int k = 0; k < 4; k++) {
		augment_train(&augment, image, pixels(), 1 + (k == 1), 2 + (k == 2), 3 + (k == 3), other);
		assert_true((memcmp(one, other, sizeof one) == 0) == (k == 0));
	}
}

static void wrong_texts(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int bad; /* offset of the first bad character */
	} wrong[] = {
	        {"", 0}, {"flip", 0}, {"shift:side=3", 6}, {"shift:pad=65", 10}, {"crop:contrast=2", 14}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct augment augment;
		const char *bad = NULL;
		assert_int_equal(augment_parse(&augment, wrong[i].text, &bad), -1);
		assert_ptr_equal(bad, wrong[i].text + wrong[i].bad);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(whitened_images_have_one_light),
	        cmocka_unit_test(tests_take_the_middle),
	        cmocka_unit_test(parts_are_drawn_evenly),
	        cmocka_unit_test(draws_follow_seed_epoch_and_sample),
	        cmocka_unit_test(wrong_texts),
	};
	return cmocka_run_group_tests_name("augment", tests, NULL, NULL);
}
