/* The state of one rank: who takes part, the table of slices, and what the files of exchange/ keep between
 * steps. exchange.c opens it, step.c takes its steps, a plan's file turns frames into the mean. Private to
 * exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef EXCHANGE_STATE_H
#define EXCHANGE_STATE_H

#include <stdbool.h>
#include "exchange/average.h"
#include "exchange/exchange.h"
#include "exchange/message.h"
#include "exchange/shard.h"
#include "exchange/swap.h"
#include "exchange/upload.h"

/* One slice over all learners. */
struct slice_state {
	crumb_codec codec;
	bool sums;         /* the frames agree on a scaler, and their exact sum may come down */
	size_t due;        /* floats that each learner agrees on: of all gradients that it measures */
	size_t due_before; /* the same, of all slices before this one */
};

/* The slices that one rank averages: count of order[], from first on. Their frames share a message. */
struct share {
	size_t first, count;
	uint64_t load; /* bytes that the owner receives and sends, where the plan counts them */
};

/* Consecutive slices that are exchanged together. Segments are in the order in
 * which backward ends with them: the first one has the last slices. */
struct segment {
	size_t first, count;       /* its slices */
	const size_t *by_length;   /* they, the longest first, so that threads end together */
	const struct share *share; /* [shares] */
	struct outgoing *up;       /* [share]: the frames of this rank's learners */
	struct outgoing *down;     /* the means of this rank's share */
	/* Ranks vote before they pack, by a swap of its own; else the vote comes with the frames. */
	bool votes, nodes_vote; /* nodes_vote: of the exchange between nodes, if there is one */
	uint8_t *kept; /* its packers as they were before this step; NULL: they never have to be restored */
};

struct crumb_exchange {
	const struct plan *plan;
	struct crumb_exchange_net *net;
	struct team *team;
	unsigned rank, ranks;
	unsigned servers;  /* 1 if rank 0 is one, without learners; else 0 */
	size_t learners;   /* of all ranks */
	size_t first, own; /* this rank's learners: [first, first + own) */
	bool exact;        /* the mean comes down without loss */
	bool overlaps;     /* it may begin with a step before all gradients are there */

	const struct crumb_slice *slice;
	size_t slices;
	struct slice_state *slice_state;
	struct segment *segment;
	size_t segments;
	size_t packed;       /* segments that have come to packing in this step */
	size_t *by_length;   /* slices, segment after segment */
	size_t *order;       /* slices, segment after segment, share after share */
	struct share *share; /* [segment][shares] */
	size_t shares;       /* ranks, or 1 if every rank averages every slice */

	struct slot *up;   /* [own learner][slice] */
	crumb_span *frame; /* [slice][learner of all]: the frames that came up */
	struct down down;
	struct messages messages;
	struct buffer agreed; /* [slice][learner of all][due]: the floats that came with the vote */
	float *extra;         /* [gradient][slice][own learner]: what crumb_exchange_measure has measured */
	size_t extras;        /* of how many gradients */
	int extra_error;      /* CRUMB_EMEMORY if there was no memory for it; the next step returns it */
	struct decode_memory decode_memory;
	struct message_head head; /* begins every message; the step fills in the rest */

	struct block *blocks;          /* all memory of fixed size */
	struct tiers *tiers;           /* in plans that know nodes, else NULL */
	struct async *async;           /* in plan async, else NULL */
	struct overlap *overlap;       /* once crumb_exchange_begin has been called, else NULL */
	struct hosted *hosted;         /* what crumb_exchange_open has opened for it, else NULL */
	struct crumb_exchange *former; /* before crumb_exchange_change, until a step succeeds; else NULL */
	uint64_t step;
	int failed; /* the final error */
	double clock;
	struct exchange_stats stats;
	char why[CRUMB_EXCHANGE_WHY_MAX];
};

/* Returns the exchange whose packers send this rank's frames: x, or the one between nodes; NULL on a rank
 * that has none there. */
struct crumb_exchange *crumb_exchange_packing(const struct crumb_exchange *x);

/* Returns what texts and messages call a rank: among leaders its number among all ranks. */
unsigned crumb_exchange_name(const struct crumb_exchange *x, unsigned rank);

/* host/hosted.c: closes what crumb_exchange_open has opened for the exchange, if anything. Returns false if
 * MPI may still read the exchange's messages, so that its memory must stay. */
bool crumb_hosted_close(struct crumb_exchange *x);

/* Returns the first learner of a rank, which has those up to the first one of the next rank: ranks that are
 * no servers divide the learners evenly, in order. */
static inline size_t rank_first(const struct crumb_exchange *x, unsigned rank)
{
	const unsigned before = rank < x->servers ? 0 : rank - x->servers;

	return (size_t)((uint64_t)before * x->learners / (x->ranks - x->servers));
}

/* Returns the number of a rank's learners. */
static inline size_t rank_learners(const struct crumb_exchange *x, unsigned rank)
{
	return rank_first(x, rank + 1) - rank_first(x, rank);
}

/* Returns the number of elements of a gradient of these slices. */
static inline size_t slices_total(const struct crumb_slice *slice, size_t count)
{
	return count ? slice[count - 1].at + slice[count - 1].n : 0;
}

/* exchange.c: takes memory that crumb_exchange_close frees, aligned to a cache line; NULL if there is none.
 */
void *crumb_exchange_take(struct crumb_exchange *x, size_t bytes);
void *crumb_exchange_zeros(struct crumb_exchange *x, size_t count, size_t size); /* the same, set to 0 */

/* exchange.c: opens a message of the frames of a share, of learners from number first on: its memory, and
 * their slots [learner][slice], whose codecs and sizes are set. Returns 0 or an error. */
int crumb_exchange_open_message(struct crumb_exchange *x, struct outgoing *message, const struct share *share,
                                struct slot *slots, size_t first, size_t learners, uint64_t seed);

#endif
