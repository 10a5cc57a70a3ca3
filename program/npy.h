/* NumPy's .npy files: reads and writes one array of floats.
 *
 * SPDX-License-Identifier: MIT */
#ifndef NPY_H
#define NPY_H
#include "program/file.h"

#include <crumb.h>
#include <stdbool.h>

/* n elements of dtype, in memory order; free(file.data). */
struct npy {
	struct file file;
	const void *data;
	size_t n;
	enum crumb_dtype dtype;
};

/* Reads little-endian f4 or f2 of any shape in C order, as every order is if one side at most is longer than
 * 1; or, with bf16, u2 or V2 that holds bfloat16, for which NumPy has no name. STATUS_OK, or STATUS_FAILED
 * after a message that names the file. */
int npy_read(struct npy *npy, const char *path, bool bf16);

/* Prints an error of crumb.h that packing this array had, and with CRUMB_ENONFINITE the index of the first
 * unusable element. Returns STATUS_FAILED. */
int npy_fail(const struct npy *npy, const char *path, int error);

/* Writes a one-dimensional f4 array of n elements. */
int npy_write(struct output *output, const float *data, size_t n);

#endif
