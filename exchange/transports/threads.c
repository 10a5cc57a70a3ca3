/* Ranks as threads of this process. A swap is a meeting: the last rank to arrive gives all ranks their
 * messages, as spans of the senders' memory. A rank that has left counts as arrived, and the meeting fails;
 * nobody waits for it. A rank that has waited for longer than its timeout leaves. A message between two ranks
 * is a span of the sender's memory, too.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "exchange/exchange.h"
#include "exchange/seconds.h"
#include "exchange/transport.h"

struct seat {
	struct crumb_exchange_net net; /* first: a rank's transport is its seat */
	struct meeting *meeting;
	const crumb_span *out;
	crumb_span *in;
	bool left;
	bool reads; /* from the others' memory, until it swaps again or leaves */
	char farewell[160];
};

/* A message from one rank to another. */
struct letter {
	crumb_span message;
	bool there; /* and not yet received */
};

struct meeting {
	pthread_mutex_t mutex;
	pthread_cond_t over;
	unsigned ranks, come, left, closed;
	unsigned long number;
	int result;            /* of the last meeting; the next cannot end before everyone has read it */
	unsigned leaver;       /* the first that has left */
	struct letter *letter; /* [from][to] */
	unsigned *lost;        /* [ranks], rank 0's */
	struct seat seat[];
};

static void meet(struct meeting *m)
{
	m->result = m->left ? CRUMB_EPEER : 0;
	if (!m->result) {
		for (unsigned from = 0; from < m->ranks; from++)
			for (unsigned to = 0; to < m->ranks; to++) {
				m->seat[to].in[from] = m->seat[from].out[to];
				m->seat[to].reads = m->seat[to].reads || m->seat[from].out[to].len > 0;
			}
	}
	m->come = 0;
	m->number++;
	pthread_cond_broadcast(&m->over);
}

/* Says that the rank reads from no other's memory any more, the mutex held. */
static void has_read(struct seat *seat)
{
	seat->reads = false;
	pthread_cond_broadcast(&seat->meeting->over); /* for those who close */
}

static void depart(struct seat *seat)
{
	struct meeting *m = seat->meeting;

	seat->left = true;
	seat->reads = false;
	snprintf(seat->farewell, sizeof seat->farewell, "rank %u has left%s%.*s", seat->net.rank,
	         *seat->net.why ? ": " : "", (int)sizeof seat->farewell - 32, seat->net.why);
	if (m->left++ == 0)
		m->leaver = seat->net.rank;
	if (m->come > 0 && m->come + m->left == m->ranks)
		meet(m);
	pthread_cond_broadcast(&m->over); /* for those who wait for a letter, or close */
}

/* Returns the moment, at most some 30 years after the machine's start. */
static struct timespec moment(double seconds)
{
	const double end = seconds < 1e9 ? seconds : 1e9;
	const time_t whole = (time_t)end;

	return (struct timespec){whole, (long)(1e9 * (end - (double)whole))};
}

static int threads_swap(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in)
{
	struct seat *seat = (struct seat *)net;
	struct meeting *m = seat->meeting;
	const struct timespec deadline = moment(crumb_seconds() + net->timeout);
	int result = CRUMB_EPEER, late = 0;

	pthread_mutex_lock(&m->mutex);
	has_read(seat);
	if (!seat->left) {
		const unsigned long number = m->number;
		seat->out = out;
		seat->in = in;
		if (++m->come + m->left == m->ranks)
			meet(m);
		while (m->number == number && !late)
			late = net->timeout > 0 ? pthread_cond_timedwait(&m->over, &m->mutex, &deadline)
			                        : pthread_cond_wait(&m->over, &m->mutex);
		late = m->number == number;
		if (late) {
			snprintf(net->why, sizeof net->why, "another rank does not come within %g s",
			         net->timeout);
			m->come--;
			depart(seat);
		} else {
			result = m->result;
		}
	}
	if (result && !late)
		snprintf(net->why, sizeof net->why, "%s", m->seat[m->leaver].farewell);
	pthread_mutex_unlock(&m->mutex);
	return result;
}

static struct letter *letter(struct meeting *m, unsigned from, unsigned to)
{
	return &m->letter[from * m->ranks + to];
}

static int threads_send(struct crumb_exchange_net *net, unsigned to, crumb_span message)
{
	struct seat *seat = (struct seat *)net;
	struct meeting *m = seat->meeting;

	pthread_mutex_lock(&m->mutex);
	*letter(m, net->rank, to) = (struct letter){message, true};
	pthread_cond_broadcast(&m->over);
	pthread_mutex_unlock(&m->mutex);
	return 0;
}

