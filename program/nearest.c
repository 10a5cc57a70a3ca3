/* Names by their edit distance, in which an exchange of two neighbours is one edit.
 *
 * SPDX-License-Identifier: MIT */
#include "program/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 32 }; /* letters of a name or of a word */

static bool same(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Returns the edits from a, of m letters, to b, of n. */
static size_t count_edits(const char *a, size_t m, const char *b, size_t n)
{
	size_t row[LONGEST + 1][LONGEST + 1]; /* [i][j]: from the first i letters of a to the first j of b */
	for (size_t i = 0; i <= m; i++)
		for (size_t j = 0; j <= n; j++) {
			if (!i || !j) {
				row[i][j] = i + j;
				continue;
			}
			const size_t other = row[i - 1][j - 1] + !same(a[i - 1], b[j - 1]);
			row[i][j] = least(other, 1 + least(row[i - 1][j], row[i][j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				row[i][j] = least(row[i][j], 1 + row[i - 2][j - 2]);
		}
	return row[m][n];
}

void nearest_try(struct nearest *nearest, const char *name)
{
	const size_t length = strlen(name), typed = nearest->length;
	if (typed < 2 || typed > LONGEST || length > LONGEST)
		return;
	const bool begins = typed < length && !strncasecmp(nearest->word, name, typed);
	const size_t edits = begins ? 1 : count_edits(nearest->word, typed, name, length);
	if (3 * edits <= length && (!nearest->name || edits < nearest->edits)) {
		nearest->name = name;
		nearest->edits = edits;
	}
}

void nearest_say(const struct nearest *nearest, const char *before)
{
	const char *name = nearest->name;
	if (name && (strlen(name) != nearest->length || memcmp(name, nearest->word, nearest->length)))
		fprintf(stderr, "Did you mean \"%s%s\"?\n", before, name);
}
