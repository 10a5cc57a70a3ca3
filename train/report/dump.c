/* Gradients in files.
 *
 * SPDX-License-Identifier: MIT */
#include "train/report/dump.h"
#include "measure/npy_header.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int failed(const char *path, char *why, size_t cap)
{
	snprintf(why, cap, "%s: %s", path, errno ? strerror(errno) : "cannot be written");
	return -1;
}

int dump_open(const char *folder, char *why, size_t cap)
{
	struct stat info;
	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		return failed(folder, why, cap);
	if (stat(folder, &info) == 0 && S_ISDIR(info.st_mode))
		return 0;
	errno = ENOTDIR;
	return failed(folder, why, cap);
}

/* Writes a file, and removes one that could not be written whole. */
static int write_floats(const char *path, const float *data, size_t n, char *why, size_t cap)
{
	char header[NPY_HEADER];
	npy_header(header, n);
	errno = 0;
	FILE *file = fopen(path, "wb");
	if (!file)
		return failed(path, why, cap);
	const size_t put = fwrite(header, sizeof header, 1, file) + fwrite(data, sizeof *data, n, file);
	if (fclose(file) == 0 && put == 1 + n)
		return 0;
	const int result = failed(path, why, cap);
	remove(path);
	return result;
}

/* Writes one file of the step: a part of a gradient. */
static int write_part(const char *folder, size_t step, const char *part, const float *data, size_t n,
                      char *why, size_t cap)
{
	char path[4096];
	const int length = snprintf(path, sizeof path, "%s/step%07zu-%s.npy", folder, step, part);
	if (length < 0 || (size_t)length >= sizeof path) {
		errno = ENAMETOOLONG;
		return failed(folder, why, cap);
	}
	return write_floats(path, data, n, why, cap);
}

int dump_gradient(const char *folder, const struct net *net, const float *grad, size_t step, char *why,
                  size_t cap)
{
	int result = write_part(folder, step, "flat", grad, net->parameters, why, cap);
	for (size_t s = 0; s < net->slice_count && result == 0; s++) {
		const struct crumb_slice *slice = &net->slice[s];
		char part[32];
		if (slice->kind == CRUMB_BIAS || slice->kind == CRUMB_BATCHNORM)
			continue;
		snprintf(part, sizeof part, "slice%02zu-%s", s, crumb_kind_name(slice->kind));
		result = write_part(folder, step, part, grad + slice->at, slice->n, why, cap);
	}
	return result;
}
