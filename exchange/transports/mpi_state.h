/* A rank's transport over MPI. Private to exchange/transports/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MPI_STATE_H
#define MPI_STATE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "exchange/transport.h"

enum { FIRST = 4096 }; /* bytes of a message that come with its length */

struct opening {
	uint64_t len; /* of the whole message */
	uint8_t first[FIRST];
};

/* Sends on their way: openings and pieces. */
struct sends {
	MPI_Request *request;
	size_t room, count;
};

/* The messages from one rank and to it. */
struct peer {
	struct opening in, out;
	struct opening letter; /* of the last message to this rank alone, */
	struct sends alone;    /* and its parts */
	uint8_t *data;
	size_t size, len; /* room, and bytes that have arrived */
	MPI_Request piece;
	size_t piece_len; /* 0: the opening is on its way */
	bool done, left;
	MPI_Request farewell;       /* to it */
	size_t first, pieces, gone; /* of the message out, its opening included: in mpi->all, and how many of
	                               them, from the first on, MPI no longer reads */
};

struct mpi {
	struct crumb_exchange_net net; /* first: a rank's transport is its mpi */
	MPI_Comm comm;
	struct peer *peer; /* [rank] */
	struct sends all;  /* of the last swap */
	struct opening farewell;
	unsigned *leader; /* [rank]: of its machine */
	unsigned turn;    /* the rank whose message is looked for first */
	bool gone;        /* this rank has left */
	double swapped;   /* when the last swap ended */
	int dead;
};

/* The verbs of a transport over MPI, for one to be opened. */
extern const struct crumb_exchange_net crumb_mpi_net;

/* Waits a little: at first yields the CPU, then sleeps, so that ranks that compute get on; a patient one
 * sleeps at once, and longer. polls: how often the caller has looked before. */
void crumb_mpi_rest(unsigned polls, bool patient);

#endif
