/* A rank's part of a run: what it has that other ranks have not. Ranks divide the learners, and with them
 * what is owed; a run may go on with another division.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HOLDING_H
#define HOLDING_H

#include "train/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who is who; a checkpoint begins with it. */
struct layout {
	uint32_t rank, ranks;
	uint64_t learners;
	uint64_t first_debtor, debtors; /* whose packers this rank has (exchange.h) */
	uint64_t division;              /* checksum of the table of debtors */
};

struct holding {
	struct layout layout;
	uint32_t *debtor;    /* [learner of all] */
	size_t first, own;   /* this rank's learners */
	float *states;       /* of the own learners' samples, [sample][net->states]; NULL: none are carried */
	struct outer *outer; /* [own learner]; NULL without --local-steps */
	crumb_packer **packer; /* [own debtor][slice] */
	crumb_packer **mean;   /* [slice]; NULL: another rank averages it, or all do */
	bool lent;             /* all but the tables is the run's */
};

/* Returns true if two ranks' layouts are of one division of the learners. */
bool holding_alike(const struct layout *a, const struct layout *b);

/* Returns a rank's number of samples of a batch. */
size_t holding_samples(const struct train *t, const struct holding *holding);

/* Points to what this rank has now. Returns false without memory; holding_close may follow. */
bool holding_of(struct holding *holding, const struct train *t);

/* Takes memory for what a rank had in a run like this one, its packers and those of all means included.
 * Returns as above. */
bool holding_open(struct holding *holding, const struct train *t, const struct layout *layout);
void holding_close(struct holding *holding, const struct train *t);

/* Gives the heirs on this rank, now, their part of what a rank of another division had, then. Samples keep
 * their states. A learner, or with tiers a node, is owed for by whoever takes over its part of the batch: the
 * residual of an heir is the mean of its samples' residuals, so that the sum over all, each weighted with its
 * share of the batch, is what it was, to rounding; an heir's own optimizer is the mean, too. Where the
 * division is the same for all ranks but for who has what, packers are taken over whole; so are those of
 * means. now's packers are fresh before the first call; call it once for each rank of then. */
void holding_inherit(const struct train *t, struct holding *now, const struct holding *then);

#endif
