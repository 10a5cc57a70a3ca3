/* Labelled images or pieces of text, in memory, split into a training and a test set.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_H
#define DATA_H
#include "nets/shape.h"
#include "train/data/augment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct samples {
	size_t count;
	uint8_t *pixel; /* [count][channels][height][width] of data.image */
	uint8_t *label; /* [count][places], below data.classes */
};

struct data {
	struct shape image, shape; /* image: in memory; shape: a network's input */
	struct augment augment;
	int classes, places; /* places: labels of a sample */
	bool text;         /* a network's input is one-hot: each pixel is the number of a class, and 1 in that
	                    * channel */
	float mean, scale; /* a network's input is (pixel - mean) * scale: mean 0 and variance 1 over the
	                      training set */
	bool whiten;       /* instead, each image has mean 0 and variance 1 */
	struct samples train, test;
	uint32_t checksum; /* CRC-32 of all pixels and labels */
};

/* Returns true if the source has one of the forms "digits", "digits:N", "colour-digits", "colour-digits:N",
 * "mnist:DIR", "idx:DIR", "cifar10:DIR", "text" or "text:FILE". */
bool data_is_source(const char *source);

/* Loads a source; text in samples of `piece` characters, at least 1. 0, or -1 with a line in why. On any
 * outcome data_close may follow. */
int data_open(struct data *data, const char *source, int piece, char *why, size_t cap);
void data_close(struct data *data);

/* Augments training samples from here on. 0, or -1 with a line in why if they are too small for it. */
int data_augment(struct data *data, const struct augment *augment, char *why, size_t cap);

/* Gives each image mean 0 and variance 1 from here on, after its augmentation: of n pixel values from 0 to
 * 255, all channels together, the mean is taken away, and the rest divided by the standard deviation or
 * 1/sqrt(n), whichever is larger (per_image_standardization of TensorFlow, as in its CifarNet). 0, or -1 with
 * a line in why for text. */
int data_whiten(struct data *data, char *why, size_t cap);

/* Writes a network's input from n samples of a set, augmented if it is data->train, in this epoch. */
void data_batch(const struct data *data, const struct samples *from, const uint32_t *index, size_t n,
                uint64_t seed, uint64_t epoch, float *input);

#endif
