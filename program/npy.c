/* NumPy's .npy files: a magic, a version, and a Python dictionary that describes the bytes after it.
 *
 * SPDX-License-Identifier: MIT */
#include "program/npy.h"
#include "program/npy_header.h"
#include "program/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[6] = "\x93NUMPY";

struct header {
	char descr[16];
	bool fortran, has_descr, has_fortran, has_shape;
	uint64_t n;   /* the product of the shape; UINT64_MAX when it does not fit */
	size_t sides; /* sizes in the shape other than 1: an array of one side has one order only */
};

/* A parser's position in the dictionary's text is *at; the text ends in a zero byte. */
static void skip_spaces(const char **at) { *at += strspn(*at, " \t\n\r\f"); }

static bool take(const char **at, char c)
{
	skip_spaces(at);
	if (**at != c)
		return false;
	++*at;
	return true;
}

static bool take_word(const char **at, const char *word)
{
	skip_spaces(at);
	if (strncmp(*at, word, strlen(word)))
		return false;
	*at += strlen(word);
	return true;
}

static bool take_string(const char **at, char *dst, size_t cap)
{
	skip_spaces(at);
	const char quote = **at;
	if (quote != '\'' && quote != '"')
		return false;
	const char *end = strchr(*at + 1, quote);
	const size_t length = end ? (size_t)(end - *at - 1) : cap;
	if (length >= cap)
		return false;
	memcpy(dst, *at + 1, length);
	dst[length] = 0;
	*at = end + 1;
	return true;
}

/* Parses a size: decimal digits, after which Python 2 wrote an L if it was a long integer. */
static bool take_size(const char **at, uint64_t *size, bool *overflow)
{
	skip_spaces(at);
	if (**at < '0' || **at > '9')
		return false;
	for (*size = 0; **at >= '0' && **at <= '9'; ++*at) {
		*overflow |= __builtin_mul_overflow(*size, 10, size);
		*overflow |= __builtin_add_overflow(*size, (uint64_t)(**at - '0'), size);
	}
	*at += **at == 'L';
	return true;
}

/* Parses a shape, "()", "(3,)" or "(3, 4)". */
static bool take_shape(const char **at, struct header *header)
{
	bool overflow = false, empty = false, comma = true;
	header->n = 1;
	if (!take(at, '('))
		return false;
	for (size_t count = 0; !take(at, ')'); count++) {
		uint64_t size;
		if (!comma || !take_size(at, &size, &overflow))
			return false;
		empty |= size == 0;
		header->sides += size != 1;
		overflow |= __builtin_mul_overflow(header->n, size, &header->n);
		comma = take(at, ',');
		if (!comma && !count) /* (3) is a number */
			return false;
	}
	if (overflow)
		header->n = empty ? 0 : UINT64_MAX;
	return true;
}

static bool parse_header(struct header *header, const char *at)
{
	*header = (struct header){.n = 0};
	if (!take(&at, '{'))
		return false;
	while (!take(&at, '}')) {
		char key[16];
		if (!take_string(&at, key, sizeof key) || !take(&at, ':'))
			return false;
		if (!strcmp(key, "descr") && !header->has_descr) {
			header->has_descr = true;
			skip_spaces(&at);
			if (*at == '[') { /* a structured array, which is refused whatever follows */
				strcpy(header->descr, "structured");
				return true;
			}
			if (!take_string(&at, header->descr, sizeof header->descr))
				return false;
		} else if (!strcmp(key, "fortran_order") && !header->has_fortran) {
			header->has_fortran = true;
			header->fortran = take_word(&at, "True");
			if (!header->fortran && !take_word(&at, "False"))
				return false;
		} else if (!strcmp(key, "shape") && !header->has_shape) {
			header->has_shape = true;
			if (!take_shape(&at, header))
				return false;
		} else {
			return false;
		}
		if (!take(&at, ',') && (skip_spaces(&at), *at != '}'))
			return false;
	}
	skip_spaces(&at);
	return !*at && header->has_descr && header->has_fortran && header->has_shape;
}

/* Sets the element type from the header and the user's word. A type without '<' is of this machine's byte
 * order, which is little-endian. */
