/* The header of a .npy file: a magic, a version, a length, and a Python dictionary padded with blanks.
 *
 * SPDX-License-Identifier: MIT */
#include "program/npy_header.h"

#include <stdio.h>
#include <string.h>

void npy_header(char header[NPY_HEADER], size_t n)
{
	enum { PREFIX = 10 };
	memcpy(header, "\x93NUMPY\x01\x00", 8);
	header[8] = NPY_HEADER - PREFIX;
	header[9] = 0;
	const int length = snprintf(header + PREFIX, NPY_HEADER - PREFIX,
	                            "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu,), }", n);
	memset(header + PREFIX + length, ' ', (size_t)(NPY_HEADER - PREFIX - length));
	header[NPY_HEADER - 1] = '\n';
}
