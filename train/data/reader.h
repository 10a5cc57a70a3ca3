/* Reads files of data, plain or gzipped, and reports what is wrong with each.
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
	char *why; /* the caller's buffer of cap bytes */
	size_t cap;
};

/* All that return int give 0, or -1 with a line in why that names the file. */

/* Opens folder/name, or folder/name.gz. reader_exists returns 1 if one of them exists, else 0. */
int reader_open(struct reader *reader, const char *folder, const char *name, char *why, size_t cap);
int reader_exists(const char *folder, const char *name);

/* Returns result, or -1 if the end of the file shows damage. */
int reader_close(struct reader *reader, int result);

/* Reads exactly n bytes. */
int reader_get(struct reader *reader, void *to, size_t n);

/* Reads the file's last n bytes into *bytes, which the caller frees on any result; memory grows with the
 * bytes that are really there. */
int reader_rest(struct reader *reader, size_t n, uint8_t **bytes);

/* Writes the complaint to why. Returns -1. */
int reader_complain(const struct reader *reader, const char *what);

#endif
