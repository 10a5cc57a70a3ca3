/* Texts of options: "NAME", or "NAME:KEY=NUMBER,KEY=NUMBER", out of a table.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CHOICE_H
#define CHOICE_H

#include <stddef.h>

#define CHOICE_MOST_KEYS 3

struct choice_key {
	const char *name; /* NULL ends the keys */
	size_t offset;    /* of a double in the struct that is filled in */
	double fallback, min, max;
};

struct choice {
	const char *name;
	struct choice_key key[CHOICE_MOST_KEYS];
};

/* Finds the text's name in the table and writes the values of its keys, or their defaults, into the struct at
 * `into`. Returns the number of its row, or -1 with *bad (may be NULL) at the first offending character, and
 * nothing written. */
int choice_parse(const struct choice *table, int rows, const char *text, void *into, const char **bad);

/* Writes the text of a row with the values of its keys in the struct at `from`. */
void choice_write(const struct choice *row, const void *from, char *text, size_t cap);

#endif
