/* JSON values, written to a stream.
 *
 * SPDX-License-Identifier: MIT */
#include "program/json.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Returns the length of the UTF-8 character at *c, which is not in ASCII; 0 if the bytes are none. */
static int utf8_length(const unsigned char *c)
{
	const int length = *c >= 0xc2 && *c < 0xe0   ? 2
	                   : *c >= 0xe0 && *c < 0xf0 ? 3
	                   : *c >= 0xf0 && *c < 0xf5 ? 4
	                                             : 0;
	for (int i = 1; i < length; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	const bool long_form = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
	const bool outside = (c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xf4 && c[1] >= 0x90);
	return long_form || outside ? 0 : length;
}

void json_string(FILE *to, const char *text)
{
	fputc('"', to);
	for (const unsigned char *c = (const unsigned char *)text; *c;) {
		const int length = *c < 0x80 ? 1 : utf8_length(c);
		if (length == 0)
			fprintf(to, "\\udc%02x", *c); /* as Python reads the names of files */
		else if (*c < 0x20)
			fprintf(to, "\\u%04x", *c);
		else if (*c == '"' || *c == '\\')
			fprintf(to, "\\%c", *c);
		else
			fwrite(c, 1, (size_t)length, to);
		c += length ? length : 1;
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

void json_string_member(FILE *to, const char *key, const char *text)
{
	fprintf(to, ", \"%s\": ", key);
	json_string(to, text);
}

void json_double_member(FILE *to, const char *key, double value)
{
	fprintf(to, ", \"%s\": ", key);
	json_double(to, value);
}
