/* A program that averages gradients over MPI, before and after: with -DCRUMB its MPI_Allreduce gives way to
 * crumb's frames.
 *
 *   mpicc -O2 examples/c_mpi.c -o plain -lm && mpirun -n 4 ./plain
 *   mpicc -O2 -DCRUMB examples/c_mpi.c -o less $(pkg-config --cflags --libs crumb) -lm && mpirun -n 4 ./less
 *
 * A codec may follow: ./less adacomp:bin=500. Every rank has samples of its own of y = x . truth; all look
 * for truth.
 *
 * SPDX-License-Identifier: MIT */
#include <limits.h>
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

#ifdef CRUMB
/* Returns the answer of a function of crumb's; ends the job if it is an error. */
static int64_t good(int64_t answer)
{
	if (answer < 0) {
		fprintf(stderr, "crumb: %s\n", crumb_strerror((int)answer));
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return answer;
}
#endif

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
	good(crumb_parse(&codec, argc > 1 ? argv[1] : "adacomp:bin=50", NULL));
	crumb_packer *packer = malloc(crumb_packer_size(&codec, N));
	good(crumb_packer_init(packer, &codec, N, 0, (uint64_t)rank));
	const size_t cap = crumb_bound(&codec, N);
	unsigned char *frame = malloc(cap), *all = malloc(cap * (size_t)ranks);
	int *length = malloc((size_t)ranks * sizeof *length), *start = malloc((size_t)ranks * sizeof *start);
	if (cap > (size_t)(INT_MAX / ranks)) /* MPI counts in int; a longer gradient has several packers */
		good(CRUMB_ESPACE);
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
		/* No rank packs if one cannot: its residual would lose what nobody adds. */
		int usable = crumb_finite(grad, N, CRUMB_F32);
		MPI_Allreduce(MPI_IN_PLACE, &usable, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
		if (usable < 0) {
			if (rank == 0)
				fprintf(stderr, "step %d is left out: %s\n", step, crumb_strerror(usable));
			continue;
		}
		const int own =
		        (int)good(crumb_pack(packer, grad, N, CRUMB_F32, CRUMB_KNOWN_FINITE, frame, cap));
		MPI_Allgather(&own, 1, MPI_INT, length, 1, MPI_INT, MPI_COMM_WORLD);
		for (int r = 0, at = 0; r < ranks; at += length[r++])
			start[r] = at;
		MPI_Allgatherv(frame, own, MPI_BYTE, all, length, start, MPI_BYTE, MPI_COMM_WORLD);
		for (int i = 0; i < N; i++)
			mean[i] = 0;
		for (int r = 0; r < ranks; r++)
			good(crumb_unpack_add(all + start[r], (size_t)length[r], 1.0f / (float)ranks, mean,
			                      N));
		sent += own;
#else
		MPI_Allreduce(grad, mean, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < N; i++)
			mean[i] /= (float)ranks;
		sent += sizeof grad;
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
		printf("relative error %.3f, one rank gave %.0f bytes a step\n", sqrt(far / size),
		       sent / STEPS);
	MPI_Finalize();
}
