/* Random variations of training images.
 *
 * SPDX-License-Identifier: MIT */
#include "train/data/augment.h"
#include "train/data/choice.h"
#include "train/data/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#define FIELD(name) offsetof(struct augment, name)

static const struct choice types[] = {
        [AUGMENT_NONE] = {"none", {{0}}},
        [AUGMENT_SHIFT] = {"shift", {{"pad", FIELD(pad), 4, 0, 64}}},
        [AUGMENT_CROP] = {"crop",
                          {{"side", FIELD(side), 24, 1, 4096},
                           {"brightness", FIELD(brightness), 63, 0, 255},
                           {"contrast", FIELD(contrast), 0.8, 0, 1}}},
};

int augment_parse(struct augment *augment, const char *text, const char **bad)
{
	struct augment parsed = {.type = AUGMENT_NONE};
	const int type = choice_parse(types, sizeof types / sizeof *types, text, &parsed, bad);
	if (type < 0)
		return -1;
	if (parsed.pad != floor(parsed.pad) || parsed.side != floor(parsed.side)) { /* pixels */
		if (bad)
			*bad = strstr(text, parsed.pad != floor(parsed.pad) ? "pad=" : "side=");
		return -1;
	}
	parsed.type = (enum augment_type)type;
	*augment = parsed;
	return 0;
}

void augment_write(const struct augment *augment, char *text, size_t cap)
{
	choice_write(&types[augment->type], augment, text, cap);
}

struct shape augment_shape(const struct augment *augment, struct shape image)
{
	const int side = (int)augment->side;
	if (augment->type != AUGMENT_CROP)
		return image;
	const bool fits = side <= image.height && side <= image.width;
	return fits ? (struct shape){image.channels, side, side} : (struct shape){image.channels, 0, 0};
}

/* A part of an image. row and column, its first, may be outside; pixels outside are black. */
struct part {
	int row, column;
	bool mirrored;
};

static void take(struct shape image, struct shape seen, const uint8_t *pixel, struct part part, float *to)
{
	for (int c = 0; c < seen.channels; c++)
		for (int y = 0; y < seen.height; y++)
			for (int x = 0; x < seen.width; x++) {
				const int row = part.row + y;
				const int column = part.column + (part.mirrored ? seen.width - 1 - x : x);
				const bool within =
				        row >= 0 && row < image.height && column >= 0 && column < image.width;
				*to++ = within ? pixel[(c * image.height + row) * image.width + column] : 0;
			}
}

/* Adds brightness to every pixel, then scales each channel around its mean. */
static void light(struct shape seen, float brightness, float contrast, float *to)
{
	const size_t side = (size_t)seen.height * (size_t)seen.width;
	for (int c = 0; c < seen.channels; c++, to += side) {
		double sum = 0;
		for (size_t i = 0; i < side; i++)
			sum += to[i];
		const float mean = (float)(sum / (double)side);
		for (size_t i = 0; i < side; i++)
			to[i] = mean + brightness + contrast * (to[i] - mean);
	}
}

void augment_test(const struct augment *augment, struct shape image, const uint8_t *pixel, float *to)
{
	const struct shape seen = augment_shape(augment, image);
	const struct part middle = {(image.height - seen.height) / 2, (image.width - seen.width) / 2, false};
	take(image, seen, pixel, middle, to);
}

void augment_train(const struct augment *augment, struct shape image, const uint8_t *pixel, uint64_t seed,
                   uint64_t epoch, uint32_t sample, float *to)
{
	if (augment->type == AUGMENT_NONE) {
		augment_test(augment, image, pixel, to);
		return;
	}
	struct random r = random_stream(seed, RANDOM_AUGMENT, epoch << 32 | sample);
	const struct shape seen = augment_shape(augment, image);
	const int pad = augment->type == AUGMENT_SHIFT ? (int)augment->pad : 0;
	struct part part; /* one number a statement: C leaves the order within one open */
	part.row = (int)random_below(&r, (uint64_t)(image.height + 2 * pad - seen.height + 1)) - pad;
	part.column = (int)random_below(&r, (uint64_t)(image.width + 2 * pad - seen.width + 1)) - pad;
	part.mirrored = random_below(&r, 2) == 1;
	take(image, seen, pixel, part, to);
	if (augment->type == AUGMENT_SHIFT)
		return;
	const float brightness = random_between(&r, -(float)augment->brightness, (float)augment->brightness);
	const float contrast = random_between(&r, 1 - (float)augment->contrast, 1 + (float)augment->contrast);
	light(seen, brightness, contrast, to);
}
