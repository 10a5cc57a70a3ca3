/* The command line as text.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

/* Returns the words, NULL at the end, as a shell takes them; free() it. NULL: out of memory. */
char *command_line(char *const *words);

#endif
