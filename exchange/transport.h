/* Transports: how ranks reach each other, by one collective verb.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <crumb_exchange.h>

struct crumb_exchange_net {
	unsigned rank, ranks;
	unsigned local; /* ranks on this machine */
	const unsigned
	        *leader;      /* [rank]: the first rank on its machine; NULL: all ranks are on one machine */
	const unsigned *name; /* [rank]: what texts and messages call it; NULL: its number */
	double timeout; /* seconds that a swap waits for a rank while nothing arrives from any, and nothing
	                   goes; 0: for ever. The caller may change it between swaps */
	/* in[] points into the senders' own memory: a step ends with an empty swap, so that nobody reads it
	 * any more. */
	bool shares_memory;
	atomic_bool patient; /* the CPU has other work while a swap waits */
	bool any_thread;     /* threads may swap in turn; else one thread does, which has opened it */
	/* Sends out[i] to rank i and receives in[i] from rank i, this rank included. Every rank calls it,
	 * with empty messages if it has failed. in[] stays valid until the next swap; the bytes of out[] must
	 * not change until the next swap has returned. Returns 0; or a negative error, why says which, in[]
	 * is not set, and every later swap fails, too. */
	int (*swap)(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in);
	/* Two verbs of plan async, between two ranks; NULL: this transport has only swaps. Two ranks take
	 * turns: neither sends to the other again before it has received the other's answer, or has swapped.
	 * An empty message, to a rank that waits for one, is no turn: it says that its sender is alive.
	 *
	 * send: begins to send a message, whose bytes must not change until then. Returns 0, or a negative
	 * error that is final. */
	int (*send)(struct crumb_exchange_net *net, unsigned to, crumb_span message);
	/* Waits for a message from any rank for which expected[rank], until `deadline` (crumb_seconds), and
	 * for one that has begun to come by then up to a quarter of the timeout longer. Returns 0, and *from,
	 * which is `ranks` if none has come; CRUMB_EPEER, and *from, which has left; or a negative error that
	 * is final, with *from == ranks; why says which error. The message stays valid until this rank sends
	 * to *from. */
	int (*receive)(struct crumb_exchange_net *net, const bool *expected, double deadline, unsigned *from,
	               crumb_span *message);
	/* Ranks that plan async goes on without, one after another: rank 0 knows which, lost[0] to
	 * lost[losses - 1]; the others how many. given_up: this rank is one of them. */
	unsigned *lost, losses;
	bool given_up;
	char why[160];
	/* Ends this rank's part, because it has failed elsewhere: the others' swaps, under way and to come,
	 * fail with CRUMB_EPEER instead of waiting for it, and their why has this rank's, unless that is
	 * empty. Not during a swap of this rank. */
	void (*leave)(struct crumb_exchange_net *net);
	/* Waits a second at most until nobody reads what this rank has sent, so that it may be freed. Returns
	 * false if somebody still may. NULL: this cannot be told; a rank then closes its exchange only after
	 * a swap. */
	bool (*settle)(struct crumb_exchange_net *net);
	/* Frees the transport; this rank swaps no more, and among threads the others' swaps fail from then
	 * on. Waits for nobody, but after a failure for the others' last messages, a second at most. Returns
	 * false if messages are still on their way after a swap has failed: the bytes of out[] must then
	 * stay, and so does the transport. */
	bool (*close)(struct crumb_exchange_net *net);
};

/* Closes all ranks of crumb_exchange_threads, and sets net[] to NULL. */
void crumb_threads_close(struct crumb_exchange_net **net, unsigned ranks);

/* Returns true if mpirun, or another launcher of MPI, has started this process, by its environment. */
bool crumb_mpi_wanted(void);

/* Starts MPI, whose processes are ranks. Returns 0, or CRUMB_EPEER or CRUMB_EMEMORY and a line in why (cap
 * bytes). Once in a process. */
int crumb_mpi_open(struct crumb_exchange_net **net, double timeout, char *why, size_t cap);

/* Waits for all ranks to close, and ends MPI. A rank that does not come within the timeout ends the job. If
 * ranks have been given up, for which MPI would wait, rank 0 waits for the others and ends the job, with exit
 * status 0; then this does not return. Sets *net to NULL; NULL is fine. */
void crumb_mpi_close(struct crumb_exchange_net **net);

/* Ends all ranks now, with this exit status. Does not return. A rank that was given up does not end the
 * others, but waits until they do. */
void crumb_mpi_abort(struct crumb_exchange_net *net, int status);

#endif
