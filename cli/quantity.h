/* Numbers with a unit, as options take them: "2.5G", "25us", "95img/s".
 *
 * SPDX-License-Identifier: MIT */
#ifndef QUANTITY_H
#define QUANTITY_H

struct unit {
	const char *name; /* what stands behind the number; NULL ends a table */
	double factor;
};

/* The unit of text in the table, and the number times its factor, finite and not below 0, in *value; NULL if
 * text is nothing of the kind. */
const struct unit *quantity_parse(double *value, const char *text, const struct unit *units);

/* Three digits and the largest unit of the table, which ascends, that leaves a number of at least 1. dst: 32
 * bytes. */
const char *quantity_print(char *dst, double value, const struct unit *units);

#endif
