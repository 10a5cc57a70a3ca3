/* A process that is a rank of an MPI job and nothing else, as crumb-train's: it begins and ends MPI. MPI's
 * own waits, at its start and end, are under an alarm.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "exchange/seconds.h"
#include "exchange/transport.h"
#include "exchange/transports/communicator.h"
#include "exchange/why.h"

static void too_late(int signal)
{
	static const char line[] = "crumb: MPI does not begin or end within the timeout\n";

	(void)signal;
	(void)!write(STDERR_FILENO, line, sizeof line - 1);
	_exit(1);
}

/* Ends the process unless guard(0) is called within that time. */
static void guard(double seconds)
{
	const struct sigaction action = {.sa_handler = seconds > 0 ? too_late : SIG_DFL};

	sigaction(SIGALRM, &action, NULL);
	alarm(seconds > 0 ? (unsigned)seconds + 1 : 0);
}

int crumb_mpi_open(struct crumb_exchange_net **net, double timeout, char *why, size_t cap)
{
	int given, error;

	guard(timeout);
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS ||
	    given < MPI_THREAD_FUNNELED)
		error = refuse(why, cap, CRUMB_EPEER, "MPI cannot be started");
	else
		error = crumb_communicator_open(net, MPI_COMM_WORLD, timeout, why, cap);
	guard(0);
	return error;
}

/* Ends the job for the launcher, after all ranks that were not given up have come. */
static void end_without(struct crumb_exchange_net *net)
{
	bool *expected = calloc(net->ranks, sizeof *expected);
	unsigned from, left = net->rank == 0 ? net->ranks - 1 - net->losses : 1;
	crumb_span message;

	fflush(NULL);
	if (net->rank > 0)
		net->send(net, 0, (crumb_span){NULL, 0});
	for (unsigned r = 0; r < net->ranks && expected; r++)
		expected[r] =
		        net->rank == 0 ? r > 0 : r == 0; /* rank 0 sends nothing: others wait for its end */
	for (unsigned k = 0; k < net->losses && expected && net->rank == 0; k++)
		expected[net->lost[k]] = false;
	for (; left > 0 && expected && !net->receive(net, expected, INFINITY, &from, &message); left--)
		expected[from] = false;
	MPI_Abort(MPI_COMM_WORLD, left > 0);
	_exit(left > 0);
}

void crumb_mpi_close(struct crumb_exchange_net **net)
{
	if (!*net)
		return;
	guard((*net)->timeout);
	if ((*net)->losses > 0)
		end_without(*net);
	(*net)->close(*net);
	MPI_Finalize();
	guard(0);
	*net = NULL;
}

void crumb_mpi_abort(struct crumb_exchange_net *net, int status)
{
	while (net->given_up)
		pause();
	MPI_Abort(MPI_COMM_WORLD, status);
	_exit(status);
}
