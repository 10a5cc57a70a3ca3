/* Ranks as processes of a communicator.
 *
 * A message begins with an opening: its length and its first bytes, for which the receiver always has room; a
 * short message is no more than that. The rest follows in pieces, received in place since the length is known
 * by then, and small enough for a slow network to take one to each rank within a timeout. (MPI_Mprobe would
 * do without openings, but Open MPI 4.1 takes half as long again for long messages that a probe has matched.)
 * A swap polls until all messages have arrived, or the timeout is over. A message between two ranks
 * has the same form.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "exchange/seconds.h"
#include "exchange/transports/mpi_state.h"

enum { PIECE = 1 << 23, TAG_SWAP = 1, TAG_LEAVE = 2 };
enum { LAST_LOOKS = 100 }; /* calls after which MPI has seen what came while this rank was held up */

/* Returns the first error, and keeps its reason. */
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

/* Returns the most parts of a message, its opening included. */
static size_t most_parts(crumb_span message) { return 2 + message.len / PIECE; }

/* Makes room for sends when none is on its way. */
static int reserve_sends(struct mpi *mpi, struct sends *sends, size_t room)
{
	sends->count = 0;
	if (room <= sends->room)
		return 0;
	MPI_Request *request = realloc(sends->request, room * sizeof *request);
	if (!request)
		return die(mpi, CRUMB_EMEMORY, "out of memory");
	sends->request = request;
	sends->room = room;
	return 0;
}

static int send_piece(struct mpi *mpi, struct sends *sends, unsigned to, const void *data, size_t len)
{
	return check(mpi, MPI_Isend(data, (int)len, MPI_BYTE, (int)to, TAG_SWAP, mpi->comm,
	                            &sends->request[sends->count++]));
}

static int send_message(struct mpi *mpi, struct sends *sends, unsigned to, struct opening *opening,
                        crumb_span message)
{
	size_t at = message.len < FIRST ? message.len : FIRST;

	opening->len = message.len;
	if (at)
		memcpy(opening->first, message.data, at);
	int error = send_piece(mpi, sends, to, opening, sizeof opening->len + at);
	for (size_t len; at < message.len && !error; at += len) {
		len = message.len - at < PIECE ? message.len - at : PIECE;
		error = send_piece(mpi, sends, to, (const uint8_t *)message.data + at, len);
	}
	return error;
}

static int send_all(struct mpi *mpi, const crumb_span *out)
{
	size_t parts = 0;

	for (unsigned r = 0; r < mpi->net.ranks; r++)
		parts += most_parts(out[r]);
	int error = reserve_sends(mpi, &mpi->all, parts);
	for (unsigned k = 1; k < mpi->net.ranks && !error; k++) {
		const unsigned to = (mpi->net.rank + k) % mpi->net.ranks; /* not all to rank 0 first */
		struct peer *peer = &mpi->peer[to];
		peer->first = mpi->all.count;
		peer->gone = 0;
		error = send_message(mpi, &mpi->all, to, &peer->out, out[to]);
		peer->pieces = mpi->all.count - peer->first;
	}
	return error;
}

/* ---- in ------------------------------------------------------------------------------------- */

static bool reserve_data(struct peer *peer, size_t size)
{
	if (size <= peer->size)
		return true;
	uint8_t *data = realloc(peer->data, size);
	if (!data)
		return false;
	peer->data = data;
	peer->size = size;
	return true;
}

static int receive_opening(struct mpi *mpi, unsigned from)
{
	struct peer *peer = &mpi->peer[from];

	peer->len = peer->piece_len = 0;
	peer->done = false;
	return check(mpi, MPI_Irecv(&peer->in, sizeof peer->in, MPI_BYTE, (int)from, MPI_ANY_TAG, mpi->comm,
	                            &peer->piece));
}

/* Says that a rank has left, and what its farewell says, if it has come. */
static int say_left(struct mpi *mpi, unsigned from)
{
	const struct peer *peer = &mpi->peer[from];
	const size_t len = peer->left ? peer->len : 0;

	snprintf(mpi->net.why, sizeof mpi->net.why, "rank %u has left%s%.*s", from, len ? ": " : "", (int)len,
	         (const char *)peer->in.first);
	return CRUMB_EPEER;
}

/* Takes an opening that has arrived. Returns 0; CRUMB_EPEER, which the caller makes final or not, if it is a
 * farewell; or an error. */
