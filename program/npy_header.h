/* The header of NumPy's .npy files, as crumb writes it: version 1.0, one dimension of little-endian f4.
 *
 * SPDX-License-Identifier: MIT */
#ifndef NPY_HEADER_H
#define NPY_HEADER_H

#include <stddef.h>

#define NPY_HEADER 128 /* bytes; the n floats follow */

void npy_header(char header[NPY_HEADER], size_t n);

#endif
