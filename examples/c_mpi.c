/* A program that averages gradients over MPI, before and after: with -DCRUMB its MPI_Allreduce gives way to
 * crumb_exchange_mean, in the lines between #ifdef CRUMB and #else or #endif.
 *
 *   mpicc c_mpi.c -o plain -lm && mpirun -n 4 ./plain
 *   mpicc -DCRUMB c_mpi.c -o less $(pkg-config --cflags --libs crumb-exchange-mpi) -lm && mpirun -n 4 ./less
 *
 * A policy and a plan may follow: ./less adacomp:bin=500 shard. Every rank has samples of its own of
 * y = x . truth; all look for truth.
 *
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef CRUMB
#include <crumb_exchange_mpi.h>
#endif

enum { N = 1000, BATCH = 16, STEPS = 400 };

static float gauss(void)
{
	const double a = (rand() + 1.0) / (RAND_MAX + 1.0), b = (rand() + 1.0) / (RAND_MAX + 1.0);
	return (float)(sqrt(-2 * log(a)) * cos(6.283185307179586 * b));
}

int main(int argc, char **argv)
{
	static float truth[N], found[N], grad[N], mean[N], x[N];
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < N; i++)
		truth[i] = gauss();
	srand((unsigned)rank + 1);
#ifdef CRUMB
	struct crumb_exchange *exchange;
	const struct crumb_exchange_slice weights = {.n = N, .kind = "fc"};
	const struct crumb_exchange_options options = {.policy = argc > 1 ? argv[1] : "adacomp:bin=50",
	                                               .plan = argc > 2 ? argv[2] : "gather",
	                                               .timeout = 60};
	char why[CRUMB_EXCHANGE_WHY_MAX];
	if (crumb_exchange_open_mpi(&exchange, MPI_COMM_WORLD, &weights, 1, &options, why, sizeof why)) {
		fprintf(stderr, "%s\n", why);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
#endif
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < N; i++)
			grad[i] = 0;
		for (int b = 0; b < BATCH; b++) {
			double error = 0;
			for (int i = 0; i < N; i++) {
				x[i] = gauss();
				error += x[i] * (found[i] - truth[i]);
			}
			for (int i = 0; i < N; i++)
				grad[i] += (float)(error * x[i] / BATCH);
		}
#ifdef CRUMB
		const int error = crumb_exchange_mean(exchange, grad, mean);
		if (error) /* no rank applies a step in which a gradient was NaN; all else is final */
			fprintf(stderr, "%s\n", crumb_exchange_why(exchange));
		if (error == CRUMB_ENONFINITE)
			continue;
		if (error)
			MPI_Abort(MPI_COMM_WORLD, 1);
#else
		MPI_Allreduce(grad, mean, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < N; i++)
			mean[i] /= (float)ranks;
#endif
		for (int i = 0; i < N; i++)
			found[i] -= 0.02f * mean[i];
	}
	double far = 0, size = 0;
	for (int i = 0; i < N; i++) {
		far += (found[i] - truth[i]) * (found[i] - truth[i]);
		size += truth[i] * truth[i];
	}
	if (rank == 0)
		printf("relative error %.3f\n", sqrt(far / size));
#ifdef CRUMB
	crumb_exchange_close(exchange);
#endif
	MPI_Finalize();
}
