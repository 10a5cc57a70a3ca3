/* Numbers with a unit, as options take them: "2.5G", "25us", "95img/s".
 *
 * SPDX-License-Identifier: MIT */
#ifndef QUANTITY_H
#define QUANTITY_H

struct unit {
	const char *name; /* follows the number; NULL ends a table */
	double factor;
};

/* Parses a number and a unit of the table. Returns the unit, and in *value the number in base units, finite
 * and not negative; NULL if text is something else. */
const struct unit *quantity_parse(double *value, const char *text, const struct unit *units);

/* Prints three digits and the largest unit with which the number, rounded to these, is at least 1. units
 * ascend. dst: 32 bytes. */
const char *quantity_print(char *dst, double value, const struct unit *units);

#endif
