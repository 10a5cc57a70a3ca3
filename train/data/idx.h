/* Reads IDX files, the format of Yann LeCun's MNIST, plain or gzipped.
 *
 * SPDX-License-Identifier: MIT */
#ifndef IDX_H
#define IDX_H

#include "train/data/data.h"

/* Load {train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz] from folder: MNIST's 28 x 28 of ten classes; or any
 * {train,t10k}-{images,features}-idx{2,3,4}-ubyte[.gz] of [n][features], [n][height][width] or
 * [n][channels][height][width], with one class more than the training set's largest label. 0, or -1 with a
 * line in why that names the file; data_close frees a part that was loaded. */
int idx_load_mnist(struct data *data, const char *folder, char *why, size_t cap);
int idx_load(struct data *data, const char *folder, char *why, size_t cap);

#endif
