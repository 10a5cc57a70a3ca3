/* Reading whole files, and writing files that appear whole or not at all. A path of "-" is standard input or
 * output. Every function that returns int gives STATUS_OK, or STATUS_FAILED after a message that names the
 * file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FILE_H
#define FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* size bytes, 64-byte aligned; free(data). */
struct file {
	uint8_t *data;
	size_t size;
};
int file_read(struct file *file, const char *path);

/* Looks whether there is a file. A path that cannot be looked at, or a link that leads nowhere, is a failure.
 */
int file_exists(bool *exists, const char *path);

/* Returns true if the path leads to a regular file, or to nothing. */
bool file_replaceable(const char *path);

/* Returns true if both paths lead to one file. Neither need exist. */
bool file_same(const char *a, const char *b);

/* Syncs a folder's entries to the disk, unless it cannot be opened for reading, or the file system cannot.
 * Returns 0, or -1 with errno. */
int file_sync_folder(const char *folder);

/* A file under a temporary name beside its own. A path that exists and is no regular file (a pipe, a device)
 * and standard output are written in place. */
struct output {
	const char *path; /* as the user wrote it */
	char *target;     /* path with symbolic links resolved; NULL when written in place */
	char *temporary;  /* NULL when written in place */
	int fd;
};
int output_open(struct output *output, const char *path);
int output_write(struct output *output, const void *data, size_t size);
/* Writes all bytes to the disk, so that only output_commit's rename can still fail. */
int output_settle(struct output *output);
/* Renames the temporary file to its name, on the disk too. */
int output_commit(struct output *output);
/* Removes the temporary file if it was not committed, and frees. Follows any outcome. */
void output_close(struct output *output);

#endif
