/* Numbers with a unit.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/quantity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool quantity_parse(double *value, const char *text, const struct unit *units)
{
	char *end;
	if (*text < '0' || *text > '9' || (text[strspn(text, "0123456789.")] | 0x20) == 'x')
		return false;
	const double number = strtod(text, &end);
	for (const struct unit *unit = units; unit->name; unit++)
		if (!strcmp(end, unit->name) && number * unit->factor <= QUANTITY_MOST) {
			*value = number * unit->factor;
			return true;
		}
	return false;
}

const char *quantity_print(char *dst, double value, const struct unit *units)
{
	const struct unit *best = units;
	for (const struct unit *unit = units; unit->name; unit++)
		if (value >= 0.9995 * unit->factor) /* which is printed as 1.00 */
			best = unit;
	snprintf(dst, 32, "%.*f %s", value < 9.995 * best->factor ? 2 : value < 99.95 * best->factor,
	         value / best->factor, best->name);
	return dst;
}
