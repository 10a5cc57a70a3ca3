/* Refusals: an error and a line that says why. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef WHY_H
#define WHY_H

#include <stdarg.h>
#include <stdio.h>

/* Writes the line to why, of cap bytes, and returns error. */
static inline int refuse(char *why, size_t cap, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, cap, format, args);
	va_end(args);
	return error;
}

#endif
