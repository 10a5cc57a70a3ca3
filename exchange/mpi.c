/* Ranks as processes under MPI: the only file that includes mpi.h.
 *
 * A swap sends every rank its message in pieces of which only the last is shorter than PIECE, so that no
 * length has to travel before, and polls until all have come: nothing here waits without a deadline. MPI's
 * own waits, at its start and end, are under an alarm.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "exchange.h"
#include "transport.h"

enum { PIECE = 1 << 26, TAG_SWAP = 1, TAG_LEAVE = 2 };

/* What comes from one rank. */
struct inbox {
	uint8_t *data;
	size_t size, len; /* room; bytes that have come */
	MPI_Request piece;
	int piece_len;
	bool done;
};

struct mpi {
	struct transport net; /* first: a rank's transport is its mpi */
	MPI_Comm comm;
	struct inbox *inbox;   /* [rank] */
	MPI_Request *outgoing; /* pieces on their way */
	size_t room, count;    /* of outgoing */
	int dead;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Keeps the first reason. */
static int die(struct mpi *mpi, int error, const char *what)
{
	if (!mpi->dead) {
		mpi->dead = error;
		snprintf(mpi->net.why, sizeof mpi->net.why, "%s", what);
	}
	return mpi->dead;
}

static int check(struct mpi *mpi, int code)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int len;

	if (code == MPI_SUCCESS)
		return 0;
	MPI_Error_string(code, text, &len);
	return die(mpi, CRUMB_EPEER, text);
}

/* ---- out ------------------------------------------------------------------------------------ */

static bool reserve_outgoing(struct mpi *mpi, const crumb_span *out)
{
	size_t pieces = 0;

	for (unsigned r = 0; r < mpi->net.ranks; r++)
		pieces += out[r].len / PIECE + 1;
	if (pieces <= mpi->room)
		return true;
	MPI_Request *outgoing = realloc(mpi->outgoing, pieces * sizeof *outgoing);
	if (!outgoing)
		return false;
	mpi->outgoing = outgoing;
	mpi->room = pieces;
	return true;
}

static int send_all(struct mpi *mpi, const crumb_span *out)
{
	int error = reserve_outgoing(mpi, out) ? 0 : die(mpi, CRUMB_EMEMORY, "out of memory");

	mpi->count = 0;
	for (unsigned k = 1; k < mpi->net.ranks && !error; k++) {
		const unsigned to = (mpi->net.rank + k) % mpi->net.ranks; /* not all to rank 0 first */
		size_t left = out[to].len;
		const uint8_t *data = out[to].data;
		for (int len = PIECE; len == PIECE && !error; data += len, left -= (size_t)len) {
			len = left < PIECE ? (int)left : PIECE;
			error = check(mpi, MPI_Isend(data, len, MPI_BYTE, (int)to, TAG_SWAP, mpi->comm,
			                             &mpi->outgoing[mpi->count]));
			mpi->count += !error;
		}
	}
	return error;
}

/* ---- in ------------------------------------------------------------------------------------- */

static bool reserve_inbox(struct inbox *inbox, size_t size)
{
	if (size <= inbox->size)
		return true;
	uint8_t *data = realloc(inbox->data, size);
	if (!data)
		return false;
	inbox->data = data;
	inbox->size = size;
	return true;
}

/* Looks for the next piece from a rank and begins to receive it. */
static int begin_piece(struct mpi *mpi, unsigned from)
{
	struct inbox *inbox = &mpi->inbox[from];
	MPI_Message message;
	MPI_Status status;
	int there = 0;
	char text[64];

	int error = check(mpi, MPI_Improbe((int)from, MPI_ANY_TAG, mpi->comm, &there, &message, &status));
	if (error || !there)
		return error;
	if (status.MPI_TAG == TAG_LEAVE) {
		snprintf(text, sizeof text, "rank %u has left", from);
		return die(mpi, CRUMB_EPEER, text);
	}
	error = check(mpi, MPI_Get_count(&status, MPI_BYTE, &inbox->piece_len));
	if (!error && !reserve_inbox(inbox, inbox->len + (size_t)inbox->piece_len))
		error = die(mpi, CRUMB_EMEMORY, "out of memory");
	if (error)
		return error;
	return check(mpi, MPI_Imrecv(inbox->data ? inbox->data + inbox->len : NULL, inbox->piece_len,
	                             MPI_BYTE, &message, &inbox->piece));
}

/* Receives what has come of a rank's message. */
static int advance(struct mpi *mpi, unsigned from)
{
	struct inbox *inbox = &mpi->inbox[from];
	int error = 0, there = 1;

	while (!inbox->done && there && !error) {
		if (inbox->piece == MPI_REQUEST_NULL)
			error = begin_piece(mpi, from);
		if (error || inbox->piece == MPI_REQUEST_NULL)
			break;
		error = check(mpi, MPI_Test(&inbox->piece, &there, MPI_STATUS_IGNORE));
		if (!error && there) {
			inbox->len += (size_t)inbox->piece_len;
			inbox->done = inbox->piece_len < PIECE;
		}
	}
	return error;
}

/* ---- the swap ------------------------------------------------------------------------------- */

/* Waits a little: at first only for others on this processor, then asleep, so that ranks that compute get on.
 */
