/* Words in quotes where a shell needs them.
 *
 * SPDX-License-Identifier: MIT */
#include "train/options/command_line.h"

#include <stdlib.h>
#include <string.h>

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+";

static char *put_quoted(char *to, const char *word)
{
	*to++ = '\'';
	for (; *word; word++)
		if (*word == '\'') {
			memcpy(to, "'\\''", 4);
			to += 4;
		} else
			*to++ = *word;
	*to++ = '\'';
	return to;
}

char *command_line(char *const *words)
{
	size_t most = 1;
	for (size_t i = 0; words[i]; i++)
		most += 4 * strlen(words[i]) + 3;
	char *text = malloc(most), *to = text;
	if (!text)
		return NULL;
	for (size_t i = 0; words[i]; i++) {
		const size_t length = strlen(words[i]);
		if (i > 0)
			*to++ = ' ';
		if (length > 0 && strspn(words[i], plain) == length) {
			memcpy(to, words[i], length);
			to += length;
		} else
			to = put_quoted(to, words[i]);
	}
	*to = 0;
	return text;
}
