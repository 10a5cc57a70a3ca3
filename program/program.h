/* Messages, exit statuses and memory, which the programs share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <crumb.h>
#include <stddef.h>
#include <stdio.h>

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* Closes off standard streams that were not open when the program began: their descriptors lead nowhere, so
 * that no file takes their place, and using them is an error. A write beyond the limit on a file's size
 * becomes an error, too. Call it first. */
void program_begin(void);

/* Prints text with a '?' for each control character: a file's name may have some that a terminal obeys. */
void program_print(FILE *to, const char *text);

/* Prints a line to stderr, control characters as above, in place of the status line. */
void program_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "crumb: ..." to stderr. Returns STATUS_FAILED. */
int program_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the text to stderr, and a caret under its first offending character. */
void program_caret(const char *text, const char *bad);

/* Parses a spec, or the rules of a policy (exchange/policy.h). On an error it prints the text with a caret
 * under the offending character. Returns STATUS_OK or STATUS_USAGE. */
int program_spec(crumb_codec *codec, const char *spec);
struct policy;
int program_policy(struct policy *policy, const char *text);

/* Allocates size bytes, 64-byte aligned, on huge pages where the system grants them; the caller frees them.
 * Never NULL for 0 bytes. NULL after a message. */
void *program_memory(size_t size);

/* Returns the status to exit with: STATUS_FAILED after a message if standard output could not be written. */
int program_finish(int status);

/* Returns the i-th instruction set that crumb_set_isa takes on this machine; NULL past the last one. */
const char *program_isa(size_t i);

#endif
