/* Numbers with a unit, as options take them: "2.5G", "25us", "95img/s".
 *
 * SPDX-License-Identifier: MIT */
#ifndef QUANTITY_H
#define QUANTITY_H

#include <stdbool.h>

struct unit {
	const char *name; /* follows the number; NULL ends a table */
	double factor;
};

#define QUANTITY_MOST 1e15 /* in base units: longer numbers are typing errors, and not printed whole */

/* Parses a number and a unit of the table. Returns true, and in *value the number in base units, from 0
 * to QUANTITY_MOST; false if text is something else. */
bool quantity_parse(double *value, const char *text, const struct unit *units);

/* Prints three digits and the largest unit with which the number, rounded to these, is at least 1. units
 * ascend. dst: 32 bytes. */
const char *quantity_print(char *dst, double value, const struct unit *units);

#endif
