/* The output of crumb plan: a table a cluster, or JSON Lines.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PLAN_PRINT_H
#define PLAN_PRINT_H

#include "cli/plan_answer.h"
#include "cli/quantity.h"

#include <stdio.h>

extern const struct unit plan_rates[], plan_times[];

/* Begins the table of a cluster whose nodes have ports of link bits a second. */
void plan_print_head(const struct request *request, uint64_t nodes, double link);

/* Prints one line of the table, or one JSON object. */
void plan_print(const struct request *request, const struct answer *answer);

/* Prints a JSON object. swept: of a link that nobody asked about, for a curve alone. */
void plan_print_json(FILE *to, const struct request *request, const struct answer *answer, bool swept);

/* Ends the table with the best answer, or with what keeps all codecs from helping, and with plan async's best
 * one if that is faster. */
void plan_print_verdict(const struct answer *best, const struct answer *async, const struct answer *plain);

#endif
