/* Reads the IDX files of Yann LeCun's MNIST, plain or gzipped.
 *
 * SPDX-License-Identifier: MIT */
#ifndef IDX_H
#define IDX_H

#include "data.h"

/* Loads {train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz] from folder. 0, or -1 with a line in why that names
 * the file; what was allocated until then is data_close's. */
int idx_load_mnist(struct data *data, const char *folder, char *why, size_t cap);

#endif