static int take_opening(struct mpi *mpi, unsigned from, const MPI_Status *status)
{
	struct peer *peer = &mpi->peer[from];
	int bytes = 0;
	const int error = check(mpi, MPI_Get_count(status, MPI_BYTE, &bytes));

	if (error)
		return error;
	peer->len = (size_t)bytes - sizeof peer->in.len;
	if (bytes < (int)sizeof peer->in.len || peer->len > peer->in.len || peer->in.len > PTRDIFF_MAX)
		return die(mpi, CRUMB_EFRAME, "a message without a length");
	peer->left = status->MPI_TAG == TAG_LEAVE;
	if (peer->left)
		return say_left(mpi, from);
	if (!reserve_data(peer, peer->in.len))
		return die(mpi, CRUMB_EMEMORY, "out of memory");
	if (peer->len)
		memcpy(peer->data, peer->in.first, peer->len);
	return 0;
}

/* Starts to receive the next piece of a rank's message, if there is one. */
static int receive_piece(struct mpi *mpi, unsigned from)
{
	struct peer *peer = &mpi->peer[from];
	const size_t left = peer->in.len - peer->len;

	peer->piece_len = left < PIECE ? left : PIECE;
	peer->done = !left;
	return left ? check(mpi, MPI_Irecv(peer->data + peer->len, (int)peer->piece_len, MPI_BYTE, (int)from,
	                                   TAG_SWAP, mpi->comm, &peer->piece))
	            : 0;
}

/* Receives what has arrived of a rank's message. */
static int advance(struct mpi *mpi, unsigned from)
{
	struct peer *peer = &mpi->peer[from];
	MPI_Status status;
	int error = 0, come = 1;

	while (!peer->done && !error) {
		error = check(mpi, MPI_Test(&peer->piece, &come, &status));
		if (error || !come)
			break;
		if (peer->piece_len)
			peer->len += peer->piece_len;
		else
			error = take_opening(mpi, from, &status);
		if (!error)
			error = receive_piece(mpi, from);
	}
	return error;
}

/* Returns how long to wait, in seconds, for the last messages after a failure. */
static double last_wait(const struct mpi *mpi)
{
	return mpi->net.timeout > 0 ? fmin(1, 0.25 * mpi->net.timeout) : 1;
}

/* Takes and drops what has arrived from a rank that has not left. */
static void drop(struct mpi *mpi, unsigned from)
{
	if (mpi->peer[from].piece == MPI_REQUEST_NULL)
		receive_opening(mpi, from);
	advance(mpi, from);
}

/* Counts the parts of the message to a rank that MPI no longer reads. */
static int count_gone(struct mpi *mpi, unsigned to)
{
	struct peer *peer = &mpi->peer[to];
	int gone = 1, error = 0;

	while (peer->gone < peer->pieces && gone && !error) {
		MPI_Request *request = &mpi->all.request[peer->first + peer->gone];
		error = check(mpi, MPI_Test(request, &gone, MPI_STATUS_IGNORE));
		peer->gone += gone && !error;
	}
	return error;
}

/* ---- the swap ------------------------------------------------------------------------------- */

