/* JSON values, written to a stream.
 *
 * SPDX-License-Identifier: MIT */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdio.h>

void json_string(FILE *to, const char *text);
/* Writes the shortest decimal that reads back as the same number; null if it is not finite. */
void json_double(FILE *to, double value);
void json_float(FILE *to, float value);
void json_bool(FILE *to, bool value);

#endif
