/* MNIST's files, plain and gzipped, and files that are not what they should be: each refusal names its file.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "data.h"

#define PIXELS ((size_t)28 * 28)

static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

static char folder[64];

static const char *path_of(const char *name, bool gz)
{
	static char path[256];
	snprintf(path, sizeof path, "%s/%s%s", folder, name, gz ? ".gz" : "");
	return path;
}

static void put(const char *name, bool gz, const uint8_t *bytes, size_t n)
{
	gzFile file = gzopen(path_of(name, gz), gz ? "wb" : "wbT");
	assert_non_null(file);
	assert_true(n == 0 || gzwrite(file, bytes, (unsigned)n) == (int)n);
	assert_int_equal(gzclose(file), Z_OK);
}

/* An IDX file of `count` images or labels whose i-th byte is i % 10. */
static size_t idx(uint8_t *to, bool images, size_t count)
{
	const uint8_t head[16] = {
	        0, 0, 8, images ? 3 : 1, 0, 0, (uint8_t)(count >> 8), (uint8_t)count, 0, 0, 0, 28, 0,
	        0, 0, 28};
	const size_t bytes = images ? 16 : 8, rest = images ? count * PIXELS : count;
	memcpy(to, head, bytes);
	for (size_t i = 0; i < rest; i++)
		to[bytes + i] = (uint8_t)(i % 10);
	return bytes + rest;
}

static uint8_t file[16 + 300 * 28 * 28];

static void put_idx(size_t which, bool gz, size_t count)
{
	put(names[which], gz, file, idx(file, which % 2 == 0, count));
}

static void remove_all(void)
{
	for (size_t i = 0; i < 4; i++) {
		remove(path_of(names[i], false));
		remove(path_of(names[i], true));
	}
}

static void put_good(bool gz)
{
	remove_all();
	put_idx(0, gz, 300);
	put_idx(1, gz, 300);
	put_idx(2, gz, 40);
	put_idx(3, gz, 40);
}

static int load(struct data *data, char *why, size_t cap)
{
	char source[128];
	snprintf(source, sizeof source, "mnist:%s", folder);
	return data_open(data, source, why, cap);
}

static void plain_and_gzipped(void **state)
{
	(void)state;
	for (int gz = 0; gz < 2; gz++) {
		struct data data;
		char why[512] = "";
		put_good(gz);
		if (load(&data, why, sizeof why) < 0)
			fail_msg("%s", why);
		assert_int_equal(data.train.count, 300);
		assert_int_equal(data.test.count, 40);
		assert_int_equal(data.classes, 10);
		assert_int_equal(shape_count(data.shape), PIXELS);
		assert_int_equal(data.train.label[299], 9);
		assert_int_equal(data.train.pixel[300 * PIXELS - 1], (300 * PIXELS - 1) % 10);
		assert_int_equal(data.test.pixel[1], 1);
		data_close(&data);
	}
}

/* Loading fails with a line that names the file and has these words. */
static void refuses(size_t which, const char *words)
{
	struct data data;
	char why[512] = "";
	assert_int_equal(load(&data, why, sizeof why), -1);
	data_close(&data);
	if (!strstr(why, names[which]) || !strstr(why, words) || strchr(why, '\n'))
		fail_msg("\"%s\" does not say \"%s\" of %s", why, words, names[which]);
}

static void what_is_missing(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		put_good(true);
		remove(path_of(names[i], true));
		refuses(i, "no such file");
		assert_int_equal(mkdir(path_of(names[i], false), 0700), 0);
		refuses(i, "directory");
		rmdir(path_of(names[i], false));
	}
}

static void headers(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		put_good(false);
		const size_t n = idx(file, i % 2 == 0, i < 2 ? 300 : 40);
		for (size_t byte = 0; byte < 4; byte++) {
			file[byte] ^= 1;
			put(names[i], false, file, n);
			refuses(i, "not an IDX file");
			file[byte] ^= 1;
		}
		file[7]++; /* one more than there are */
		put(names[i], false, file, n);
		refuses(i, i % 2 ? "not as many labels" : "too short");
		file[7] -= 2;
		put(names[i], false, file, n);
		refuses(i, i % 2 ? "not as many labels" : "longer");
		for (size_t cut = 0; cut < (i % 2 ? 8 : 16); cut += 3) {
			put(names[i], false, file, cut);
			refuses(i, "too short");
		}
	}
}

static void dimensions(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i += 2)
		for (size_t byte = 8; byte < 16; byte++) {
			put_good(false);
			const size_t n = idx(file, true, i < 2 ? 300 : 40);
			file[byte] ^= 1;
			put(names[i], false, file, n);
			refuses(i, "not 28 x 28");
		}
	put_good(false);
	put_idx(0, false, 0);
	refuses(0, "no images");
}

static void a_size_that_lies_asks_for_no_memory(void **state)
{
	(void)state;
	put_good(false);
	const size_t n = idx(file, true, 300);
	memset(file + 4, 0xff, 4); /* 4,294,967,295 images: 3 TB */
	put(names[0], false, file, n);
	refuses(0, "too short");
}

static void labels_above_9(void **state)
{
	(void)state;
	for (size_t i = 1; i < 4; i += 2) {
		put_good(false);
		const size_t n = idx(file, false, i < 2 ? 300 : 40);
		file[n - 1] = 10;
		put(names[i], false, file, n);
		refuses(i, "above 9");
	}
}

static void damaged_gzip(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		put_good(true);
		FILE *f = fopen(path_of(names[i], true), "rb+");
		assert_non_null(f);
		const size_t n = fread(file, 1, sizeof file, f);
		fclose(f);
		for (int cut = 0; cut < 2; cut++) {
			f = fopen(path_of(names[i], true), "wb");
			assert_non_null(f);
			file[n - 6] ^= (uint8_t)!cut; /* in the checksum */
			assert_int_equal(fwrite(file, 1, cut ? n / 2 : n, f), cut ? n / 2 : n);
			fclose(f);
			refuses(i, "");
		}
	}
}

static void the_real_thing(void **state)
{
	(void)state;
	const char *where = getenv("CRUMB_DATA");
	if (!where) {
		print_message("skipped: CRUMB_DATA names no folder that holds mnist/\n");
		skip();
	}
	char source[512], why[512] = "";
	struct data data;
	snprintf(source, sizeof source, "mnist:%s/mnist", where);
	if (data_open(&data, source, why, sizeof why) < 0)
		fail_msg("%s", why);
	assert_int_equal(data.train.count, 60000);
	assert_int_equal(data.test.count, 10000);
	assert_float_equal(data.mean / 255, 0.1307, 0.0001);
	assert_float_equal(1 / data.scale / 255, 0.3081, 0.0001);
	assert_int_equal(data.train.label[0], 5);
	data_close(&data);
}

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/test_idx.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	remove_all();
	return rmdir(folder);
}

/* "test_idx mnist": the published files alone, below $CRUMB_DATA. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(plain_and_gzipped),
	        cmocka_unit_test(what_is_missing),
	        cmocka_unit_test(headers),
	        cmocka_unit_test(dimensions),
	        cmocka_unit_test(a_size_that_lies_asks_for_no_memory),
	        cmocka_unit_test(labels_above_9),
	        cmocka_unit_test(damaged_gzip),
	};
	const struct CMUnitTest real[] = {cmocka_unit_test(the_real_thing)};
	if (argc > 1 && !strcmp(argv[1], "mnist"))
		return cmocka_run_group_tests_name("mnist", real, NULL, NULL);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
