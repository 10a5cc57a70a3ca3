/* Plans: a plan says which rank averages which slice, and how the means come to everybody. Each is a file;
 * plan.c lists them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PLAN_H
#define PLAN_H

#include <stdbool.h>
#include <stddef.h>

struct crumb_exchange;
struct crumb_exchange_config;
struct step;

struct plan {
	const char *name;
	const char *alias; /* what MXNet calls it; NULL: nothing like it */
	const char *brief;
	/* Sets the rank that averages each slice; NULL: every rank averages all, and nothing comes down. */
	void (*assign)(struct crumb_exchange *x, unsigned *owner);
	/* Makes step->mean of step->grad after the vote; with an error, only swaps. Returns 0 or the error
	 * that every rank gets. NULL: the plan is not for crumb_exchange_step. */
	int (*mean)(struct crumb_exchange *x, struct step *step, int error);
	size_t longest_slice; /* most elements a slice should have (crumb_slices_cut); 0: any number */
	/* The plan of one rank a node with those of other nodes, after the ranks of each node have averaged
	 * among themselves; NULL: ranks are alike, and the bits do not depend on which rank hosts which
	 * learner. */
	const struct plan *between;
	unsigned swaps; /* of a step with its vote: the messages from a rank to each other rank */
	/* Rank 0 of several is a server and has no learners. */
	bool serves;
	/* crumb_exchange_tell, with a server; NULL: by a swap. */
	int (*tell)(struct crumb_exchange *x, const void *mine, size_t bytes, void *all);
	/* Opens what the plan keeps in the exchange beside the rest, after that; NULL: nothing. Returns 0, or
	 * an error and a line in why. */
	int (*open)(struct crumb_exchange *x, const struct crumb_exchange_config *config, char *why,
	            size_t cap);
};

/* Returns the plan of this name or alias; NULL if there is none. */
const struct plan *crumb_plan_find(const char *name);

/* Returns the i-th plan; NULL past the last. */
const struct plan *crumb_plan_list(size_t i);

#endif
