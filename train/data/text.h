/* Text, cut into pieces of TEXT_LENGTH characters; the labels of a piece are the characters that follow each.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TEXT_H
#define TEXT_H

#include "train/data/data.h"

#define TEXT_LENGTH  50
#define TEXT_CLASSES 67 /* different characters at most: as many as char-lstm has inputs */

/* Loads the first nine tenths of the file's pieces to train on, the rest to test. 0, or -1 with a line in
 * why; data_close frees a part that was loaded. */
int text_load(struct data *data, const char *path, char *why, size_t cap);

/* Makes a text of sums in words: "forty-two and seven is forty-nine." */
int text_make(struct data *data, char *why, size_t cap);

/* Orders the training set for steps of `batch` pieces: piece i of a step continues piece i of the step
 * before. order: count pieces, of which those that fill no step come last. */
void text_order(uint32_t *order, size_t count, size_t batch);

#endif
