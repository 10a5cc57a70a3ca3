/* Reads CIFAR-10 in its binary version, plain or gzipped (Krizhevsky 2009).
 *
 * SPDX-License-Identifier: MIT */
#ifndef CIFAR_H
#define CIFAR_H

#include "train/data/data.h"

/* Loads data_batch_{1,2,3,4,5}.bin and test_batch.bin from folder: rows of a label and 3 x 32 x 32 bytes. 0,
 * or -1 with a line in why that names the file; data_close frees a part that was loaded. */
int cifar_load(struct data *data, const char *folder, char *why, size_t cap);

#endif
