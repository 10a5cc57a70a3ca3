/* The name that a user may have meant by another word.
 *
 * SPDX-License-Identifier: MIT */
#ifndef NEAREST_H
#define NEAREST_H

#include <stddef.h>

/* Begin with the word and its length alone. */
struct nearest {
	const char *word;
	size_t length;
	const char *name; /* the nearest of those tried; NULL: none is near */
	size_t edits;
};

/* Tries a name. It is near if the word begins it, or if at most one edit to three letters of the name leads
 * to it: a letter more, less or other, or two letters in exchanged order. Capitals count as small letters. */
void nearest_try(struct nearest *nearest, const char *name);

/* Prints 'Did you mean "NAME"?' to stderr, with text before the name; nothing if none is near, or if the word
 * is a name. */
void nearest_say(const struct nearest *nearest, const char *before);

#endif
