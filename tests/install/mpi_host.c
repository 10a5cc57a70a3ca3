/* A program on MPI that has a life of its own: mpirun -n 4 mpi_host. Its signal handlers stay, an exchange
 * lives on a part of the ranks, two live at once, an error on one rank is all ranks', and MPI goes on after
 * the exchange.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <crumb_exchange_mpi.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 5000, STEPS = 20, SIGNALS = 3 };

static const int signals[SIGNALS] = {SIGTERM, SIGINT, SIGALRM};
static volatile sig_atomic_t taken;
static int rank;
static float grad[N], mean[N], sum[N];

#define require(holds)                                                                             \
	do {                                                                                       \
		if (!(holds)) {                                                                    \
			fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #holds); \
			MPI_Abort(MPI_COMM_WORLD, 1);                                              \
		}                                                                                  \
	} while (0)

static void take(int signal)
{
	(void)signal;
	taken = taken + 1;
}

static void fill(int step)
{
	for (int i = 0; i < N; i++)
		grad[i] = (float)sin(0.01 * i * (rank + 1) + step);
}

static int open_on(struct crumb_exchange **x, MPI_Comm comm, const char *policy, const char *plan, char *why)
{
	const struct crumb_exchange_slice slices[] = {{N - 1000, 0, "fc"}, {1000, 0, "bias"}};
	const struct crumb_exchange_options options = {
	        .policy = policy, .plan = plan, .down = policy, .threads = 2, .timeout = 60};

	return crumb_exchange_open_mpi(x, comm, slices, 2, &options, why, CRUMB_EXCHANGE_WHY_MAX);
}

/* The mean of raw gradients is that of MPI_Allreduce, to rounding. */
static void compare(struct crumb_exchange *x, MPI_Comm comm, int step)
{
	int ranks;

	fill(step);
	MPI_Comm_size(comm, &ranks);
	MPI_Allreduce(grad, sum, N, MPI_FLOAT, MPI_SUM, comm);
	require(crumb_exchange_mean(x, grad, mean) == 0);
	for (int i = 0; i < N; i++)
		require(fabs(mean[i] - sum[i] / (float)ranks) <= 1e-6);
}

static void two_at_once(void)
{
	struct crumb_exchange *all, *half;
	struct crumb_exchange_stats stats;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	MPI_Comm part;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
	require(open_on(&all, MPI_COMM_WORLD, NULL, "gather", why) == 0);
	require(open_on(&half, part, NULL, "shard", why) == 0);
	for (int step = 0; step < STEPS; step++) {
		compare(step % 3 ? all : half, step % 3 ? MPI_COMM_WORLD : part, step);
		kill(getpid(), signals[step % SIGNALS]);
	}
	require(taken == STEPS);
	crumb_exchange_stats(half, &stats);
	require(stats.steps == (STEPS + 2) / 3 && stats.sent_bytes > 0);
	crumb_exchange_close(all);
	crumb_exchange_close(half);
	MPI_Comm_free(&part);
}

static void errors(void)
{
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];

	require(open_on(&x, MPI_COMM_WORLD, rank == 1 ? "no-such-codec" : "sign", "gather", why) ==
	        CRUMB_ESPEC);
	require(!x && strlen(why) > 0);
	require(open_on(&x, MPI_COMM_WORLD, "sign", rank == 2 ? "gather" : "shard", why) == CRUMB_EFRAME);
	require(open_on(&x, MPI_COMM_NULL, "sign", "gather", why) == CRUMB_EINVAL);
	const struct crumb_exchange_slice slice = {N, 0, "fc"};
	const struct crumb_exchange_options overlap = {.overlap = 1};
	require(crumb_exchange_open_mpi(&x, MPI_COMM_WORLD, &slice, 1, &overlap, why, sizeof why) ==
	        CRUMB_EINVAL);
	require(strstr(why, "MPI_THREAD_SERIALIZED"));
	require(open_on(&x, MPI_COMM_WORLD, "twobit", "server", why) == 0);
	for (int step = 0; step < 3; step++) {
		fill(step);
		if (step == 1 && rank == 3)
			grad[7] = NAN;
		require(crumb_exchange_mean(x, grad, mean) == (step == 1 ? CRUMB_ENONFINITE : 0));
		require((strstr(crumb_exchange_why(x), "rank 3") != NULL) == (step == 1));
	}
	crumb_exchange_close(x);
}

