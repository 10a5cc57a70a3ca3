/* Numbers as text, without the locale. SPDX-License-Identifier: MIT */
#ifndef DECIMAL_H
#define DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a decimal number such as "0.5" or "-1e-7" from the size characters of text; all of them must belong
 * to it. Returns how many characters are in order: size if and only if *value was set. */
size_t crumb_decimal_read(const char *text, size_t size, float *value);

/* Writes the shortest decimal that reads back as the finite value. dst has room for CRUMB_DECIMAL_MAX.
 * Returns the length without the terminating zero. */
enum { CRUMB_DECIMAL_MAX = 32 };
size_t crumb_decimal_write(char *dst, float value);

#endif
