/* Ten digits drawn by a program: data to train on where there is none to download.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DRAWN_DIGITS_H
#define DRAWN_DIGITS_H

#include "train/data/data.h"

#define DIGITS_TRAIN 12000
#define DIGITS_TEST  2000
#define DIGITS_LEAST 40 /* that may be asked for */
#define DIGITS_MOST  1000000

/* Draws the sets: 28 x 28, ten classes in equal numbers. The i-th image of either set is always the same. 0,
 * or -1 with a line in why; what was allocated until then is data_close's. */
int digits_make(struct data *data, size_t train, size_t test, char *why, size_t cap);

/* The same, each in a colour of its own on paper of another: 3 x 32 x 32. */
int digits_make_colour(struct data *data, size_t train, size_t test, char *why, size_t cap);

#endif
