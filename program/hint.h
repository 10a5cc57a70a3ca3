/* Suggestions for a codec's text that was refused.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HINT_H
#define HINT_H

/* Prints to stderr the name that may have been meant by the word at bad, if one is near: of a codec, of a key
 * of that codec or of a value of that key. */
void hint_spec(const char *spec, const char *bad);

/* Prints it for a policy's text, in which the word may be a kind of slice, too. */
void hint_policy(const char *text, const char *bad);

#endif
