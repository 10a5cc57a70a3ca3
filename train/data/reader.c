/* Files of data; zlib also reads plain ones.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "train/data/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const endings[] = {"", ".gz"};

int reader_complain(const struct reader *r, const char *what)
{
	snprintf(r->why, r->cap, "%s: %s", r->path, what);
	return -1;
}

int reader_open(struct reader *r, const char *folder, const char *name, char *why, size_t cap)
{
	*r = (struct reader){.why = why, .cap = cap};
	for (int i = 0; i < 2 && !r->file; i++) {
		const int n = snprintf(r->path, sizeof r->path, "%s/%s%s", folder, name, endings[i]);
		if (n < 0 || (size_t)n >= sizeof r->path)
			return reader_complain(r, "the path is too long");
		errno = 0;
		r->file = gzopen(r->path, "rb");
		if (!r->file && errno != ENOENT)
			return reader_complain(r, errno ? strerror(errno) : "out of memory");
	}
	return r->file ? 0 : reader_complain(r, "no such file, nor without .gz");
}

int reader_exists(const char *folder, const char *name)
{
	char path[4096];
	int found = 0;
	for (int i = 0; i < 2 && !found; i++) {
		const int n = snprintf(path, sizeof path, "%s/%s%s", folder, name, endings[i]);
		found = n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
	}
	return found;
}

int reader_close(struct reader *r, int result)
{
	return gzclose(r->file) != Z_OK && result == 0 ? reader_complain(r, "cannot be read to its end")
	                                               : result;
}

/* Reads up to n bytes, fewer only where the file ends. Returns how many; SIZE_MAX after a complaint. */
static size_t read_most(struct reader *r, uint8_t *to, size_t n)
{
	size_t have = 0;
	while (have < n) {
		const size_t left = n - have;
		const int got = gzread(r->file, to + have, left < (1u << 30) ? (unsigned)left : 1u << 30);
		if (got < 0) {
			int code;
			gzerror(r->file, &code);
			reader_complain(r, code == Z_ERRNO ? strerror(errno) : "damaged or cut off");
			return SIZE_MAX;
		}
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return have;
}

int reader_get(struct reader *r, void *to, size_t n)
{
	const size_t got = read_most(r, to, n);
	if (got == SIZE_MAX)
		return -1;
	return got == n ? 0 : reader_complain(r, "the file is too short");
}

int reader_rest(struct reader *r, size_t n, uint8_t **bytes)
{
	size_t have = 0, want = 0;
	/* One byte more than n is asked for, since zlib checks a file's sum where it ends. */
	while (have == want && have <= n) {
		want = have == 0 ? 1u << 20 : 2 * have;
		want = want < n ? want : n + 1;
		uint8_t *grown = realloc(*bytes, want);
		if (!grown)
			return reader_complain(r, "out of memory");
		*bytes = grown;
		const size_t got = read_most(r, grown + have, want - have);
		if (got == SIZE_MAX)
			return -1;
		have += got;
	}
	if (have == n)
		return 0;
	return reader_complain(r, have < n ? "the file is too short" : "longer than it should be");
}
