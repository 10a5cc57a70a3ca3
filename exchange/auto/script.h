/* What an exchange shall do when, as text: "auto", which chooses by what it measures, or
 * "auto|STEP PLAN DOWN UP|STEP PLAN DOWN UP...": from that step on (counted from 0) this plan, this policy of
 * the mean or exact, and this policy of gradients; all raw before the first. Steps ascend.
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
	bool exact; /* on the way down; then there is no policy of the mean */
};

struct crumb_script {
	bool measures;
	size_t count;
	struct crumb_scripted entry[CRUMB_SCRIPT_MOST];
};

/* Whether text is meant as one: it is auto, or goes on from there with '|'. */
bool crumb_script_meant(const char *text);

/* 0, or CRUMB_ESPEC with *bad at the first offending character and no script in *script. */
int crumb_script_parse(struct crumb_script *script, const char *text, const char **bad);

#endif
