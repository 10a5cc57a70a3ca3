/* Gradients in files.
 *
 * SPDX-License-Identifier: MIT */
#include "train/report/dump.h"
#include "program/npy_header.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int failed(const char *path, char *why, size_t cap)
{
	snprintf(why, cap, "%s: %s", path, errno ? strerror(errno) : "cannot be written");
	return -1;
}

/* Returns true if the name is that of a gradient's file. */
static bool is_gradient(const char *name)
{
	size_t step;
	int end = 0;
	return sscanf(name, "step%zu-flat.npy%n", &step, &end) == 1 && end > 0 && name[end] == 0;
}

int dump_open(const char *folder, bool anew, char *why, size_t cap)
{
	bool holds = false;
	errno = 0;
	DIR *entries = mkdir(folder, 0777) == 0 || errno == EEXIST ? opendir(folder) : NULL;
	if (!entries)
		return failed(folder, why, cap);
	for (const struct dirent *entry; anew && !holds && (entry = readdir(entries));)
		holds = is_gradient(entry->d_name);
	closedir(entries);
	if (holds)
		snprintf(why, cap, "%s holds gradients of a run: remove them, or name another folder",
		         folder);
	return holds ? -1 : 0;
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
