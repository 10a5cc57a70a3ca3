/* Stands in for mpi.c if crumb is built without MPI.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include "exchange/exchange.h"
#include "exchange/transport.h"
#include "exchange/why.h"

int crumb_mpi_open(struct crumb_exchange_net **net, double timeout, char *why, size_t cap)
{
	(void)net, (void)timeout;
	return refuse(why, cap, CRUMB_EPEER, "mpirun has started this, but crumb was built without MPI");
}

void crumb_mpi_close(struct crumb_exchange_net **net) { (void)net; }

void crumb_mpi_abort(struct crumb_exchange_net *net, int status)
{
	(void)net;
	exit(status);
}
