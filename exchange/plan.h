/* Plans: who averages which slice, and how its mean comes to everybody. One file each; plan.c lists them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PLAN_H
#define PLAN_H

#include <stdbool.h>
#include <stddef.h>

struct crumb_exchange;

struct plan {
	const char *name;
	const char *alias; /* what MXNet calls it; NULL: nothing like it */
	const char *brief;
	/* Says for every slice which rank averages it; NULL: every rank does, and nothing comes down. */
	void (*assign)(struct crumb_exchange *x, unsigned *owner);
	/* From x->grad to x->mean, all having voted; with an error, the swaps alone. 0 or the error that
	 * every rank gets. */
	int (*mean)(struct crumb_exchange *x, int error);
	size_t longest; /* elements of a slice that are best not exceeded (crumb_slices_cut); 0: any number */
	unsigned swaps; /* a step, the vote included: a rank sends as many messages to every other one */
};

/* By name or alias; NULL if there is none. */
const struct plan *crumb_plan_find(const char *name);

/* The i-th plan, NULL past the last. */
const struct plan *crumb_plan_list(size_t i);

#endif
