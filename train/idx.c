/* IDX: a big-endian magic 0x0000TTDD (type 8: bytes; D dimensions), D big-endian sizes, and the bytes.
 *
 * SPDX-License-Identifier: MIT */
#include "idx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define SIDE    28
#define CLASSES 10

struct reader {
	gzFile file;
	char path[4096];
	char *why;
	size_t cap;
};

static int complain(const struct reader *r, const char *what)
{
	snprintf(r->why, r->cap, "%s: %s", r->path, what);
	return -1;
}

/* Opens folder/name, or folder/name.gz; zlib reads either kind. */
static int reader_open(struct reader *r, const char *folder, const char *name)
{
	static const char *const ending[] = {"", ".gz"};
	r->file = NULL;
	for (int i = 0; i < 2 && !r->file; i++) {
		const int n = snprintf(r->path, sizeof r->path, "%s/%s%s", folder, name, ending[i]);
		if (n < 0 || (size_t)n >= sizeof r->path)
			return complain(r, "the path is too long");
		errno = 0;
		r->file = gzopen(r->path, "rb");
		if (!r->file && errno != ENOENT)
			return complain(r, errno ? strerror(errno) : "out of memory");
	}
	return r->file ? 0 : complain(r, "no such file, nor without .gz");
}

static int read_exactly(struct reader *r, void *dst, size_t n)
{
	uint8_t *at = dst;
	while (n > 0) {
		const unsigned chunk = n < (1u << 30) ? (unsigned)n : 1u << 30;
		const int got = gzread(r->file, at, chunk);
		if (got < 0) {
			int code;
			const char *message = gzerror(r->file, &code);
			return complain(r, code == Z_ERRNO ? strerror(errno) : message);
		}
		if (got == 0)
			return complain(r, "the file is too short");
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

/* Reads the header: `dims` sizes. */
static int read_header(struct reader *r, int dims, uint32_t *size)
{
	uint8_t head[16];
	const size_t bytes = 4 + 4 * (size_t)dims;
	if (read_exactly(r, head, bytes) < 0)
		return -1;
	if (head[0] != 0 || head[1] != 0 || head[2] != 8 || head[3] != dims)
		return complain(r, dims == 3 ? "not an IDX file of byte images"
		                             : "not an IDX file of byte labels");
	for (int i = 0; i < dims; i++) {
		const uint8_t *b = head + 4 + 4 * i;
		size[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	}
	return 0;
}

/* Reads the n bytes that end the file. Grows with what really is there, so that a wrong size cannot ask for
 * all memory. */
static int read_rest(struct reader *r, size_t n, uint8_t **bytes)
{
	size_t have = 0;
	while (have < n) {
		const size_t more = have == 0 ? 1u << 20 : have;
		const size_t want = n - have < more ? n : have + more;
		uint8_t *grown = realloc(*bytes, want);
		if (!grown)
			return complain(r, "out of memory");
		*bytes = grown;
		if (read_exactly(r, grown + have, want - have) < 0)
			return -1;
		have = want;
	}
	uint8_t extra;
	const int got = gzread(r->file, &extra, 1);
	if (got < 0)
		return complain(r, "damaged at its end");
	return got == 0 ? 0 : complain(r, "longer than its header says");
}

static int read_images(struct reader *r, struct samples *to)
{
	uint32_t size[3];
	if (read_header(r, 3, size) < 0)
		return -1;
	if (size[0] == 0)
		return complain(r, "holds no images");
	if (size[1] != SIDE || size[2] != SIDE)
		return complain(r, "images are not 28 x 28");
	to->count = size[0];
	return read_rest(r, to->count * SIDE * SIDE, &to->pixel);
}

static int read_labels(struct reader *r, struct samples *to)
{
	uint32_t count;
	if (read_header(r, 1, &count) < 0)
		return -1;
	if (count != to->count)
		return complain(r, "not as many labels as there are images");
	if (read_rest(r, count, &to->label) < 0)
		return -1;
	for (size_t i = 0; i < to->count; i++)
		if (to->label[i] >= CLASSES)
			return complain(r, "a label is above 9");
	return 0;
}

static int load(const char *folder, const char *name, int (*read)(struct reader *, struct samples *),
                struct samples *to, char *why, size_t cap)
{
	struct reader r = {.why = why, .cap = cap};
	if (reader_open(&r, folder, name) < 0)
		return -1;
	int result = read(&r, to);
	if (gzclose(r.file) != Z_OK && result == 0)
		result = complain(&r, "cannot be read to its end");
	return result;
}

int idx_load_mnist(struct data *data, const char *folder, char *why, size_t cap)
{
	data->shape = (struct shape){1, SIDE, SIDE};
	data->classes = CLASSES;
	if (load(folder, "train-images-idx3-ubyte", read_images, &data->train, why, cap) < 0 ||
	    load(folder, "train-labels-idx1-ubyte", read_labels, &data->train, why, cap) < 0 ||
	    load(folder, "t10k-images-idx3-ubyte", read_images, &data->test, why, cap) < 0 ||
	    load(folder, "t10k-labels-idx1-ubyte", read_labels, &data->test, why, cap) < 0)
		return -1;
	return 0;
}
