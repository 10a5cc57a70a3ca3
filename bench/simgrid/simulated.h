/* Ranks that SimGrid simulates, in one process.
 *
 * Messages have their true lengths on the simulated network, but the receiver reads the sender's memory:
 * copies for 512 ranks would not fit. Beyond 64 ranks a rank sends its messages in groups, each of which
 * waits for the one before, or the simulation would take hours.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SIMULATED_H
#define SIMULATED_H

#include "exchange/transport.h"

/* Starts MPI and opens this rank's transport, for the life of the process. together: consecutive ranks of a
 * node. swaps: of a step; the next one ends it, and is empty on all ranks. */
struct crumb_exchange_net *simulated_open(unsigned together, unsigned swaps);

/* Returns the number of groups. */
unsigned simulated_groups(unsigned ranks);

/* Returns the simulated time at the end of the last swap that was not empty; empty ones represent shared
 * memory. */
double simulated_end(const struct crumb_exchange_net *net);

#endif
