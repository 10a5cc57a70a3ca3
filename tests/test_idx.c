/* MNIST's files, plain and gzipped, and malformed files: each refusal names its file.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "train/data/data.h"

#define PIXELS ((size_t)28 * 28)

static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

static char folder[64];

static const char *path_of(const char *name, bool gz)
{
	static char path[512];
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

/* Writes an IDX file of `count` images or labels whose i-th byte is i % 10. */
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
	DIR *files = opendir(folder);
	assert_non_null(files);
	for (const struct dirent *entry; (entry = readdir(files));)
		if (entry->d_name[0] != '.')
			remove(path_of(entry->d_name, false));
	closedir(files);
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
	return data_open(data, source, 1, why, cap);
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

/* Asserts that loading fails with a line that names the file and has these words. */
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
		/* The last 8 bytes have checksum and length. */
		const size_t left[] = {n - 1, n - 8, n / 2, n};
		for (size_t k = 0; k < sizeof left / sizeof *left; k++) {
			f = fopen(path_of(names[i], true), "wb");
			assert_non_null(f);
			file[n - 6] ^= left[k] == n; /* in the checksum */
			assert_int_equal(fwrite(file, 1, left[k], f), left[k]);
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
	if (data_open(&data, source, 1, why, sizeof why) < 0)
		fail_msg("%s", why);
	assert_int_equal(data.train.count, 60000);
	assert_int_equal(data.test.count, 10000);
	assert_float_equal(data.mean / 255, 0.1307, 0.0001);
	assert_float_equal(1 / data.scale / 255, 0.3081, 0.0001);
	assert_int_equal(data.train.label[0], 5);
	data_close(&data);
}

/* ---- idx: ---- */

/* Writes [count] samples of these sizes; the i-th byte is i % 251. */
static void put_any(const char *name, const uint32_t *size, int dims, bool images)
{
	uint8_t head[4 + 4 * 4] = {0, 0, 8, (uint8_t)dims};
	size_t bytes = 4 + 4 * (size_t)dims, rest = 1;
	for (int i = 0; i < dims; i++) {
		rest *= size[i];
		for (int k = 0; k < 4; k++)
			head[4 + 4 * i + k] = (uint8_t)(size[i] >> (24 - 8 * k));
	}
	memcpy(file, head, bytes);
	for (size_t i = 0; i < rest; i++)
		file[bytes++] = (uint8_t)(images ? i % 251 : i * 7 % 13);
	put(name, false, file, bytes);
}

static int load_any(struct data *data, char *why, size_t cap)
{
	char source[80];
	snprintf(source, sizeof source, "idx:%s", folder);
	return data_open(data, source, 1, why, cap);
}

static void any_shape(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t size[4];
		int dims;
		struct shape shape;
	} forms[] = {{"features-idx2", {20, 7}, 2, {1, 1, 7}},
	             {"features-idx3", {20, 3, 5}, 3, {1, 3, 5}},
	             {"images-idx4", {20, 3, 5, 4}, 4, {3, 5, 4}}};
	for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
		char name[64], why[512] = "";
		struct data data;
		remove_all();
		for (int test = 0; test < 2; test++) {
			const char *set = test ? "t10k" : "train";
			snprintf(name, sizeof name, "%s-%s-ubyte", set, forms[f].name);
			put_any(name, forms[f].size, forms[f].dims, true);
			snprintf(name, sizeof name, "%s-labels-idx1-ubyte", set);
			put_any(name, forms[f].size, 1, false);
		}
		if (load_any(&data, why, sizeof why) < 0)
			fail_msg("%s", why);
		assert_memory_equal(&data.shape, &forms[f].shape, sizeof data.shape);
		assert_int_equal(data.classes, 13);
		assert_int_equal(data.train.count, 20);
		assert_int_equal(data.test.count, 20);
		for (size_t i = 0; i < 20 * shape_count(data.shape); i++)
			assert_int_equal(data.train.pixel[i], i % 251);
		assert_int_equal(data.test.label[19], 19 * 7 % 13);
		data_close(&data);
	}
}

