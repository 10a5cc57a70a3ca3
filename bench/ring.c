/* The baseline over MPI.
 *
 * SPDX-License-Identifier: MIT */
#include "bench/ring.h"

#include <mpi.h>
#include <stdlib.h>

static int ranks(void)
{
	int n;

	MPI_Comm_size(MPI_COMM_WORLD, &n);
	return n;
}

void ring_mean(float *x, size_t n)
{
	const float share = 1.0f / (float)ranks();

	MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	for (size_t i = 0; i < n; i++)
		x[i] *= share;
}

void ring_barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

double ring_most(double x)
{
	double most;

	MPI_Allreduce(&x, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return most;
}

double ring_transfer(size_t bytes)
{
	char *data = calloc(bytes, 1), answer = 0;
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	const double begin = MPI_Wtime();
	if (data && rank == 0) {
		MPI_Send(data, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(&answer, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (data && rank == 1) {
		MPI_Recv(data, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(&answer, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
	}
	free(data);
	return MPI_Wtime() - begin;
}
