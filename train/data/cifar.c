/* CIFAR-10's rows.
 *
 * SPDX-License-Identifier: MIT */
#include "train/data/cifar.h"
#include "train/data/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES 10
#define PIXELS  ((size_t)3 * 32 * 32)
#define ROWS    10000 /* in a file */

static int read_rows(struct reader *r, struct samples *to)
{
	uint8_t *rows = NULL;
	int result = reader_rest(r, ROWS * (1 + PIXELS), &rows);
	for (size_t i = 0; i < ROWS && result == 0; i++) {
		const uint8_t *row = rows + i * (1 + PIXELS);
		if (row[0] >= CLASSES)
			result = reader_complain(r, "a label is above 9");
		to->label[to->count] = row[0];
		memcpy(to->pixel + to->count++ * PIXELS, row + 1, PIXELS);
	}
	free(rows);
	return result;
}

static int load(struct samples *to, const char *folder, const char *const *name, size_t files, char *why,
                size_t cap)
{
	to->pixel = malloc(files * ROWS * PIXELS);
	to->label = malloc(files * ROWS);
	if (!to->pixel || !to->label) {
		snprintf(why, cap, "%s: out of memory", folder);
		return -1;
	}
	for (size_t i = 0; i < files; i++) {
		struct reader r;
		if (reader_open(&r, folder, name[i], why, cap) < 0 || reader_close(&r, read_rows(&r, to)) < 0)
			return -1;
	}
	return 0;
}

int cifar_load(struct data *data, const char *folder, char *why, size_t cap)
{
	static const char *const train[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
	                                    "data_batch_4.bin", "data_batch_5.bin"};
	static const char *const test[] = {"test_batch.bin"};
	data->image = data->shape = (struct shape){3, 32, 32};
	data->classes = CLASSES;
	if (load(&data->train, folder, train, 5, why, cap) < 0)
		return -1;
	return load(&data->test, folder, test, 1, why, cap);
}
