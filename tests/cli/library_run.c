/* The crumb tool's reference: the same steps by direct calls of the library.
 *
 * library_run SPEC SEED TYPE PREFIX IN...: packs the raw arrays IN (all of one length; TYPE is f32, f16 or
 * bf16) one after another, and writes PREFIX.frames, PREFIX.packer and PREFIX.sum (f32, the sum of the
 * frames).
 *
 * SPDX-License-Identifier: MIT */
#include <crumb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "library_run: %s\n", what);
	exit(1);
}

static void *allocate(size_t size)
{
	void *memory = aligned_alloc(64, (size + 64) / 64 * 64);
	require(memory != NULL, "memory");
	return memory;
}

static void save(const char *prefix, const char *suffix, const char *mode, const void *data, size_t size)
{
	char path[4096];
	require(snprintf(path, sizeof path, "%s.%s", prefix, suffix) < (int)sizeof path, "path");
	FILE *file = fopen(path, mode);
	require(file && fwrite(data, 1, size, file) == size && !fclose(file), path);
}

static size_t load(const char *path, void **data)
{
	FILE *file = fopen(path, "rb");
	require(file && !fseek(file, 0, SEEK_END), path);
	const long size = ftell(file);
	require(size >= 0 && !fseek(file, 0, SEEK_SET), path);
	*data = allocate((size_t)size);
	require(fread(*data, 1, (size_t)size, file) == (size_t)size && !fclose(file), path);
	return (size_t)size;
}

int main(int argc, char **argv)
{
	require(argc > 5, "too few arguments");
	const char *prefix = argv[4];
	const enum crumb_dtype type = !strcmp(argv[3], "f32")   ? CRUMB_F32
	                              : !strcmp(argv[3], "f16") ? CRUMB_F16
	                                                        : CRUMB_BF16;
	const size_t width = type == CRUMB_F32 ? 4 : 2;
	crumb_codec codec;
	require(!crumb_parse(&codec, argv[1], NULL), "spec");

	void *grad;
	const size_t n = load(argv[5], &grad) / width;
	free(grad);
	const size_t cap = crumb_bound(&codec, n), size = crumb_packer_size(&codec, n);
	crumb_packer *packer = allocate(size);
	unsigned char *frame = allocate(cap);
	float *sum = allocate(n * sizeof *sum);
	memset(sum, 0, n * sizeof *sum);
	require(!crumb_packer_init(packer, &codec, n, 0, strtoull(argv[2], NULL, 10)), "init");
	save(prefix, "frames", "wb", "", 0);
	for (int i = 5; i < argc; i++) {
		require(load(argv[i], &grad) == n * width, "length");
		for (size_t count; (count = crumb_agree_count(packer));) {
			float *stat = allocate(count * sizeof *stat);
			require(!crumb_measure(packer, grad, n, type, stat) && !crumb_agree(packer, stat, 1),
			        "agree");
			free(stat);
		}
		const int64_t length = crumb_pack(packer, grad, n, type, 0, frame, cap);
		require(length > 0 && crumb_unpack_add(frame, (size_t)length, 1, sum, n) == length,
		        "pack or unpack");
		save(prefix, "frames", "ab", frame, (size_t)length);
		free(grad);
	}
	save(prefix, "packer", "wb", packer, size);
	save(prefix, "sum", "wb", sum, n * sizeof *sum);
	free(sum);
	free(frame);
	free(packer);
	return 0;
}