/* Refuses a test set of another shape or more classes than the training set. */
static void sets_that_differ(void **state)
{
	(void)state;
	static const struct {
		uint32_t train[3], test[3], train_labels, test_labels;
		const char *words;
	} wrong[] = {{{9, 3, 5}, {9, 5, 3}, 9, 9, "t10k-images-idx3-ubyte: images are not 3 x 5"},
	             {{9, 3, 5}, {20, 3, 5}, 9, 20, "t10k-labels-idx1-ubyte: a label is above 10"},
	             {{9, 3, 5}, {9, 3, 5}, 8, 9, "train-labels-idx1-ubyte: not as many labels"},
	             {{9, 0, 5}, {9, 0, 5}, 9, 9, "train-images-idx3-ubyte: images of no size"},
	             {{9, 9, 0x7fffffff}, {9, 1, 1}, 9, 9, "train-images-idx3-ubyte: images of no size, or"},
	             {{9, 0xffffffff, 0xffffffff}, {9, 1, 1}, 9, 9, "images of no size, or of too large"}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char why[512] = "";
		struct data data;
		remove_all();
		for (int test = 0; test < 2; test++) {
			const uint32_t *size = test ? wrong[i].test : wrong[i].train;
			const uint32_t head[3] = {size[0], size[1], size[2]};
			const bool huge = (uint64_t)size[1] * size[2] > 1000;
			uint8_t bytes[16] = {0, 0, 8, 3};
			for (int k = 0; k < 12; k++)
				bytes[4 + k] = (uint8_t)(head[k / 4] >> (24 - 8 * (k % 4)));
			if (huge)
				put(test ? names[2] : names[0], false, bytes, sizeof bytes);
			else
				put_any(test ? names[2] : names[0], head, 3, true);
			put_any(test ? names[3] : names[1],
			        test ? &wrong[i].test_labels : &wrong[i].train_labels, 1, false);
		}
		assert_int_equal(load_any(&data, why, sizeof why), -1);
		data_close(&data);
		if (!strstr(why, wrong[i].words) || strchr(why, '\n'))
			fail_msg("\"%s\" does not say \"%s\"", why, wrong[i].words);
	}
}

/* ---- cifar10: ---- */

enum { ROWS = 10000, ROW = 3073 };

static void put_rows(const char *name, bool gz, size_t bytes, size_t bad_label)
{
	static uint8_t rows[ROWS * ROW + 1];
	for (size_t i = 0; i < ROWS; i++) {
		rows[i * ROW] = (uint8_t)(i == bad_label ? 10 : i % 10);
		memset(rows + i * ROW + 1, (int)(i % 256), 3072);
	}
	put(name, gz, rows, bytes);
}

static const char *const batches[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                      "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};

static int load_cifar(struct data *data, char *why, size_t cap)
{
	char source[80];
	snprintf(source, sizeof source, "cifar10:%s", folder);
	return data_open(data, source, 1, why, cap);
}

static void cifar_rows(void **state)
{
	(void)state;
	struct data data;
	char why[512] = "";
	remove_all();
	for (size_t i = 0; i < 6; i++)
		put_rows(batches[i], i == 3, (size_t)ROWS * ROW, ROWS);
	if (load_cifar(&data, why, sizeof why) < 0)
		fail_msg("%s", why);
	assert_int_equal(data.train.count, 5 * ROWS);
	assert_int_equal(data.test.count, ROWS);
	assert_int_equal(data.classes, 10);
	assert_int_equal(shape_count(data.shape), 3072);
	for (size_t i = 0; i < data.train.count; i += 977) {
		assert_int_equal(data.train.label[i], i % 10);
		assert_int_equal(data.train.pixel[i * 3072], i % ROWS % 256);
		assert_int_equal(data.train.pixel[i * 3072 + 3071], i % ROWS % 256);
	}
	data_close(&data);
	static const struct {
		size_t bytes, bad_label;
		const char *words;
	} wrong[] = {{(size_t)ROWS * ROW - 1, ROWS, "too short"},
	             {(size_t)ROWS * ROW + 1, ROWS, "longer than"},
	             {(size_t)ROWS * ROW, ROWS - 1, "a label is above 9"}};
	for (size_t which = 1; which < 6; which += 4)
		for (size_t k = 0; k < 3; k++) {
			put_rows(batches[which], false, wrong[k].bytes, wrong[k].bad_label);
			assert_int_equal(load_cifar(&data, why, sizeof why), -1);
			data_close(&data);
			assert_non_null(strstr(why, batches[which]));
			assert_non_null(strstr(why, wrong[k].words));
			put_rows(batches[which], false, (size_t)ROWS * ROW, ROWS);
		}
	remove(path_of(batches[2], false));
	assert_int_equal(load_cifar(&data, why, sizeof why), -1);
	assert_non_null(strstr(why, "data_batch_3.bin.gz: no such file"));
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
	        cmocka_unit_test(any_shape),
	        cmocka_unit_test(sets_that_differ),
	        cmocka_unit_test(cifar_rows),
	};
	const struct CMUnitTest real[] = {cmocka_unit_test(the_real_thing)};
	if (argc > 1 && !strcmp(argv[1], "mnist"))
		return cmocka_run_group_tests_name("mnist", real, NULL, NULL);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
