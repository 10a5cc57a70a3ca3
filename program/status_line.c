/* A carriage return, and blanks over what was longer: terminals of every kind know these.
 *
 * SPDX-License-Identifier: MIT */
#include "program/status_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDEST = 256 };
static int shown; /* columns of the text that stands there */

/* Returns the columns that a text may have. The last one stays free: some terminals begin a new line after
 * it. */
static int room(void)
{
	struct winsize window;
	const char *const variable = getenv("COLUMNS");
	int columns = variable ? atoi(variable) : 0;
	if (columns <= 0)
		columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
	if (columns <= 0)
		columns = 80;
	return columns < WIDEST ? columns - 1 : WIDEST - 1;
}

static int least(int a, int b) { return a < b ? a : b; }

void status_line(const char *format, ...)
{
	if (!isatty(STDERR_FILENO))
		return;
	char text[WIDEST];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	const int most = room(), length = least((int)strlen(text), most);
	fprintf(stderr, "\r%*s\r%.*s", least(shown, most), "", length, text);
	shown = length;
}

void status_line_clear(void)
{
	if (shown > 0)
		status_line("%s", "");
}
