/* Texts of options.
 *
 * SPDX-License-Identifier: MIT */
#include "train/data/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int at_fault(const char **bad, const char *at)
{
	if (bad)
		*bad = at;
	return -1;
}

static int parse_key(const struct choice *choice, double *value, const char **text, const char **bad)
{
	const size_t length = strcspn(*text, "=,");
	for (int k = 0; k < CHOICE_MOST_KEYS && choice->key[k].name; k++) {
		const struct choice_key *key = &choice->key[k];
		if (strlen(key->name) != length || memcmp(key->name, *text, length) != 0)
			continue;
		if ((*text)[length] != '=')
			return at_fault(bad, *text + length);
		const char *number = *text + length + 1;
		char *end;
		value[k] = strtod(number, &end);
		if (end == number || !(value[k] >= key->min && value[k] <= key->max))
			return at_fault(bad, number);
		*text = end;
		return 0;
	}
	return at_fault(bad, *text);
}

int choice_parse(const struct choice *table, int rows, const char *text, void *into, const char **bad)
{
	const size_t length = strcspn(text, ":");
	int i = 0;
	while (i < rows && (strlen(table[i].name) != length || memcmp(table[i].name, text, length) != 0))
		i++;
	if (i == rows)
		return at_fault(bad, text);
	double value[CHOICE_MOST_KEYS];
	for (int k = 0; k < CHOICE_MOST_KEYS; k++)
		value[k] = table[i].key[k].fallback;
	for (text += length; *text;) {
		text++; /* past the ':' or ',' */
		if (parse_key(&table[i], value, &text, bad) < 0)
			return -1;
		if (*text && *text != ',')
			return at_fault(bad, text);
	}
	for (int k = 0; k < CHOICE_MOST_KEYS && table[i].key[k].name; k++)
		*(double *)((char *)into + table[i].key[k].offset) = value[k];
	return i;
}

void choice_write(const struct choice *row, const void *from, char *text, size_t cap)
{
	size_t used = (size_t)snprintf(text, cap, "%s", row->name);
	for (int k = 0; k < CHOICE_MOST_KEYS && row->key[k].name && used < cap; k++)
		used += (size_t)snprintf(text + used, cap - used, "%c%s=%.12g", k ? ',' : ':',
		                         row->key[k].name,
		                         *(const double *)((const char *)from + row->key[k].offset));
}
