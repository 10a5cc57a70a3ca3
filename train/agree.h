/* Ranks that run with other options than this one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef AGREE_H
#define AGREE_H

#include "train/data/data.h"
#include "train/options/options.h"

struct crumb_exchange_net;

/* Compares what results depend on, options and data, with all other ranks. 0, or -1 if it differs, after a
 * line of rank 0 that names the first option that does; then why is empty. -1 with a line in why if a rank
 * cannot be reached. ranks: NULL is fine. */
int agree(const struct options *options, const struct data *data, struct crumb_exchange_net *ranks, char *why,
          size_t cap);

/* Replaces *value by the least of all ranks. 0, or -1 with a line in why. ranks: NULL is fine. */
int agree_least(struct crumb_exchange_net *ranks, double *value, char *why, size_t cap);

/* Waits until all ranks have come here, likewise. */
int agree_meet(struct crumb_exchange_net *ranks, char *why, size_t cap);

/* Replaces *value by the greatest of all ranks, likewise. */
int agree_most(struct crumb_exchange_net *ranks, double *value, char *why, size_t cap);

#endif
