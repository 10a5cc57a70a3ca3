/* Text as pieces: the label of a character is the next one; refusals of unusable files say why; and the
 * program's own text is the same everywhere.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/data/text.h"

enum { PIECE = 50 };
static char path[] = "/tmp/crumb-text-XXXXXX";

static void write_file(const char *text, size_t n)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

static int load(struct data *data, char *why, size_t cap)
{
	char source[64];
	snprintf(source, sizeof source, "text:%s", path);
	return data_open(data, source, PIECE, why, cap);
}

/* "zyxzyx...": 2 1 0 2 1 0 ..., so that a label is always the character before its own in the alphabet. */
static void a_label_is_the_next_character(void **state)
{
	(void)state;
	enum { PIECES = 45, N = PIECES * PIECE + 2 };
	struct data data;
	char why[256] = "", text[N];
	for (size_t i = 0; i < N; i++)
		text[i] = "zyx"[i % 3];
	write_file(text, N);
	assert_int_equal(load(&data, why, sizeof why), 0);
	assert_int_equal(data.train.count, 41);
	assert_int_equal(data.test.count, 4);
	assert_int_equal(data.places, PIECE);
	assert_int_equal(data.classes, TEXT_CLASSES);
	for (size_t i = 0; i < 41 * PIECE; i++) {
		assert_int_equal(data.train.pixel[i], 2 - i % 3);
		assert_int_equal(data.train.label[i], 2 - (i + 1) % 3);
	}
	for (size_t i = 0; i < 4 * PIECE; i++)
		assert_int_equal(data.test.pixel[i], 2 - (i + 41 * PIECE) % 3);
	const uint32_t index[2] = {40, 3};
	static float input[2 * TEXT_CLASSES * PIECE];
	data_batch(&data, &data.train, index, 2, 1, 1, input);
	for (size_t i = 0; i < 2; i++)
		for (size_t c = 0; c < TEXT_CLASSES; c++)
			for (size_t t = 0; t < PIECE; t++)
				assert_true(input[(i * TEXT_CLASSES + c) * PIECE + t] ==
				            (data.train.pixel[index[i] * PIECE + t] == c));
	data_close(&data);
}

static void other_files_are_refused(void **state)
{
	(void)state;
	struct data data;
	char why[256] = "", text[3000];
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(' ' + i % TEXT_CLASSES);
	write_file(text, sizeof text);
	assert_int_equal(load(&data, why, sizeof why), 0);
	data_close(&data);
	text[2999] = '\n';
	write_file(text, sizeof text);
	assert_int_equal(load(&data, why, sizeof why), -1);
	assert_non_null(strstr(why, "68 different characters"));
	data_close(&data);
	for (size_t n = 0; n <= 1000; n += 250) {
		write_file(text, n);
		assert_int_equal(load(&data, why, sizeof why), -1);
		assert_non_null(strstr(why, "fewer than 1001"));
		data_close(&data);
	}
	assert_int_equal(data_open(&data, "text:/nowhere/text", PIECE, why, sizeof why), -1);
	assert_non_null(strstr(why, "/nowhere/text: No such file"));
	assert_int_equal(data_open(&data, "text:/", PIECE, why, sizeof why), -1);
	assert_non_null(strstr(why, "/: Is a directory"));
}

static void the_programs_own(void **state)
{
	(void)state;
	struct data data;
	char why[256];
	uint64_t sum = 14695981039346656037u;
	assert_int_equal(data_open(&data, "text", PIECE, why, sizeof why), 0);
	for (size_t i = 0; i < data.train.count * PIECE; i++)
		sum = (sum ^ data.train.pixel[i]) * 1099511628211u;
	assert_true(data.train.count >= 300);
	assert_int_equal(sum, 0xb8b58dc783ee6d41u);
	const struct augment shift = {.type = AUGMENT_SHIFT, .pad = 4};
	assert_int_equal(data_augment(&data, &shift, why, sizeof why), -1);
	assert_non_null(strstr(why, "text has no --augment"));
	data_close(&data);
}

/* Every piece comes once, and follows what its place in the batch had in the step before. */
static void pieces_follow_each_other(void **state)
{
	(void)state;
	uint32_t order[50];
	for (size_t count = 1; count <= 50; count++)
		for (size_t batch = 1; batch <= count; batch++) {
			bool seen[50] = {false};
			text_order(order, count, batch);
			for (size_t i = 0; i < count; i++) {
				assert_in_range(order[i], 0, count - 1);
				assert_false(seen[order[i]]);
				seen[order[i]] = true;
				if (i >= batch && i < count / batch * batch)
					assert_int_equal(order[i], order[i - batch] + 1);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_label_is_the_next_character),
	        cmocka_unit_test(other_files_are_refused),
	        cmocka_unit_test(the_programs_own),
	        cmocka_unit_test(pieces_follow_each_other),
	};
	const int file = mkstemp(path);
	if (file < 0)
		return 1;
	close(file);
	const int result = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return result;
}
