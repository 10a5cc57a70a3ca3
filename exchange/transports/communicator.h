/* The transport over MPI, for programs that have begun MPI. Private to exchange/transports/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMMUNICATOR_H
#define COMMUNICATOR_H

#include <crumb_exchange_mpi.h>

/* Opens the transport between the processes of comm, which is duplicated; all of them call it. The thread
 * that opens is the one that swaps, unless MPI was begun with MPI_THREAD_SERIALIZED or more. Returns 0; or
 * CRUMB_EINVAL, CRUMB_EPEER or CRUMB_EMEMORY and a line in why. */
int crumb_communicator_open(struct crumb_exchange_net **net, MPI_Comm comm, double timeout, char *why,
                            size_t cap);

#endif