/* Takes a letter to this rank, the mutex held. Returns its sender; `ranks` if there is none. */
static unsigned take_letter(struct seat *seat, const bool *expected, crumb_span *message)
{
	struct meeting *m = seat->meeting;
	unsigned from = 0;

	while (from < m->ranks && !(expected[from] && letter(m, from, seat->net.rank)->there))
		from++;
	if (from < m->ranks) {
		*message = letter(m, from, seat->net.rank)->message;
		letter(m, from, seat->net.rank)->there = false;
	}
	return from;
}

/* Returns a rank that has left and is expected to send; `ranks` if there is none. */
static unsigned find_leaver(const struct meeting *m, const bool *expected)
{
	unsigned rank = 0;

	while (rank < m->ranks && !(expected[rank] && m->seat[rank].left))
		rank++;
	return rank;
}

static int threads_receive(struct crumb_exchange_net *net, const bool *expected, double deadline,
                           unsigned *from, crumb_span *message)
{
	struct seat *seat = (struct seat *)net;
	struct meeting *m = seat->meeting;
	unsigned leaver;
	int late = 0, error = 0;

	pthread_mutex_lock(&m->mutex);
	while ((*from = take_letter(seat, expected, message)) == m->ranks &&
	       (leaver = find_leaver(m, expected)) == m->ranks && !late) {
		const struct timespec end = moment(isinf(deadline) ? 0 : deadline);
		late = isinf(deadline) ? pthread_cond_wait(&m->over, &m->mutex)
		                       : pthread_cond_timedwait(&m->over, &m->mutex, &end);
	}
	if (*from == m->ranks && leaver < m->ranks) {
		*from = leaver;
		error = CRUMB_EPEER;
		snprintf(net->why, sizeof net->why, "%s", m->seat[leaver].farewell);
	}
	pthread_mutex_unlock(&m->mutex);
	return error;
}

static void threads_leave(struct crumb_exchange_net *net)
{
	struct seat *seat = (struct seat *)net;
	struct meeting *m = seat->meeting;

	pthread_mutex_lock(&m->mutex);
	if (!seat->left)
		depart(seat);
	pthread_mutex_unlock(&m->mutex);
}

static bool others_read(const struct seat *seat)
{
	bool any = false;

	for (unsigned r = 0; r < seat->meeting->ranks; r++)
		any = any || (r != seat->net.rank && seat->meeting->seat[r].reads);
	return any;
}

/* Waits until the others have read what this rank has sent: what one that leaves early has sent may still be
 * read. The last rank to close frees the meeting. */
static bool threads_close(struct crumb_exchange_net *net)
{
	struct seat *seat = (struct seat *)net;
	struct meeting *m = seat->meeting;

	pthread_mutex_lock(&m->mutex);
	has_read(seat);
	if (!seat->left)
		depart(seat);
	while (others_read(seat))
		pthread_cond_wait(&m->over, &m->mutex);
	const bool last = ++m->closed == m->ranks;
	pthread_mutex_unlock(&m->mutex);
	if (last) {
		pthread_cond_destroy(&m->over);
		pthread_mutex_destroy(&m->mutex);
		free(m->letter);
		free(m->lost);
		free(m);
	}
	return true;
}

int crumb_exchange_threads(struct crumb_exchange_net **net, unsigned ranks)
{
	pthread_condattr_t monotonic;

	if (ranks < 1)
		return CRUMB_EINVAL;
	struct meeting *m = calloc(1, sizeof *m + ranks * sizeof m->seat[0]);
	if (!m || !(m->letter = calloc((size_t)ranks * ranks, sizeof *m->letter)) ||
	    !(m->lost = calloc(ranks, sizeof *m->lost))) {
		free(m ? m->letter : NULL);
		free(m);
		return CRUMB_EMEMORY;
	}
	pthread_mutex_init(&m->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&m->over, &monotonic);
	pthread_condattr_destroy(&monotonic);
	m->ranks = ranks;
	for (unsigned r = 0; r < ranks; r++) {
		m->seat[r] = (struct seat){
		        .net = {.rank = r,
		                .ranks = ranks,
		                .local = ranks,
		                .shares_memory = true,
		                .any_thread = true,
		                .lost = m->lost,
		                .swap = threads_swap,
		                .send = threads_send,
		                .receive = threads_receive,
		                .leave = threads_leave,
		                .close = threads_close},
		        .meeting = m,
		};
		net[r] = &m->seat[r].net;
	}
	return 0;
}

void crumb_threads_close(struct crumb_exchange_net **net, unsigned ranks)
{
	for (unsigned r = 0; r < ranks && net[r]; r++) {
		net[r]->close(net[r]);
		net[r] = NULL;
	}
}
