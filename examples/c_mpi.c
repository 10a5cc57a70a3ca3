/* A program that averages gradients over MPI, before and after: with -DCRUMB its MPI_Allreduce gives way to
 * crumb's frames.
 *
 *   mpicc -O2 examples/c_mpi.c -o plain && mpirun -n 4 ./plain
 *   mpicc -O2 -DCRUMB examples/c_mpi.c -o less $(pkg-config --cflags --libs crumb) && mpirun -n 4 ./less
 *
 * Every rank has samples of its own of y = x . truth; all look for truth. SPDX-License-Identifier: MIT */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef CRUMB
#include <crumb.h>
#endif

enum { N = 1000, BATCH = 64, STEPS = 400 };

static float gauss(void)
{
	const double a = (rand() + 1.0) / (RAND_MAX + 1.0), b = (rand() + 1.0) / (RAND_MAX + 1.0);
	return (float)(sqrt(-2 * log(a)) * cos(6.283185307179586 * b));
}

int main(int argc, char **argv)
{
	static float truth[N], found[N], grad[N], mean[N], x[N];
	double sent = 0;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < N; i++)
		truth[i] = gauss();
	srand((unsigned)rank + 1);
#ifdef CRUMB
	crumb_codec codec;
	crumb_parse(&codec, "sign", NULL);
	const int cap = (int)crumb_bound(&codec, N);
	crumb_packer *packer = malloc(crumb_packer_size(&codec, N));
	crumb_packer_init(packer, &codec, N, 0, (uint64_t)rank);
	unsigned char *frame = malloc((size_t)cap), *all = malloc((size_t)cap * (size_t)ranks);
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
		const int64_t len = crumb_pack(packer, grad, N, CRUMB_F32, 0, frame, (size_t)cap);
		if (len < 0)
			MPI_Abort(MPI_COMM_WORLD, 1);
		MPI_Allgather(frame, cap, MPI_BYTE, all, cap, MPI_BYTE, MPI_COMM_WORLD);
		for (int i = 0; i < N; i++)
			mean[i] = 0;
		for (int r = 0; r < ranks; r++)
			crumb_unpack_add(all + (size_t)r * cap, cap, 1.0f / ranks, mean, N);
		sent += (double)len;
#else
		MPI_Allreduce(grad, mean, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < N; i++)
			mean[i] /= (float)ranks;
		sent += sizeof grad;
#endif
		for (int i = 0; i < N; i++)
			found[i] -= 0.02f * mean[i];
	}
	double far = 0, length = 0;
	for (int i = 0; i < N; i++) {
		far += (found[i] - truth[i]) * (found[i] - truth[i]);
		length += truth[i] * truth[i];
	}
	if (rank == 0)
		printf("relative error %.3f, one rank gave %.1f kB a step\n", sqrt(far / length),
		       sent / STEPS / 1e3);
	MPI_Finalize();
}
