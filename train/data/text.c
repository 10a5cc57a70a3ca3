/* Characters are numbered in the order of their bytes.
 *
 * SPDX-License-Identifier: MIT */
#include "train/data/text.h"
#include "train/data/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENTENCES       600
#define SENTENCE        64   /* most bytes of a sentence and its zero */
#define SEED            1234 /* the sentences' seed, which --seed does not change */
#define PIECES_AT_LEAST 20

/* Numbers each byte that occurs. Returns how many there are. */
static int number_bytes(const uint8_t *text, size_t n, uint8_t number[256])
{
	int seen[256] = {0}, count = 0;
	for (size_t i = 0; i < n; i++)
		seen[text[i]] = 1;
	for (int byte = 0; byte < 256; byte++)
		if (seen[byte])
			number[byte] = (uint8_t)count++;
	return count;
}

static int cut(struct samples *to, const uint8_t *text, size_t pieces, const uint8_t number[256])
{
	to->count = pieces;
	to->pixel = malloc(pieces * TEXT_LENGTH);
	to->label = malloc(pieces * TEXT_LENGTH);
	if (!to->pixel || !to->label)
		return -1;
	for (size_t i = 0; i < pieces * TEXT_LENGTH; i++) {
		to->pixel[i] = number[text[i]];
		to->label[i] = number[text[i + 1]];
	}
	return 0;
}

static int from_text(struct data *data, const char *name, const uint8_t *text, size_t n, char *why,
                     size_t cap)
{
	uint8_t number[256] = {0};
	const size_t pieces = n > 0 ? (n - 1) / TEXT_LENGTH : 0, test = pieces / 10, train = pieces - test;
	const int classes = number_bytes(text, n, number);
	if (classes > TEXT_CLASSES) {
		snprintf(why, cap, "%s: %d different characters, more than %d", name, classes, TEXT_CLASSES);
		return -1;
	}
	if (pieces < PIECES_AT_LEAST) {
		snprintf(why, cap, "%s: %zu characters, fewer than %d", name, n,
		         PIECES_AT_LEAST * TEXT_LENGTH + 1);
		return -1;
	}
	data->image = (struct shape){1, TEXT_LENGTH, 1};
	data->classes = TEXT_CLASSES;
	data->places = TEXT_LENGTH;
	data->text = true;
	if (cut(&data->train, text, train, number) == 0 &&
	    cut(&data->test, text + train * TEXT_LENGTH, test, number) == 0)
		return 0;
	snprintf(why, cap, "%s: out of memory", name);
	return -1;
}

/* Returns all bytes of a file, *n of them; NULL with errno. */
static uint8_t *read_all(FILE *file, size_t *n)
{
	size_t room = 1 << 16;
	uint8_t *text = malloc(room);
	*n = 0;
	while (text) {
		*n += fread(text + *n, 1, room - *n, file);
		if (*n < room)
			break;
		room *= 2;
		uint8_t *more = realloc(text, room);
		if (!more)
			free(text);
		text = more;
	}
	if (text && ferror(file)) {
		free(text);
		return NULL;
	}
	return text;
}

int text_load(struct data *data, const char *path, char *why, size_t cap)
{
	size_t n = 0;
	errno = 0;
	FILE *file = fopen(path, "rb");
	uint8_t *text = file ? read_all(file, &n) : NULL;
	if (!text)
		snprintf(why, cap, "%s: %s", path, errno ? strerror(errno) : "cannot be read");
	const int result = text ? from_text(data, path, text, n, why, cap) : -1;
	free(text);
	if (file)
		fclose(file);
	return result;
}

static int put_number(char *to, size_t cap, unsigned number)
{
	static const char *const small[] = {"zero",    "one",     "two",       "three",    "four",
	                                    "five",    "six",     "seven",     "eight",    "nine",
	                                    "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
	                                    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
	static const char *const tens[] = {"twenty", "thirty",  "forty",  "fifty",
	                                   "sixty",  "seventy", "eighty", "ninety"};
	if (number < 20)
		return snprintf(to, cap, "%s", small[number]);
	const unsigned rest = number % 10;
	return snprintf(to, cap, "%s%s%s", tens[number / 10 - 2], rest ? "-" : "", rest ? small[rest] : "");
}

int text_make(struct data *data, char *why, size_t cap)
{
	char *text = malloc(SENTENCES * SENTENCE);
	size_t n = 0;
	for (size_t i = 0; text && i < SENTENCES; i++) {
		struct random r = random_stream(SEED, RANDOM_TEXT, i);
		const unsigned a = (unsigned)random_below(&r, 50), b = (unsigned)random_below(&r, 50);
		n += (size_t)put_number(text + n, SENTENCE, a);
		n += (size_t)snprintf(text + n, SENTENCE, " and ");
		n += (size_t)put_number(text + n, SENTENCE, b);
		n += (size_t)snprintf(text + n, SENTENCE, " is ");
		n += (size_t)put_number(text + n, SENTENCE, a + b);
		n += (size_t)snprintf(text + n, SENTENCE, ".\n");
	}
	const int result = text ? from_text(data, "text", (const uint8_t *)text, n, why, cap) : -1;
	if (!text)
		snprintf(why, cap, "out of memory");
	free(text);
	return result;
}

void text_order(uint32_t *order, size_t count, size_t batch)
{
	const size_t steps = count / batch;
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)(i < steps * batch ? i % batch * steps + i / batch : i);
}
