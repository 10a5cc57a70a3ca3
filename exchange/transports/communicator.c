/* Opening the transport over MPI.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/transports/communicator.h"
#include <stdlib.h>
#include <string.h>
#include "exchange/seconds.h"
#include "exchange/transports/mpi_state.h"
#include "exchange/why.h"

/* Tests a request until it is done. Returns CRUMB_EPEER after the deadline; timeout 0: there is none. */
static int await(MPI_Request *request, double timeout)
{
	const double deadline = crumb_seconds() + timeout;
	int done = 0;

	for (unsigned polls = 0; !done; polls++) {
		if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return CRUMB_EPEER;
		if (!done && timeout > 0 && crumb_seconds() > deadline)
			return CRUMB_EPEER;
		if (!done)
			crumb_mpi_rest(polls, false);
	}
	return 0;
}

/* Finds the ranks of each machine, by its name: how many are on this one, and each rank's leader.
 * (MPI_Comm_split_type would wait without a deadline.) Returns false if not all ranks answer in time; MPI may
 * then still write to name, [ranks + 1]. */
static bool find_machines(struct mpi *mpi, char (*name)[MPI_MAX_PROCESSOR_NAME], double timeout)
{
	const unsigned ranks = mpi->net.ranks;
	MPI_Request request;
	int length;

	if (MPI_Get_processor_name(name[ranks], &length) != MPI_SUCCESS ||
	    MPI_Iallgather(name[ranks], MPI_MAX_PROCESSOR_NAME, MPI_CHAR, name, MPI_MAX_PROCESSOR_NAME,
	                   MPI_CHAR, mpi->comm, &request) != MPI_SUCCESS ||
	    await(&request, timeout))
		return false;
	mpi->net.local = 0;
	for (unsigned r = 0; r < ranks; r++) {
		while (strcmp(name[mpi->leader[r]], name[r]) != 0)
			mpi->leader[r]++;
		mpi->net.local += strcmp(name[mpi->net.rank], name[r]) == 0;
	}
	mpi->net.leader = mpi->leader;
	return true;
}

/* Returns 0, or an error and a line in why, if there can be no exchange between the processes of comm. */
static int check_communicator(MPI_Comm comm, char *why, size_t cap)
{
	int begun = 0, ended = 0, inter = 0;

	MPI_Initialized(&begun);
	MPI_Finalized(&ended);
	if (!begun || ended)
		return refuse(why, cap, CRUMB_EINVAL, "MPI_Init has not been called, or MPI_Finalize has");
	if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
		return refuse(why, cap, CRUMB_EINVAL, "an exchange needs an intracommunicator");
	return 0;
}

int crumb_communicator_open(struct crumb_exchange_net **net, MPI_Comm comm, double timeout, char *why,
                            size_t cap)
{
	const int error = check_communicator(comm, why, cap);
	MPI_Request request;
	int rank, ranks, level;

	if (error)
		return error;
	MPI_Query_thread(&level);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &ranks);
	struct mpi *mpi = calloc(1, sizeof *mpi);
	struct peer *peer = calloc((size_t)ranks, sizeof *peer);
	unsigned *leader = calloc((size_t)ranks, sizeof *leader), *lost = calloc((size_t)ranks, sizeof *lost);
	char(*name)[MPI_MAX_PROCESSOR_NAME] = calloc((size_t)ranks + 1, sizeof *name);
	if (!mpi || !peer || !leader || !lost || !name) {
		free(mpi);
		free(peer);
		free(leader);
		free(lost);
		free(name);
		return refuse(why, cap, CRUMB_EMEMORY, "out of memory");
	}
	if (MPI_Comm_idup(comm, &mpi->comm, &request) != MPI_SUCCESS || await(&request, timeout)) {
		free(peer);
		free(leader); /* mpi stays: MPI may still write to it */
		free(lost);
		free(name);
		return refuse(why, cap, CRUMB_EPEER, "not all ranks open the exchange within %g s", timeout);
	}
	MPI_Comm_set_errhandler(mpi->comm, MPI_ERRORS_RETURN);
	for (int r = 0; r < ranks; r++)
		peer[r].piece = peer[r].farewell = MPI_REQUEST_NULL;
	peer[rank].done = true; /* a rank's message to itself needs no MPI */
	mpi->peer = peer;
	mpi->leader = leader;
	mpi->swapped = crumb_seconds();
	mpi->net = crumb_mpi_net;
	mpi->net.rank = (unsigned)rank;
	mpi->net.ranks = (unsigned)ranks;
	mpi->net.timeout = timeout;
	mpi->net.any_thread = level >= MPI_THREAD_SERIALIZED;
	mpi->net.lost = lost;
	if (!find_machines(mpi, name, timeout)) {
		free(peer);
		free(leader); /* name stays, and mpi's communicator */
		free(lost);
		return refuse(why, cap, CRUMB_EPEER, "not all ranks open the exchange within %g s", timeout);
	}
	free(name);
	*net = &mpi->net;
	return 0;
}

int crumb_exchange_open_mpi(struct crumb_exchange **exchange, MPI_Comm comm,
                            const struct crumb_exchange_slice *slices, size_t count,
                            const struct crumb_exchange_options *options, char *why, size_t cap)
{
	struct crumb_exchange_net *net;
	const int error = crumb_communicator_open(&net, comm, options ? options->timeout : 0, why, cap);

	*exchange = NULL;
	return error ? error : crumb_exchange_open(exchange, net, slices, count, options, why, cap);
}