static void rest(unsigned polls)
{
	const struct timespec nap = {0, 20000};

	if (polls < 200)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

/* Names the ranks whose messages have not come: that one hangs may be why another one does. */
static int time_out(struct mpi *mpi)
{
	struct transport *net = &mpi->net;
	char silent[100] = "";
	unsigned count = 0;

	for (unsigned r = 0; r < net->ranks; r++)
		if (!mpi->inbox[r].done) {
			const size_t at = strlen(silent);
			if (at + 16 < sizeof silent)
				snprintf(silent + at, sizeof silent - at, "%s%u", count ? ", " : "", r);
			count++;
		}
	mpi->dead = CRUMB_EPEER;
	if (count)
		snprintf(net->why, sizeof net->why, "nothing from rank%s %s within %g s",
		         count > 1 ? "s" : "", silent, net->timeout);
	else
		snprintf(net->why, sizeof net->why, "a rank has not taken its message within %g s",
		         net->timeout);
	return mpi->dead;
}

static int mpi_swap(struct transport *net, const crumb_span *out, crumb_span *in)
{
	struct mpi *mpi = (struct mpi *)net;
	const double deadline = now() + net->timeout;
	int error = mpi->dead ? mpi->dead : send_all(mpi, out), taken = 0;

	for (unsigned r = 0; r < net->ranks; r++) {
		mpi->inbox[r].len = 0;
		mpi->inbox[r].done = r == net->rank;
	}
	for (unsigned polls = 0; !error; polls++) {
		bool come = true;
		for (unsigned r = 0; r < net->ranks && !error; r++) {
			error = advance(mpi, r);
			come = come && mpi->inbox[r].done;
		}
		if (!error && !taken)
			error = check(mpi, MPI_Testall((int)mpi->count, mpi->outgoing, &taken,
			                               MPI_STATUSES_IGNORE));
		if (error || (come && taken))
			break;
		if (net->timeout > 0 && now() > deadline)
			return time_out(mpi);
		rest(polls);
	}
	for (unsigned r = 0; r < net->ranks && !error; r++)
		in[r] = r == net->rank ? out[r] : (crumb_span){mpi->inbox[r].data, mpi->inbox[r].len};
	return error;
}

/* Farewells are short enough to be under way when this returns. */
static void mpi_leave(struct transport *net)
{
	struct mpi *mpi = (struct mpi *)net;

	for (unsigned r = 0; r < net->ranks && !mpi->dead; r++) {
		MPI_Request request;
		if (r != net->rank &&
		    MPI_Isend(NULL, 0, MPI_BYTE, (int)r, TAG_LEAVE, mpi->comm, &request) == MPI_SUCCESS)
			MPI_Request_free(&request);
	}
	die(mpi, CRUMB_EPEER, "this rank has left");
}

/* ---- begin and end -------------------------------------------------------------------------- */

static void too_late(int signal)
{
	static const char line[] = "crumb: MPI does not begin or end within the timeout\n";

	(void)signal;
	(void)!write(STDERR_FILENO, line, sizeof line - 1);
	_exit(1);
}

/* Ends the process unless it is called again, with 0, within so many seconds. */
static void guard(double seconds)
{
	const struct sigaction action = {.sa_handler = seconds > 0 ? too_late : SIG_DFL};

	sigaction(SIGALRM, &action, NULL);
	alarm(seconds > 0 ? (unsigned)seconds + 1 : 0);
}

static unsigned local_ranks(MPI_Comm comm)
{
	MPI_Comm local;
	int ranks = 1;

	if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local) == MPI_SUCCESS) {
		MPI_Comm_size(local, &ranks);
		MPI_Comm_free(&local);
	}
	return (unsigned)ranks;
}

int crumb_mpi_open(struct transport **net, double timeout, char *why, size_t cap)
{
	struct mpi *mpi = calloc(1, sizeof *mpi);
	int given, rank, ranks;

	guard(timeout);
	if (!mpi || MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS ||
	    given < MPI_THREAD_FUNNELED || MPI_Comm_dup(MPI_COMM_WORLD, &mpi->comm) != MPI_SUCCESS) {
		guard(0);
		free(mpi);
		snprintf(why, cap, "MPI cannot be started");
		return CRUMB_EPEER;
	}
	MPI_Comm_set_errhandler(mpi->comm, MPI_ERRORS_RETURN);
	MPI_Comm_rank(mpi->comm, &rank);
	MPI_Comm_size(mpi->comm, &ranks);
	mpi->net = (struct transport){.rank = (unsigned)rank,
	                              .ranks = (unsigned)ranks,
	                              .local = local_ranks(mpi->comm),
	                              .timeout = timeout,
	                              .swap = mpi_swap,
	                              .leave = mpi_leave};
	guard(0);
	mpi->inbox = calloc((size_t)ranks, sizeof *mpi->inbox);
	if (!mpi->inbox) {
		free(mpi);
		snprintf(why, cap, "out of memory");
		return CRUMB_EMEMORY;
	}
	for (int r = 0; r < ranks; r++)
		mpi->inbox[r].piece = MPI_REQUEST_NULL;
	*net = &mpi->net;
	return 0;
}

void crumb_mpi_close(struct transport **net)
{
	struct mpi *mpi = (struct mpi *)*net;

	if (!mpi)
		return;
	guard(mpi->net.timeout);
	MPI_Comm_free(&mpi->comm);
	MPI_Finalize();
	guard(0);
	for (unsigned r = 0; r < mpi->net.ranks; r++)
		free(mpi->inbox[r].data);
	free(mpi->inbox);
	free(mpi->outgoing);
	free(mpi);
	*net = NULL;
}

void crumb_mpi_abort(struct transport *net, int status)
{
	(void)net;
	MPI_Abort(MPI_COMM_WORLD, status);
	_exit(status);
}
