/* Ten digits drawn by a program: training data without a download.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DRAWN_DIGITS_H
#define DRAWN_DIGITS_H

#include "train/data/data.h"

#define DIGITS_TRAIN 12000
#define DIGITS_TEST  2000
#define DIGITS_LEAST 40 /* the least and the most of a set */
#define DIGITS_MOST  1000000

/* Draws the sets, ten classes in equal numbers: 28 x 28, or 3 x 32 x 32 with a colour for each digit and one
 * for its paper. The i-th image of either set is always the same. 0, or -1 with a line in why; data_close
 * frees a part that was drawn. */
int drawn_digits_make(struct data *data, bool colour, size_t train, size_t test, char *why, size_t cap);

#endif
