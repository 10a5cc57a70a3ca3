/* The files of plan async share this: the server is in async_server.c, a worker in async_worker.c. They take
 * turns: a push, which says that the pull before it has been read, and a pull, which says so of the push. So
 * one buffer in each direction is enough, and over a transport that shares memory nobody reads what is being
 * written. A worker that has to wait for others gets empty messages meanwhile, so that it knows a server that
 * waits from one that is silent. Private to exchange/plans/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASYNC_STATE_H
#define ASYNC_STATE_H

#include "exchange/plans/async.h"
#include "exchange/step.h"
#include "exchange/transport.h"

/* A worker, as the server knows it. */
struct worker_seen {
	struct async_work work; /* that it has, or has pushed; of one that was given up: that nobody has taken
	                           over yet */
	uint64_t pushes;        /* in this epoch */
	uint64_t version;       /* updates of the weights before its last pull */
	double since;           /* when it got its work, or pushed */
	double heard;           /* when this rank last heard of it, or the other way round */
	bool here;              /* it has pushed, or told, and waits for an answer */
	bool good;              /* its push is not yet taken, and finite */
	bool gone;              /* given up */
	struct slot *slot;      /* [slice]: of its pulls */
	struct outgoing pull;
	float *has; /* its weights; NULL: pulls are exact */
};

struct async {
	uint64_t bound, seed;
	const struct async_epoch *epoch;
	struct async_work rest;  /* of the epoch, which nobody has had yet */
	uint64_t taken, updates; /* parts, and moves of the weights in this epoch */
	bool over;
	bool *expected; /* [rank]: a message of it would be received */
	/* on the server */
	struct worker_seen *worker;
	size_t workers;
	float *weight;      /* [learner]: of the frames that are averaged */
	struct buffer told; /* to all workers */
	struct message_head refusal;
	bool exact; /* pulls are */
};

/* Returns the rank of a worker. */
static inline unsigned rank_of(const struct crumb_exchange *x, size_t worker)
{
	return (unsigned)worker + x->servers;
}

/* Returns the number of a worker's learners. */
static inline size_t learners_of(const struct crumb_exchange *x, size_t worker)
{
	return rank_learners(x, rank_of(x, worker));
}

/* Returns the error, which is final, after a line that says what. */
int crumb_async_lose(struct crumb_exchange *x, int error, const char *what);

/* Sends a message. Returns 0, or an error that is final. */
int crumb_async_send(struct crumb_exchange *x, unsigned to, crumb_span message);

/* Receives a message into x->messages.in[*from]; *from is `ranks` if none has come in time. Returns 0,
 * CRUMB_EPEER if *from has left, or an error that is final, with *from == ranks. */
int crumb_async_receive(struct crumb_exchange *x, double deadline, unsigned *from);

/* Returns the head of a push of some work, and of a pull, to which a worker adds its next work. */
struct message_head crumb_async_push_head(const struct step *step, struct async_work work);
struct message_head crumb_async_pull_head(const struct step *step);

/* As crumb_message_check of the message in x->messages.in; writes to x->why if that has no reason yet. */
int crumb_async_check(struct crumb_exchange *x, const struct message_head *mine, unsigned from);

/* Writes what crumb_exchange_tell tells after its head to data, which has room. Returns the message. */
crumb_span crumb_async_write_told(const struct message_head *head, uint8_t *data, const void *told,
                                  size_t bytes);

/* Reads it from the message of a rank, checked before. Returns 0 or an error. */
int crumb_async_read_told(struct crumb_exchange *x, unsigned from, void *told, size_t bytes);

/* ---- async_server.c ---- */

/* Opens the server, which is the worker, too, if this rank is alone. Returns 0 or CRUMB_EMEMORY. */
int crumb_async_open_server(struct crumb_exchange *x, const struct crumb_exchange_config *config);

/* Begins an epoch on the server. */
void crumb_async_begin_server(struct crumb_exchange *x);

/* Takes in a worker's push, which lies in x->messages.in, and answers those that need not wait. */
int crumb_async_take_push(struct step *step, size_t worker);

/* The server's part of crumb_exchange_tell. */
int crumb_async_hear_all(struct crumb_exchange *x, size_t bytes, void *all);

/* ---- async_worker.c ---- */

/* A worker's part of it. */
int crumb_async_tell_server(struct crumb_exchange *x, const void *mine, size_t bytes, void *all);

#endif
