/* What one rank of an exchange holds. Private to exchange/: exchange.c opens it, step.c takes its steps, a
 * plan's file says how frames become the mean.
 *
 * Every array over this rank's learners and slices is [learner][slice]; floats that codecs agree on are
 * [slice][learner][float].
 *
 * SPDX-License-Identifier: MIT */
#ifndef EXCHANGE_STATE_H
#define EXCHANGE_STATE_H

#include <crumb_parallel.h>
#include <stdbool.h>
#include "exchange/exchange.h"
#include "exchange/message.h"

/* One slice of one learner of this rank. */
struct piece {
	crumb_packer *packer;
	uint8_t *slot; /* where it packs; its frame moves down to the ones before it when all are packed */
	size_t slot_size;
	int64_t length; /* of its frame, or an error */
	const uint8_t *frame;
	uint64_t sent; /* elements of it, where this step counts them */
};

/* One slice over all learners. */
struct column {
	crumb_codec codec;
	size_t due,
	        due_before; /* floats of one learner to agree on, in this slice and in all slices before it */
	int error;          /* of decoding it, on its way up or down */
};

/* The mean of one slice on its way down, in plans where one rank takes it. */
struct descent {
	crumb_codec codec;
	crumb_packer *packer; /* NULL: another rank averages this slice */
	uint8_t *slot;
	size_t slot_size;
	bool sums;        /* frames of this slice agree on a scaler, and the mean comes down exactly */
	int64_t length;   /* of the frame that this rank packed, or an error */
	crumb_span frame; /* that came */
	bool sum;         /* it is the sum of all learners' frames, to be weighted by a share */
};

/* The slices that one rank averages: count of order[], from first on. Their frames share a message. */
struct section {
	size_t first, count;
	uint64_t load; /* bytes that its owner receives and sends, where a plan has counted them */
};

/* What decode.c remembers during a call: ranges, the slices that are cut, what is found of their frames. */
struct decoder {
	struct range *range;
	size_t *cut;
	crumb_part *found;       /* [cut][frame][part] */
	struct checked *checked; /* [cut][frame] */
};

struct buffer {
	uint8_t *data;
	size_t size;
};

struct crumb_exchange {
	const struct plan *plan;
	struct transport *net;
	struct team *team;
	unsigned rank, ranks;
	size_t learners, first, own;
	const struct crumb_slice *slice;
	size_t slices;
	size_t *longest; /* slices, the longest first: then threads end together */
	size_t *order;   /* slices, section after section */
	size_t *decoded; /* those of this rank's that it averages by decoding them */
	struct section *section;
	struct letter *letter; /* [section]: the frames of this rank's learners, on their way up */
	size_t sections;       /* ranks, or 1 when every rank averages every slice */
	struct piece *piece;
	struct column *column;
	struct descent *descent; /* [slice] */
	bool exact;              /* nothing may be lost on the way down */
	uint8_t *packers;
	struct buffer vote, frames, means; /* messages that this rank sends */
	struct buffer agreed;              /* everybody's floats */
	crumb_span *out, *in;              /* [rank] */
	crumb_span *frame;                 /* [learner of all][slice] */
	struct decoder decoder;

	/* the step under way */
	const float *const *grad;
	const float *share;
	bool even; /* all shares are equal */
	float *mean;
	size_t due; /* floats of one learner over all slices */
	bool count_sent;
	struct message_head head; /* what a message of this step begins with */

	struct crumb_exchange *former; /* what it was until crumb_exchange_change; NULL after the next step */
	float **sum;                   /* [learner]: the gradients of that step, and what the former owed */

	uint64_t step;
	int failed; /* the final error */
	int dead;   /* the transport's */
	double clock;
	struct crumb_exchange_stats stats;
	char why[CRUMB_WHY_MAX];
};

/* The learners of a rank, counted over all ranks: [first(rank), first(rank + 1)); ranks divide them evenly,
 * in order. */
size_t crumb_rank_first(const struct crumb_exchange *x, unsigned rank);

/* Makes room for size bytes, aligned to a cache line; what was in the buffer is lost. False: no memory, no
 * change. */
bool crumb_buffer_reserve(struct buffer *buffer, size_t size);

/* Adds the wall time since the last call to *seconds. */
void crumb_step_lap(struct crumb_exchange *x, double *seconds);

/* ---- swap.c: messages ---- */

/* Puts heads on count letters, 1 for everybody or one a rank, swaps them and judges what came. With an error
 * only the head travels. 0, or what any rank has, or what is wrong with x->in[]; then x->why has a line, if
 * it had none. */
int crumb_swap(struct crumb_exchange *x, enum message_phase phase, int error, struct letter *letter,
               size_t count);

/* The empty swap that ends what was swapped, where ranks look into each other's memory. */
void crumb_swap_end(struct crumb_exchange *x);

/* CRUMB_EFRAME, and why: the message of rank from cannot be what it sent. */
int crumb_swap_damaged(struct crumb_exchange *x, unsigned from);

/* ---- change.c: a step after a change ---- */

/* Adds what was owed before the change to the gradients of this step: x->grad is then x->sum. 0 or
 * CRUMB_EMEMORY. */
int crumb_change_begin(struct crumb_exchange *x);

/* The step has ended so: lets go of what crumb_exchange_change has kept. */
void crumb_change_end(struct crumb_exchange *x, int error);

/* ---- frames.c: frames on their way up ---- */

/* Packs all pieces into their sections' letters. 0 or a piece's error. */
int crumb_frames_pack(struct crumb_exchange *x);

/* Finds everybody's frames of a section in x->in[]. 0, or CRUMB_EFRAME and why. */
int crumb_frames_find(struct crumb_exchange *x, const struct section *section);

/* The weighted means of so many slices over the frames that were found, into x->mean, as crumb_average_slices
 * does.
 */
void crumb_frames_mean(struct crumb_exchange *x, const size_t *slice, size_t count,
                       void (*finish)(struct crumb_exchange *x, size_t s));

/* ---- decode.c: frames to floats, by all threads ---- */

struct decoding {
	size_t frames; /* that a slice has */
	/* Frames first to first + count - 1 of slice s, and what they are to be weighted by. */
	void (*find)(const struct crumb_exchange *x, size_t s, size_t first, size_t count, crumb_span *frame,
	             float *weight);
	/* What is done with the sum of slice s; NULL: nothing. */
	void (*finish)(struct crumb_exchange *x, size_t s);
};

/* The weighted sums of the frames of so many slices, the longest best first, into x->mean; x->column[].error
 * says what was wrong with them. */
void crumb_average_slices(struct crumb_exchange *x, const size_t *slice, size_t count,
                          const struct decoding *what);

/* frames: most that a slice has. False: no memory. On any outcome crumb_decoder_close may follow. */
bool crumb_decoder_open(struct decoder *decoder, size_t slices, size_t frames, unsigned threads);
void crumb_decoder_close(struct decoder *decoder);

/* ---- shard.c: what a plan's mean does where slices have owners ---- */

int crumb_shard_mean(struct crumb_exchange *x, int error);

#endif