static int find_dtype(struct npy *npy, const struct header *header, const char *path, bool bf16)
{
	const char *const descr = header->descr, *const type = descr + (*descr && strchr("<=|", *descr));
	if (descr[0] == '>')
		return program_fail("%s: big-endian elements (%s); crumb takes little-endian ones", path,
		                    descr);
	const bool words =
	        !strcmp(type, "u2") || !strcmp(type, "V2"); /* V2: as JAX and TensorFlow save bfloat16 */
	if (bf16 && !words)
		return program_fail("%s: elements of type %s; --dtype bf16 wants <u2 or V2", path, descr);
	if (!bf16 && words)
		return program_fail("%s: elements of type %s; if they hold bfloat16, say --dtype bf16", path,
		                    descr);
	if (strcmp(type, "f4") && strcmp(type, "f2") && !words)
		return program_fail("%s: elements of type %s; crumb takes <f4 and <f2", path, descr);
	npy->dtype = bf16 ? CRUMB_BF16 : !strcmp(type, "f4") ? CRUMB_F32 : CRUMB_F16;
	return STATUS_OK;
}

static size_t width_of(const struct npy *npy) { return npy->dtype == CRUMB_F32 ? 4 : 2; }

static int parse(struct npy *npy, const char *path, bool bf16)
{
	uint8_t *bytes = npy->file.data;
	const size_t size = npy->file.size;
	if (size < sizeof magic || memcmp(bytes, magic, sizeof magic))
		return program_fail("%s: not a .npy file", path);
	if (size < 12)
		return program_fail("%s: truncated in its header", path);
	if (bytes[6] < 1 || bytes[6] > 3 || bytes[7])
		return program_fail("%s: a .npy file of version %d.%d, which crumb does not know", path,
		                    bytes[6], bytes[7]);
	const size_t start = bytes[6] == 1 ? 10 : 12;
	size_t length = bytes[8] | (size_t)bytes[9] << 8;
	if (start == 12)
		length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
	if (length > size - start)
		return program_fail("%s: truncated in its header", path);

	char *text = strndup((const char *)bytes + start, length);
	if (!text)
		return program_fail("%s: not enough memory", path);
	struct header header;
	const bool parsed = strlen(text) == length && parse_header(&header, text);
	free(text);
	if (!parsed)
		return program_fail("%s: its .npy header is malformed", path);

	if (find_dtype(npy, &header, path, bf16))
		return STATUS_FAILED;
	if (header.fortran && header.sides > 1 && header.n)
		return program_fail("%s: in Fortran order; save numpy.ascontiguousarray(a) instead", path);
	const size_t width = width_of(npy);
	const size_t left = size - start - length;
	if (header.n > left / width)
		return program_fail("%s: truncated: %zu bytes of elements, too few for its shape", path,
		                    left);
	if (header.n * width != left)
		return program_fail("%s: %zu bytes follow the last element", path,
		                    left - (size_t)header.n * width);
	npy->n = (size_t)header.n;
	npy->data = bytes + start + length;
	if ((start + length) % width) /* NumPy aligns its data, other writers need not */
		npy->data = memmove(bytes, npy->data, left);
	return STATUS_OK;
}

int npy_read(struct npy *npy, const char *path, bool bf16)
{
	*npy = (struct npy){.n = 0};
	if (file_read(&npy->file, path))
		return STATUS_FAILED;
	const int status = parse(npy, path, bf16);
	if (status) {
		free(npy->file.data);
		npy->file.data = NULL;
	}
	return status;
}

int npy_fail(const struct npy *npy, const char *path, int error)
{
	if (error != CRUMB_ENONFINITE || !crumb_finite(npy->data, npy->n, npy->dtype))
		return program_fail("%s: %s", path, crumb_strerror(error));
	size_t first = 0, end = npy->n; /* the first unusable element is one of these */
	while (end - first > 1) {
		const size_t middle = first + (end - first) / 2;
		const uint8_t *const half = (const uint8_t *)npy->data + first * width_of(npy);
		if (crumb_finite(half, middle - first, npy->dtype))
			end = middle;
		else
			first = middle;
	}
	return program_fail("%s: element %zu, counted from 0: %s", path, first, crumb_strerror(error));
}

int npy_write(struct output *output, const float *data, size_t n)
{
	char header[NPY_HEADER];
	npy_header(header, n);
	return output_write(output, header, sizeof header) || output_write(output, data, n * sizeof *data);
}