void crumb_mpi_rest(unsigned polls, bool patient)
{
	const struct timespec nap = {0, !patient ? 20000 : polls < 10 ? 100000 : 500000};

	if (polls < 200 && !patient)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

/* Fails, and names the ranks that are waited for: one that hangs may be why another one does. Returns 0 if
 * there is none any more, as after this rank itself was held up. */
static int time_out(struct mpi *mpi)
{
	struct crumb_exchange_net *net = &mpi->net;
	char silent[100] = "";
	unsigned count = 0;

	for (unsigned r = 0; r < net->ranks; r++) {
		count_gone(mpi, r);
		if (!mpi->peer[r].done || mpi->peer[r].gone < mpi->peer[r].pieces) {
			const size_t at = strlen(silent);
			if (at + 16 < sizeof silent)
				snprintf(silent + at, sizeof silent - at, "%s%u", count ? ", " : "", r);
			count++;
		}
	}
	if (!count)
		return 0;
	mpi->dead = CRUMB_EPEER;
	snprintf(net->why, sizeof net->why, "nothing from rank%s %s within %g s", count > 1 ? "s" : "",
	         silent, net->timeout);
	return mpi->dead;
}

/* Returns CRUMB_EPEER if a rank has left, whose earlier messages are dropped; an error; or 0. A rank that
 * comes too late must not send any more: nobody would receive it. If it was away for longer than they wait,
 * MPI may see their farewells only after some calls. */
static int look_for_farewell(struct mpi *mpi, double now)
{
	const double timeout = mpi->net.timeout;
	const int looks = timeout > 0 && now - mpi->swapped > timeout ? LAST_LOOKS : 1;
	int there = 0, error = 0;
	MPI_Status status;

	for (int k = 0; k < looks && !there && !error; k++)
		error = check(mpi, MPI_Iprobe(MPI_ANY_SOURCE, TAG_LEAVE, mpi->comm, &there, &status));
	if (error || !there)
		return error;
	const unsigned from = (unsigned)status.MPI_SOURCE;
	for (unsigned polls = 0; !mpi->peer[from].left && crumb_seconds() < now + last_wait(mpi); polls++) {
		drop(mpi, from);
		crumb_mpi_rest(polls, false);
	}
	return mpi->dead ? mpi->dead : say_left(mpi, from);
}

static int mpi_swap(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in)
{
	struct mpi *mpi = (struct mpi *)net;
	double deadline = crumb_seconds() + net->timeout; /* moves while anything moves */
	size_t before = 0;
	int error = mpi->dead;

	if (!error)
		error = look_for_farewell(mpi, crumb_seconds());
	for (unsigned r = 0; r < net->ranks && !error; r++)
		if (r != net->rank)
			error = mpi->peer[r].left ? say_left(mpi, r) : receive_opening(mpi, r);
	if (!error)
		error = send_all(mpi, out);
	for (unsigned polls = 0; !error; polls++) {
		const struct peer *peer = mpi->peer;
		bool all = true;
		size_t moved = 0;
		for (unsigned r = 0; r < net->ranks && !error; r++) {
			error = advance(mpi, r);
			if (!error)
				error = count_gone(mpi, r);
			all = all && peer[r].done && peer[r].gone == peer[r].pieces;
			moved += peer[r].len + peer[r].done + peer[r].gone;
		}
		if (error || all)
			break;
		if (moved != before)
			deadline = crumb_seconds() + net->timeout;
		else if (net->timeout > 0 && crumb_seconds() > deadline)
			error = time_out(mpi);
		before = moved;
		crumb_mpi_rest(polls, net->patient);
	}
	for (unsigned r = 0; r < net->ranks && !error; r++)
		in[r] = r == net->rank ? out[r] : (crumb_span){mpi->peer[r].data, mpi->peer[r].len};
	mpi->dead = error;
	mpi->swapped = crumb_seconds();
	return error;
}

/* ---- messages between two ranks ------------------------------------------------------------- */

/* Returns true if MPI no longer reads what was sent. */
static bool gone(struct sends *sends)
{
	int all = 1;

	return MPI_Testall((int)sends->count, sends->request, &all, MPI_STATUSES_IGNORE) == MPI_SUCCESS &&
	       all;
}

/* The last message to this rank has come, as has its answer; MPI may need a moment to see it. */
static int mpi_send(struct crumb_exchange_net *net, unsigned to, crumb_span message)
{
	struct mpi *mpi = (struct mpi *)net;
	struct peer *peer = &mpi->peer[to];
	const double deadline = crumb_seconds() + net->timeout;

	for (unsigned polls = 0; !mpi->dead && !gone(&peer->alone); polls++) {
		if (net->timeout > 0 && crumb_seconds() > deadline)
			return die(mpi, CRUMB_EPEER, "a rank has answered a message that MPI holds back");
		crumb_mpi_rest(polls, false);
	}
	const int error = mpi->dead ? mpi->dead : reserve_sends(mpi, &peer->alone, most_parts(message));
	return error ? error : send_message(mpi, &peer->alone, to, &peer->letter, message);
}

/* Looks for a message of the ranks that are expected to send one. Returns 0, and *from, which is `ranks` if
 * there is none; CRUMB_EPEER, and *from, which has left; or another error. */
static int look(struct mpi *mpi, const bool *expected, unsigned *from)
{
	const unsigned ranks = mpi->net.ranks;
	int error = 0;

	*from = ranks;
	for (unsigned k = 0; k < ranks && *from == ranks && !error; k++) {
		const unsigned r = (mpi->turn + k) % ranks;
		struct peer *peer = &mpi->peer[r];
		if (!expected[r])
			continue;
		if (peer->piece == MPI_REQUEST_NULL && !peer->left)
			error = receive_opening(mpi, r);
		error = error ? error : peer->left ? say_left(mpi, r) : advance(mpi, r);
		if (peer->left || (!error && peer->done))
			*from = r;
	}
	return error;
}

/* Returns true if the beginning of a message has come, and not yet all of it. */
static bool has_begun(const struct mpi *mpi, const bool *expected)
{
	unsigned r = 0;

	while (r < mpi->net.ranks && !(expected[r] && mpi->peer[r].piece_len && !mpi->peer[r].done))
		r++;
	return r < mpi->net.ranks;
}

/* If this rank itself was held up, MPI may have messages that came before the deadline, and sees them only
 * after some calls. Time in which it was held up meanwhile does not count, up to half of the timeout: the
 * others may have been, too. */
static int mpi_receive(struct crumb_exchange_net *net, const bool *expected, double deadline, unsigned *from,
                       crumb_span *message)
{
	const double held_up = 0.01; /* seconds from one look to the next */
	struct mpi *mpi = (struct mpi *)net;
	double end = deadline, before = crumb_seconds(), held = 0;
	int error = mpi->dead;

	*from = net->ranks;
	for (unsigned polls = 0, late = 0; !error; polls++) {
		error = look(mpi, expected, from);
		if (error || *from < net->ranks)
			break;
		const double now = crumb_seconds();
		if (now - before > held_up)
			held = fmin(held + now - before, 0.5 * net->timeout);
		before = now;
		if (now > deadline + held && late++ == 0)
			end = now + 0.25 * net->timeout;
		if (late > LAST_LOOKS && (now > end || !has_begun(mpi, expected)))
			break;
		crumb_mpi_rest(late ? late : polls, false);
	}
	if (!error && *from < net->ranks) {
		*message = (crumb_span){mpi->peer[*from].data, mpi->peer[*from].len};
		mpi->turn = (*from + 1) % net->ranks;
	}
	return error;
}

static void mpi_leave(struct crumb_exchange_net *net)
{
	struct mpi *mpi = (struct mpi *)net;
	const size_t len = strlen(net->why);

	if (mpi->gone)
		return;
	mpi->gone = true;
	mpi->farewell.len = len;
	memcpy(mpi->farewell.first, net->why, len);
	for (unsigned r = 0; r < net->ranks; r++)
		if (r != net->rank)
			MPI_Isend(&mpi->farewell, (int)(sizeof mpi->farewell.len + len), MPI_BYTE, (int)r,
			          TAG_LEAVE, mpi->comm, &mpi->peer[r].farewell);
	die(mpi, CRUMB_EPEER, "this rank has left");
}

/* ---- the end -------------------------------------------------------------------------------- */

/* After a failure, drops what the others have sent, to their farewells: MPICH's MPI_Finalize aborts if long
 * messages lie unmatched. A rank that is silent costs the last wait. */
static void drain(struct mpi *mpi)
{
	const double deadline = crumb_seconds() + last_wait(mpi);
	bool over = false;

	for (unsigned polls = 0; !over && crumb_seconds() < deadline; polls++) {
		over = gone(&mpi->all);
		for (unsigned r = 0; r < mpi->net.ranks; r++)
			if (r != mpi->net.rank && !mpi->peer[r].left) {
				drop(mpi, r);
				over = false;
			}
		crumb_mpi_rest(polls, false);
	}
}

/* Returns true if MPI no longer reads or writes this rank's memory. Receives are cancelled; messages out are
 * not, as MPI may have begun to send them. */
static bool quiet(struct mpi *mpi)
{
	int done = 1, all;

	for (unsigned r = 0; r < mpi->net.ranks; r++) {
		MPI_Request *piece = &mpi->peer[r].piece;
		if (*piece == MPI_REQUEST_NULL)
			continue;
		MPI_Cancel(piece);
		if (MPI_Test(piece, &all, MPI_STATUS_IGNORE) != MPI_SUCCESS || !all)
			done = 0;
	}
	for (unsigned r = 0; r < mpi->net.ranks; r++) {
		done = gone(&mpi->peer[r].alone) && done;
		if (MPI_Test(&mpi->peer[r].farewell, &all, MPI_STATUS_IGNORE) != MPI_SUCCESS || !all)
			done = 0;
	}
	return gone(&mpi->all) && done;
}

static bool mpi_settle(struct crumb_exchange_net *net)
{
	struct mpi *mpi = (struct mpi *)net;
	const double deadline = crumb_seconds() + last_wait(mpi);
	bool settled = false;

	for (unsigned polls = 0; !settled && crumb_seconds() < deadline; polls++) {
		settled = gone(&mpi->all);
		for (unsigned r = 0; r < net->ranks; r++)
			settled = gone(&mpi->peer[r].alone) && settled;
		if (!settled)
			crumb_mpi_rest(polls, false);
	}
	return settled;
}

static bool mpi_close(struct crumb_exchange_net *net)
{
	struct mpi *mpi = (struct mpi *)net;

	if (mpi->dead)
		drain(mpi);
	if (!quiet(mpi))
		return false;
	if (!mpi->dead) /* else farewells may lie in it, which a new communicator must not take for its own */
		MPI_Comm_free(&mpi->comm);
	for (unsigned r = 0; r < mpi->net.ranks; r++) {
		free(mpi->peer[r].data);
		free(mpi->peer[r].alone.request);
	}
	free(mpi->peer);
	free(mpi->leader);
	free(mpi->net.lost);
	free(mpi->all.request);
	free(mpi);
	return true;
}

const struct crumb_exchange_net crumb_mpi_net = {.local = 1,
                                                 .swap = mpi_swap,
                                                 .send = mpi_send,
                                                 .receive = mpi_receive,
                                                 .leave = mpi_leave,
                                                 .settle = mpi_settle,
                                                 .close = mpi_close};
