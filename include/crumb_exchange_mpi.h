/* crumb's exchange between the processes of an MPI communicator; for programs that link
 * libcrumb_exchange_mpi.
 *
 * The program has called MPI_Init and calls MPI_Finalize after it has closed its exchanges. The thread that
 * opens an exchange makes all its calls and may call MPI (MPI_THREAD_FUNNELED is enough, also for several
 * threads a rank, which do not call MPI; crumb_exchange_ready wants more, and two exchanges at once want
 * MPI_THREAD_MULTIPLE).
 *
 * SPDX-License-Identifier: MIT */
#ifndef CRUMB_EXCHANGE_MPI_H
#define CRUMB_EXCHANGE_MPI_H

#include <crumb_exchange.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens an exchange as crumb_exchange_open does, for the ranks of comm, an intracommunicator. comm is
 * duplicated (MPI_Comm_dup): messages never meet the program's own, and errors of MPI in them come back as
 * CRUMB_EPEER. Every rank of comm calls it, whatever has failed; one that has no memory for the transport is
 * waited for as one that does not come. */
CRUMB_API int crumb_exchange_open_mpi(struct crumb_exchange **exchange, MPI_Comm comm,
                                      const struct crumb_exchange_slice *slices, size_t count,
                                      const struct crumb_exchange_options *options, char *why, size_t cap);

#ifdef __cplusplus
}
#endif

#endif
