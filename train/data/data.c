/* Loading the source that --data names.
 *
 * SPDX-License-Identifier: MIT */
#include "train/data/data.h"
#include "train/data/cifar.h"
#include "train/data/drawn_digits.h"
#include "train/data/idx.h"
#include "train/data/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void normalise(struct data *data)
{
	const size_t n = data->train.count * shape_count(data->image);
	uint64_t sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++) {
		sum += data->train.pixel[i];
		squares += (uint64_t)data->train.pixel[i] * data->train.pixel[i];
	}
	const double mean = (double)sum / (double)n, variance = (double)squares / (double)n - mean * mean;
	data->mean = (float)mean;
	data->scale = variance > 0 ? (float)(1 / sqrt(variance)) : 1.0f;
}

/* Draws the number of images that the text gives, and a quarter as many to test on; or the default
 * numbers. */
static int drawn(struct data *data, const char *text, bool colour, char *why, size_t cap)
{
	char *end;
	const unsigned long count = strtoul(text, &end, 10);
	if (!*text)
		return drawn_digits_make(data, colour, DIGITS_TRAIN, DIGITS_TEST, why, cap);
	if (*text < '0' || *text > '9' || *end || count < DIGITS_LEAST || count > DIGITS_MOST) {
		snprintf(why, cap, "digits to draw: \"%s\" is no whole number from %d to %d", text,
		         DIGITS_LEAST, DIGITS_MOST);
		return -1;
	}
	return drawn_digits_make(data, colour, count, count / 4, why, cap);
}

static int digits(struct data *data, const char *text, char *why, size_t cap)
{
	return drawn(data, text, false, why, cap);
}

static int colour_digits(struct data *data, const char *text, char *why, size_t cap)
{
	return drawn(data, text, true, why, cap);
}

static int written(struct data *data, const char *text, char *why, size_t cap)
{
	(void)text;
	return text_make(data, why, cap);
}

/* A name that ends in a colon takes a text after it: a folder, a file or a number. */
static const struct {
	const char *name;
	int (*load)(struct data *data, const char *text, char *why, size_t cap);
} sources[] = {{"digits", digits},
               {"digits:", digits},
               {"colour-digits", colour_digits},
               {"colour-digits:", colour_digits},
               {"mnist:", idx_load_mnist},
               {"idx:", idx_load},
               {"cifar10:", cifar_load},
               {"text", written},
               {"text:", text_load}};

enum { SOURCES = sizeof sources / sizeof *sources };

static size_t find(const char *source)
{
	size_t i = 0;
	for (; i < SOURCES; i++) {
		const size_t length = strlen(sources[i].name);
		if (strncmp(source, sources[i].name, length) == 0 &&
		    (sources[i].name[length - 1] == ':') == (source[length] != 0))
			break;
	}
	return i;
}

bool data_is_source(const char *source) { return find(source) < SOURCES; }

static uint32_t checksum_of(const struct data *data)
{
	const struct samples *part[] = {&data->train, &data->test};
	uint32_t sum = 0;
	for (size_t i = 0; i < 2; i++) {
		sum = (uint32_t)crc32_z(sum, part[i]->pixel, part[i]->count * shape_count(data->image));
		sum = (uint32_t)crc32_z(sum, part[i]->label, part[i]->count * (size_t)data->places);
	}
	return sum;
}

int data_open(struct data *data, const char *source, int piece, char *why, size_t cap)
{
	const size_t i = find(source);
	*data = (struct data){.image = {1, piece, 1}};
	if (i == SOURCES) {
		snprintf(why, cap, "no data \"%s\"", source);
		return -1;
	}
	const int result = sources[i].load(data, source + strlen(sources[i].name), why, cap);
	if (result < 0)
		return -1;
	data->shape = data->image;
	if (data->text) {
		data->shape.channels = data->classes;
	} else {
		data->places = 1;
		normalise(data);
	}
	data->checksum = checksum_of(data);
	return 0;
}

void data_close(struct data *data)
{
	free(data->train.pixel);
	free(data->train.label);
	free(data->test.pixel);
	free(data->test.label);
	*data = (struct data){0};
}

int data_augment(struct data *data, const struct augment *augment, char *why, size_t cap)
{
	const struct shape shape = augment_shape(augment, data->image);
	if (data->text && augment->type == AUGMENT_NONE)
		return 0;
	if (data->text) {
		snprintf(why, cap, "text has no --augment");
		return -1;
	}
	if (shape.height == 0) {
		snprintf(why, cap, "images of %d x %d are too small for this --augment", data->image.height,
		         data->image.width);
		return -1;
	}
	data->augment = *augment;
	data->shape = shape;
	return 0;
}

int data_whiten(struct data *data, char *why, size_t cap)
{
	data->whiten = !data->text;
	if (data->text)
		snprintf(why, cap, "text has no --whiten");
	return data->text ? -1 : 0;
}

static void whiten(float *image, size_t pixels)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < pixels; i++)
		sum += (double)image[i];
	const double mean = sum / (double)pixels;
	for (size_t i = 0; i < pixels; i++)
		squares += ((double)image[i] - mean) * ((double)image[i] - mean);
	const double deviation = sqrt(squares / (double)pixels), least = 1 / sqrt((double)pixels);
	for (size_t i = 0; i < pixels; i++)
		image[i] = (float)(((double)image[i] - mean) / (deviation > least ? deviation : least));
}

static void normalised(const struct data *data, size_t n, float *input)
{
	for (size_t i = 0; i < n && data->whiten; i++)
		whiten(input + i * shape_count(data->shape), shape_count(data->shape));
	if (data->whiten)
		return;
	for (size_t i = 0; i < n * shape_count(data->shape); i++)
		input[i] = (input[i] - data->mean) * data->scale;
}

/* Writes one-hot characters: a 1 in the channel of each. */
static void characters(const struct data *data, const struct samples *from, const uint32_t *index, size_t n,
                       float *input)
{
	const size_t length = shape_count(data->image), seen = shape_count(data->shape);
	memset(input, 0, n * seen * sizeof *input);
	for (size_t i = 0; i < n; i++)
		for (size_t t = 0; t < length; t++)
			input[i * seen + from->pixel[index[i] * length + t] * length + t] = 1;
}

void data_batch(const struct data *data, const struct samples *from, const uint32_t *index, size_t n,
                uint64_t seed, uint64_t epoch, float *input)
{
	const size_t pixels = shape_count(data->image), seen = shape_count(data->shape);
	if (data->text) {
		characters(data, from, index, n, input);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const uint8_t *image = from->pixel + index[i] * pixels;
		if (from == &data->train)
			augment_train(&data->augment, data->image, image, seed, epoch, index[i],
			              input + i * seen);
		else
			augment_test(&data->augment, data->image, image, input + i * seen);
	}
	normalised(data, n, input);
}
