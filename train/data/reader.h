/* Reads files of data, plain or gzipped, and says of each what is wrong with it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef READER_H
#define READER_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

struct reader {
	gzFile file;
	char path[4096];
	char *why; /* the caller's, of cap bytes */
	size_t cap;
};

/* All that return int give 0, or -1 with a line in why that names the file. */

/* Opens folder/name, or folder/name.gz. reader_exists asks for it only: 1 if one of them is there, else 0. */
int reader_open(struct reader *reader, const char *folder, const char *name, char *why, size_t cap);
int reader_exists(const char *folder, const char *name);

/* The result of what was read, or -1 where the file turns out damaged only now. */
int reader_close(struct reader *reader, int result);

/* Reads n bytes that have to be there. */
int reader_get(struct reader *reader, void *to, size_t n);

/* Reads the n bytes that end the file into *bytes, which the caller frees whatever the result; memory grows
 * with what really is there. */
int reader_rest(struct reader *reader, size_t n, uint8_t **bytes);

/* Notes what is wrong. -1. */
int reader_complain(const struct reader *reader, const char *what);

#endif
