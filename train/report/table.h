/* The table at the end of a comparison of codecs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TABLE_H
#define TABLE_H
#include "train/options/options.h"
#include "train/report/report.h"

#include <stdio.h>

/* Prints one row for each of the first `rows` codecs of the options. */
void table_print(FILE *to, const struct options *options, const struct report *run, size_t rows);

#endif
