/* A line on a terminal that the next one replaces.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STATUS_LINE_H
#define STATUS_LINE_H

/* Shows a text of ASCII on standard error in place of the one before, cut to the terminal's width. Prints
 * nothing if standard error is no terminal. Not for several threads. */
void status_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Blanks the line out and leaves the cursor where it began. */
void status_line_clear(void);

#endif
