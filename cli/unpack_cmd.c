/* crumb unpack: frames in, their sum or mean out.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "program/file.h"
#include "program/npy.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_MEAN = OPTION_LONG };
static const struct option_info options[] = {
        {'o', "output", "OUT.npy", "a one-dimensional array of f4"},
        {OPTION_MEAN, "mean", NULL, "divide by the number of frames"},
        {0, NULL, NULL, NULL},
};

/* Reads a file and counts its frames. *n: their number of elements, which the first frame of all files
 * sets. */
static int read_frames(struct file *file, const char *path, uint64_t *n, size_t *frames)
{
	if (file_read(file, path))
		return STATUS_FAILED;
	if (!file->size)
		return program_fail("%s: no frame in it", path);
	for (size_t at = 0; at < file->size;) {
		crumb_frame_info frame;
		const int64_t length = crumb_peek(&frame, file->data + at, file->size - at);
		if (length < 0)
			return program_fail("%s: at byte %zu: %s", path, at, crumb_strerror((int)length));
		if (!*frames)
			*n = frame.n;
		if (frame.n != *n)
			return program_fail("%s: at byte %zu: a frame of %" PRIu64
			                    " elements after one of %" PRIu64,
			                    path, at, frame.n, *n);
		++*frames;
		at += (size_t)length;
	}
	return STATUS_OK;
}

/* acc += weight * every frame of the file. */
static int add_frames(const struct file *file, const char *path, float weight, float *acc, size_t n)
{
	for (size_t at = 0; at < file->size;) {
		const int64_t length = crumb_unpack_add(file->data + at, file->size - at, weight, acc, n);
		if (length < 0)
			return program_fail("%s: at byte %zu: %s", path, at, crumb_strerror((int)length));
		at += (size_t)length;
	}
	return STATUS_OK;
}

/* Refuses a sum beyond the largest float; a frame alone has finite values. */
static int check_sum(const float *acc, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(acc[i]))
			return program_fail("element %zu of the sum is too large for f4", i);
	return STATUS_OK;
}

static int write_array(const char *path, const float *data, size_t n)
{
	struct output out;
	const int status = output_open(&out, path) || npy_write(&out, data, n) || output_settle(&out) ||
	                   output_commit(&out);
	output_close(&out);
	return status;
}

static int unpack(struct file *files, char **paths, size_t count, bool mean, const char *out)
{
	uint64_t n = 0;
	size_t frames = 0;
	for (size_t i = 0; i < count; i++)
		if (read_frames(&files[i], paths[i], &n, &frames))
			return STATUS_FAILED;
	if (n > SIZE_MAX / sizeof(float))
		return program_fail("%s: too many elements for this machine", paths[0]);
	float *const acc = program_memory((size_t)n * sizeof *acc);
	if (!acc)
		return STATUS_FAILED;
	memset(acc, 0, (size_t)n * sizeof *acc);

	int status = STATUS_OK;
	const float weight = mean ? 1.0f / (float)frames : 1.0f;
	for (size_t i = 0; i < count && !status; i++)
		status = add_frames(&files[i], paths[i], weight, acc, (size_t)n);
	if (!status)
		status = check_sum(acc, (size_t)n);
	if (!status)
		status = write_array(out, acc, (size_t)n);
	free(acc);
	return status;
}

static int run(int argc, char **argv)
{
	const char *out = NULL, *value;
	bool mean = false;
	for (int id; (id = command_option(&unpack_command, argc, argv, &value)) != OPTION_END;) {
		if (id == 'o')
			out = value;
		else if (id == OPTION_MEAN)
			mean = true;
		else
			return STATUS_USAGE;
	}
	if (optind >= argc)
		return command_usage(&unpack_command, "it takes at least one file of frames");
	if (!out)
		return command_usage(&unpack_command, "-o OUT.npy is missing");
	for (int i = optind; i < argc; i++)
		if (file_same(argv[i], out))
			return command_usage(&unpack_command, "the array would replace the frames: %s", out);

	const size_t count = (size_t)(argc - optind);
	struct file *files = calloc(count, sizeof *files);
	if (!files)
		return program_fail("not enough memory");
	const int status = unpack(files, argv + optind, count, mean, out);
	for (size_t i = 0; i < count; i++)
		free(files[i].data);
	free(files);
	return status;
}

const struct command unpack_command = {
        "unpack",
        "FRAME... [--mean] -o OUT.npy",
        "expand frames into the sum of what they carry",
        "A file may hold several frames, one after another; all are of the same number of elements.\n",
        options,
        run,
};
