/* Ranks that SimGrid simulates.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "bench/simgrid/simulated.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GROUP = 16, AT_ONCE = 64, LONGEST = 1 << 28 };

struct simulated {
	struct crumb_exchange_net net; /* first member: a rank's transport is its simulated */
	struct simulated **peer;       /* [rank] */
	crumb_span *sent[2]; /* [rank], of this swap and of the one before, because others may be one swap
	                        behind */
	unsigned turn, swaps;
	double end;
	MPI_Request request[2 * AT_ONCE];
	crumb_span *letter;   /* [rank], of the last message to it alone, */
	MPI_Request *sending; /* and its send */
	uint8_t *sink;        /* destination of the simulated network's bytes */
};

static void fail(const char *what)
{
	perror(what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static int swap(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in)
{
	struct simulated *s = (struct simulated *)net;
	const crumb_span *sent = memcpy(s->sent[s->turn % 2], out, net->ranks * sizeof *out);
	const unsigned group = net->ranks > AT_ONCE ? GROUP : AT_ONCE;
	const bool empty = s->turn >= s->swaps;
	int count = 0;

	for (unsigned k = 1; k < net->ranks && !empty; k++) {
		const unsigned to = (net->rank + k) % net->ranks,
		               from = (net->rank + net->ranks - k) % net->ranks;
		MPI_Irecv(s->sink, LONGEST, MPI_BYTE, (int)from, 0, MPI_COMM_WORLD, &s->request[count++]);
		MPI_Isend(sent[to].data, (int)sent[to].len, MPI_BYTE, (int)to, 0, MPI_COMM_WORLD,
		          &s->request[count++]);
		if (k % group == 0 || k + 1 == net->ranks) {
			while (count > 0)
				MPI_Wait(&s->request[--count], MPI_STATUS_IGNORE);
		}
	}
	if (empty)
		MPI_Barrier(MPI_COMM_WORLD);
	else
		s->end = MPI_Wtime();
	for (unsigned r = 0; r < net->ranks; r++)
		in[r] = s->peer[r]->sent[s->turn % 2][net->rank];
	s->turn++;
	return 0;
}

static int send_letter(struct crumb_exchange_net *net, unsigned to, crumb_span message)
{
	struct simulated *s = (struct simulated *)net;

	MPI_Wait(&s->sending[to], MPI_STATUS_IGNORE); /* its answer has come */
	s->letter[to] = message;
	return MPI_Isend(message.data, (int)message.len, MPI_BYTE, (int)to, 1, MPI_COMM_WORLD,
	                 &s->sending[to]);
}

/* Only ranks that are expected to send do, and nobody is late. */
static int receive_letter(struct crumb_exchange_net *net, const bool *expected, double deadline,
                          unsigned *from, crumb_span *message)
{
	struct simulated *s = (struct simulated *)net;
	MPI_Status status;

	(void)expected;
	(void)deadline;
	MPI_Recv(s->sink, LONGEST, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
	*from = (unsigned)status.MPI_SOURCE;
	*message = s->peer[*from]->letter[net->rank];
	return 0;
}

static void leave(struct crumb_exchange_net *net)
{
	(void)net;
	MPI_Abort(MPI_COMM_WORLD, 1);
}

unsigned simulated_groups(unsigned ranks) { return ranks > AT_ONCE ? (ranks - 2) / GROUP + 1 : 1; }

double simulated_end(const struct crumb_exchange_net *net) { return ((const struct simulated *)net)->end; }

struct crumb_exchange_net *simulated_open(unsigned together, unsigned swaps)
{
	struct simulated *s = calloc(1, sizeof *s);
	int rank, ranks;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!s)
		fail("calloc");
	s->net = (struct crumb_exchange_net){.rank = (unsigned)rank,
	                                     .ranks = (unsigned)ranks,
	                                     .local = together,
	                                     .shares_memory = true,
	                                     .swap = swap,
	                                     .send = send_letter,
	                                     .receive = receive_letter,
	                                     .leave = leave};
	s->swaps = swaps;
	unsigned *leader = calloc((size_t)ranks, sizeof *leader);
	for (unsigned r = 0; leader && r < (unsigned)ranks; r++)
		leader[r] = r / together * together;
	s->net.leader = leader;
	s->peer = calloc((size_t)ranks, sizeof *s->peer);
	s->sent[0] = calloc((size_t)ranks, sizeof *s->sent[0]);
	s->sent[1] = calloc((size_t)ranks, sizeof *s->sent[1]);
	s->letter = calloc((size_t)ranks, sizeof *s->letter);
	s->sending = calloc((size_t)ranks, sizeof *s->sending);
	for (int r = 0; s->sending && r < ranks; r++)
		s->sending[r] = MPI_REQUEST_NULL;
	s->sink = mmap(NULL, LONGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
	               0);
	if (!leader || !s->peer || !s->sent[0] || !s->sent[1] || !s->letter || !s->sending ||
	    s->sink == MAP_FAILED)
		fail("memory");
	MPI_Allgather(&s, sizeof s, MPI_BYTE, s->peer, sizeof s, MPI_BYTE, MPI_COMM_WORLD);
	return &s->net;
}
