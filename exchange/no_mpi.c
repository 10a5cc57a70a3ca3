/* What stands in for mpi.c where crumb was built without MPI.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include "exchange/exchange.h"
#include "exchange/transport.h"

int crumb_mpi_open(struct transport **net, double timeout, char *why, size_t cap)
{
	(void)net;
	(void)timeout;
	snprintf(why, cap, "mpirun has started this, but crumb was built without MPI");
	return CRUMB_EPEER;
}

void crumb_mpi_close(struct transport **net) { (void)net; }

void crumb_mpi_abort(struct transport *net, int status)
{
	(void)net;
	exit(status);
}
