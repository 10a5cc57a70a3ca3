/* JSON values, written to a stream.
 *
 * SPDX-License-Identifier: MIT */
#include "measure/json.h"

#include <math.h>
#include <stdlib.h>

void json_string(FILE *to, const char *text)
{
	fputc('"', to);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c < 0x20)
			fprintf(to, "\\u%04x", *c);
		else if (*c == '"' || *c == '\\')
			fprintf(to, "\\%c", *c);
		else
			fputc(*c, to);
	}
	fputc('"', to);
}

void json_double(FILE *to, double value)
{
	char text[32] = "null";
	for (int digits = 6; isfinite(value) && digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs(text, to);
}

void json_float(FILE *to, float value)
{
	char text[32] = "null";
	for (int digits = 6; isfinite(value) && digits <= 9; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, (double)value);
		if (strtof(text, NULL) == value)
			break;
	}
	fputs(text, to);
}

void json_bool(FILE *to, bool value) { fputs(value ? "true" : "false", to); }
