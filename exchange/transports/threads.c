/* Ranks as threads of this process. A swap is a meeting: the last rank to arrive gives all ranks their
 * messages, as spans of the senders' memory. A rank that has left counts as arrived, and the meeting fails;
 * nobody waits for it. A rank that has waited for longer than its timeout leaves.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "exchange/exchange.h"
#include "exchange/transport.h"

struct seat {
	struct crumb_exchange_net net; /* first: a rank's transport is its seat */
	struct meeting *meeting;
	const crumb_span *out;
	crumb_span *in;
	bool left;
};

struct meeting {
	pthread_mutex_t mutex;
	pthread_cond_t over;
	unsigned ranks, come, left, closed;
	unsigned long number;
	int result; /* of the last meeting; the next cannot end before everyone has read it */
	struct seat seat[];
};

static void meet(struct meeting *m)
{
	m->result = m->left ? CRUMB_EPEER : 0;
	if (!m->result) {
		for (unsigned from = 0; from < m->ranks; from++)
			for (unsigned to = 0; to < m->ranks; to++)
				m->seat[to].in[from] = m->seat[from].out[to];
	}
	m->come = 0;
	m->number++;
	pthread_cond_broadcast(&m->over);
}

static void depart(struct seat *seat)
{
	struct meeting *m = seat->meeting;

	seat->left = true;
	m->left++;
	if (m->come > 0 && m->come + m->left == m->ranks)
		meet(m);
}

static int threads_swap(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in)
{
	struct seat *seat = (struct seat *)net;
	struct meeting *m = seat->meeting;
	struct timespec deadline;
	int result = CRUMB_EPEER, late = 0;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += (time_t)net->timeout;
	deadline.tv_nsec += (long)(1e9 * (net->timeout - (double)(time_t)net->timeout));
	deadline.tv_sec += deadline.tv_nsec / 1000000000;
	deadline.tv_nsec %= 1000000000;
	pthread_mutex_lock(&m->mutex);
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
			m->come--;
			depart(seat);
		} else {
			result = m->result;
		}
	}
	pthread_mutex_unlock(&m->mutex);
	if (late)
		snprintf(net->why, sizeof net->why, "another rank does not come within %g s", net->timeout);
	else if (result)
		snprintf(net->why, sizeof net->why, "another rank has left");
	return result;
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

/* The last rank to close frees the meeting. */
static bool threads_close(struct crumb_exchange_net *net)
{
	struct meeting *m = ((struct seat *)net)->meeting;

	pthread_mutex_lock(&m->mutex);
	const bool last = ++m->closed == m->ranks;
	pthread_mutex_unlock(&m->mutex);
	if (last) {
		pthread_cond_destroy(&m->over);
		pthread_mutex_destroy(&m->mutex);
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
	if (!m)
		return CRUMB_EMEMORY;
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
		                .swap = threads_swap,
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
