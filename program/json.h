/* JSON values, written to a stream.
 *
 * SPDX-License-Identifier: MIT */
#ifndef JSON_H
#define JSON_H

#include <stdio.h>

void json_string(FILE *to, const char *text);
/* Writes the shortest decimal that reads back as the same number; null if it is not finite. */
void json_double(FILE *to, double value);
void json_float(FILE *to, float value);

/* Write a member of an object that is not its first one: ", "key": value. */
void json_string_member(FILE *to, const char *key, const char *text);
void json_double_member(FILE *to, const char *key, double value);

#endif
