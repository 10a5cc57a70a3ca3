/* What one rank of an exchange holds. Private to exchange/: exchange.c opens it, gather.c takes its steps.
 *
 * Every array over this rank's learners and slices is [learner][slice]; floats that codecs agree on are
 * [slice][learner][float]. A frames message is a head, the lengths of its frames (uint64_t), and the frames.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RANK_H
#define RANK_H

#include <stdbool.h>
#include "exchange.h"
#include "message.h"

/* One slice of one learner of this rank. */
struct piece {
	crumb_packer *packer;
	uint8_t *slot; /* where it packs; its frame moves down to the ones before it when all are packed */
	size_t slot_size;
	int64_t length; /* of its frame, or an error */
	uint64_t sent;  /* elements of it, where this step counts them */
	double owed;    /* squared norm */
};

/* One slice over all learners. */
struct column {
	crumb_codec codec;
	size_t due,
	        due_before; /* floats of one learner to agree on, in this slice and in all slices before it */
	int error;          /* of decoding it */
};

struct buffer {
	uint8_t *data;
	size_t size;
};

struct crumb_exchange {
	struct transport *net;
	struct team *team;
	unsigned rank, ranks;
	size_t learners, first, own;
	const struct crumb_slice *slice;
	size_t slices;
	size_t *longest; /* slices, the longest first: then threads end together */
	struct piece *piece;
	struct column *column;
	uint8_t *packers;
	struct buffer vote, frames; /* messages that this rank sends */
	struct buffer agreed;       /* everybody's floats */
	crumb_span *out, *in;       /* [rank] */
	crumb_span *frame;          /* [learner of all][slice] */

	/* the step under way */
	const float *const *grad;
	const float *share;
	float *mean;
	size_t due; /* floats of one learner over all slices */
	bool count_sent;
	struct message_head head;

	uint64_t step, setup;
	int failed; /* the final error */
	int dead;   /* the transport's */
	double clock;
	struct crumb_exchange_stats stats; /* but bytes are the sum over all learners */
	char why[200];
};

/* The learners of a rank, counted over all ranks: [first(rank), first(rank + 1)); ranks divide them evenly,
 * in order. */
size_t crumb_rank_first(const struct crumb_exchange *x, unsigned rank);

/* Makes room for size bytes, aligned to a cache line; what was in the buffer is lost. False: no memory, no
 * change. */
bool crumb_buffer_reserve(struct buffer *buffer, size_t size);

#endif
