/* A script says as text what an exchange shall use from which step on: "auto" chooses by measurements;
 * "auto|STEP PLAN DOWN UP|STEP PLAN DOWN UP..." takes from each step on (counted from 0, ascending) a plan, a
 * policy of the mean or exact, and a policy of gradients; all raw before the first.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "exchange/policy.h"

enum { CRUMB_SCRIPT_MOST = 16 };

struct crumb_scripted {
	uint64_t step;
	const struct plan *plan;
	struct policy up, down;
	bool exact; /* nothing is lost on the way down; there is no policy of the mean */
};

struct crumb_script {
	bool measures;
	size_t count;
	struct crumb_scripted entry[CRUMB_SCRIPT_MOST];
};

/* Returns true if text is "auto" or begins with "auto|". */
bool crumb_script_meant(const char *text);

/* Returns 0, or CRUMB_ESPEC with *bad at the first offending character; *script is then undefined. */
int crumb_script_parse(struct crumb_script *script, const char *text, const char **bad);

#endif
