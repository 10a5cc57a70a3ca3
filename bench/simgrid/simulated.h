/* Ranks that SimGrid simulates, in one process: SMPI has neither the MPI_Improbe nor the threads that
 * exchange/transports/mpi.c asks for.
 *
 * Messages have their true lengths on the simulated network, but what arrives is read where the sender has
 * it: 512 ranks would not find room for copies. Beyond 64 ranks a rank sends its messages in groups, each of
 * which waits for the one before, or the simulation would take hours.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SIMULATED_H
#define SIMULATED_H

#include "exchange/transport.h"

/* Starts MPI and opens this rank's transport, for as long as the process lives. */
struct transport *simulated_open(void);

/* How many groups that are. */
unsigned simulated_groups(unsigned ranks);

/* The simulated time at the end of the last swap that was not empty: empty ones stand for shared memory. */
double simulated_end(const struct transport *net);

#endif