/* An exchange that has failed ends, and leaves nothing that the next one would take for its own. */
static void another_after_a_failure(void)
{
	struct crumb_exchange *x, *again;
	char why[CRUMB_EXCHANGE_WHY_MAX];

	require(open_on(&x, MPI_COMM_WORLD, "sign", "gather", why) == 0);
	const size_t len = crumb_exchange_save(x, NULL, 0);
	void *saved = malloc(len);
	require(saved && crumb_exchange_save(x, saved, len) == len);
	fill(0);
	require(crumb_exchange_mean(x, grad, mean) == 0);
	require(rank != 1 ||
	        crumb_exchange_load(x, saved, len) == 0); /* back to another step than the others' */
	require(crumb_exchange_mean(x, grad, mean) == CRUMB_EFRAME);
	require(crumb_exchange_mean(x, grad, mean) == CRUMB_EFRAME);
	crumb_exchange_close(x);
	require(open_on(&again, MPI_COMM_WORLD, NULL, "gather", why) == 0);
	compare(again, MPI_COMM_WORLD, 1);
	crumb_exchange_close(again);
	free(saved);
}

static void save_and_load(void)
{
	struct crumb_exchange *x, *again;
	char why[CRUMB_EXCHANGE_WHY_MAX];

	require(open_on(&x, MPI_COMM_WORLD, "adacomp", "shard", why) == 0);
	require(open_on(&again, MPI_COMM_WORLD, "adacomp", "shard", why) == 0);
	fill(0);
	require(crumb_exchange_mean(x, grad, mean) == 0);
	const size_t len = crumb_exchange_save(x, NULL, 0);
	void *saved = malloc(len);
	require(saved && crumb_exchange_save(x, saved, len) == len);
	require(crumb_exchange_load(again, saved, len) == 0);
	fill(1);
	require(crumb_exchange_mean(x, grad, mean) == 0 && crumb_exchange_mean(again, grad, sum) == 0);
	require(memcmp(mean, sum, sizeof mean) == 0);
	free(saved);
	crumb_exchange_close(x);
	crumb_exchange_close(again);
}

/* A rank that comes too late hears whom the others have missed. */
static void one_that_comes_late(void)
{
	const struct crumb_exchange_slice slice = {N, 0, "fc"};
	const struct crumb_exchange_options options = {.timeout = 1.5};
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];

	require(crumb_exchange_open_mpi(&x, MPI_COMM_WORLD, &slice, 1, &options, why, sizeof why) == 0);
	fill(0);
	require(crumb_exchange_mean(x, grad, mean) == 0);
	if (rank == 2)
		sleep(4);
	require(crumb_exchange_mean(x, grad, mean) == CRUMB_EPEER);
	require(strstr(crumb_exchange_why(x), "nothing from rank 2 within 1.5 s"));
	crumb_exchange_close(x);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* A rank that begins to open and stays away costs the others the timeout, no more. It then does what they
 * have waited for, so that MPI can end. */
static void half_opened(void)
{
	const struct crumb_exchange_slice slice = {N, 0, "fc"};
	const struct crumb_exchange_options options = {.timeout = 1};
	static char name[5][MPI_MAX_PROCESSOR_NAME];
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	MPI_Comm copy;
	MPI_Request request;

	if (rank == 2) {
		require(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request) == MPI_SUCCESS);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	} else {
		require(crumb_exchange_open_mpi(&x, MPI_COMM_WORLD, &slice, 1, &options, why, sizeof why) ==
		        CRUMB_EPEER);
		require(!x && !strcmp(why, "not all ranks open the exchange within 1 s"));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 2) {
		MPI_Iallgather(name[4], MPI_MAX_PROCESSOR_NAME, MPI_CHAR, name, MPI_MAX_PROCESSOR_NAME,
		               MPI_CHAR, copy, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

int main(int argc, char **argv)
{
	struct sigaction mine = {.sa_handler = take}, kept;
	struct crumb_exchange *x;
	char why[CRUMB_EXCHANGE_WHY_MAX];
	int size, total;

	require(open_on(&x, MPI_COMM_WORLD, "sign", "gather", why) ==
	        CRUMB_EINVAL); /* MPI_Init comes first */
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	require(size == 4);
	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &mine, NULL);
	two_at_once();
	errors();
	another_after_a_failure();
	save_and_load();
	one_that_comes_late();
	half_opened();
	for (int i = 0; i < SIGNALS; i++) {
		sigaction(signals[i], NULL, &kept);
		require(kept.sa_handler == take);
	}
	MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	require(total == 6);
	if (rank == 0)
		printf("all right\n");
	MPI_Finalize();
	return 0;
}
