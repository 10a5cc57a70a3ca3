/* A gradient -> its mean over all learners, on every rank, in the same bits.
 *
 * A learner owns data and packers. A rank is a process (or, over the thread transport, a thread) that hosts
 * any number of learners with one copy of the weights. Learners are numbered over all ranks, rank 0's first;
 * every rank decodes every frame once, in learner order. The bits of the mean depend on the number of
 * learners, never on the ranks, the threads or the transport.
 *
 * SPDX-License-Identifier: MIT */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <stddef.h>
#include <stdint.h>
#include <crumb.h>

struct policy;    /* policy.h: which codec a slice gets */
struct team;      /* team.h: threads */
struct transport; /* transport.h: how ranks reach each other */

enum crumb_kind {
	CRUMB_CONV,
	CRUMB_FC,
	CRUMB_LSTM,
	CRUMB_EMBEDDING,
	CRUMB_BIAS,
	CRUMB_BATCHNORM,
	CRUMB_LAST, /* the classifier's weights */
	CRUMB_KINDS
};

/* "conv", "fc", ...: the names that policies, logs and tables use. */
const char *crumb_kind_name(enum crumb_kind kind);

/* What can go wrong here beside enum crumb_error. */
enum crumb_exchange_error {
	CRUMB_EMEMORY = -64, /* out of memory */
	CRUMB_EPEER = -65    /* another rank has left, or cannot be reached */
};

/* One tensor of the flat gradient: the unit of packing, ownership and parallelism. run: as in
 * crumb_packer_init. */
struct crumb_slice {
	size_t at, n, run;
	enum crumb_kind kind;
};

struct crumb_exchange_config {
	const struct crumb_slice *slices; /* not copied; in order, without gaps, the first at 0 */
	size_t slice_count;
	const struct policy *policy; /* not kept after open */
	size_t learners;             /* over all ranks; may be fewer than ranks */
	uint64_t seed;               /* the packers' seeds are crumb_exchange_seed(seed, learner, slice) */
	struct transport *net;       /* not owned; NULL: this rank is alone */
	struct team *team;           /* not owned, and this rank's alone; NULL: the calling thread does all */
};

struct crumb_exchange;

/* Allocates one packer a learner of this rank and slice. 0, or a negative error; why (cap bytes) gets a line.
 * Does not wait for other ranks: one that cannot open, or fails elsewhere, tells them with net->leave. */
int crumb_exchange_open(struct crumb_exchange **exchange, const struct crumb_exchange_config *config,
                        char *why, size_t cap);
void crumb_exchange_close(struct crumb_exchange *exchange); /* waits for nobody; NULL is fine */

/* The learners that this rank hosts: [first, first + count). */
void crumb_exchange_learners(const struct crumb_exchange *exchange, size_t *first, size_t *count);

/* grad[l]: the flat gradient of this rank's l-th learner. share[i]: the weight of learner i of all learners
 * (the same on every rank; 1/N when batches are equal). mean: the flat result, overwritten; not one of grad.
 *
 * A step is two swaps, whatever happens: a small one for the vote and the floats that codecs agree on, one
 * for the frames. (Over a transport that shares memory an empty third one ends it.) A rank that fails still
 * swaps, and says so, and then every rank returns the same error. Nothing is packed before all have voted:
 * CRUMB_ENONFINITE on every rank when any gradient of any learner is not finite, and then no residual has
 * moved and mean is unspecified: skip the step. Any other error is final: mean is unspecified, and so is what
 * the packers owe; every rank gets it again, or gets it with the next step if this rank alone had it (a frame
 * damaged on its way here). */
int crumb_exchange_mean(struct crumb_exchange *exchange, const float *const *grad, const float *share,
                        float *mean);

/* The last error of crumb_exchange_mean in one line that names step and rank. */
const char *crumb_exchange_why(const struct crumb_exchange *exchange);

struct crumb_exchange_stats {
	uint64_t dense[CRUMB_KINDS]; /* f32 bytes of one learner's gradients, by kind, over all steps since
	                                reset */
	uint64_t bytes[CRUMB_KINDS]; /* of the whole frames that stood in for them, averaged over all learners
	                              */
	uint64_t elements[CRUMB_KINDS]; /* elements, and how many of them were sent, over this rank's
	                                   learners; to */
	uint64_t sent[CRUMB_KINDS];     /* count them is to read the frames again: every tenth step, from the
	                                   first */
	double check_seconds, pack_seconds, swap_seconds, unpack_seconds; /* wall */
	uint64_t steps, skipped; /* that gave a mean; that were not finite */
};
void crumb_exchange_stats(const struct crumb_exchange *exchange, struct crumb_exchange_stats *stats);
void crumb_exchange_reset_stats(struct crumb_exchange *exchange);

/* Root of the mean over this rank's learners of the squared norm of what is owed, all slices together. */
double crumb_exchange_residual_norm(struct crumb_exchange *exchange);

/* The codec that slice s ended up with (raw when its bound is not below its dense size). */
const crumb_codec *crumb_exchange_codec(const struct crumb_exchange *exchange, size_t s);

/* The packer of this rank's l-th learner for slice s, to look at what it owes. */
crumb_packer *crumb_exchange_packer(struct crumb_exchange *exchange, size_t l, size_t s);

/* The seed of one packer; learner counts over all ranks. With it, plain crumb_* calls give the same frames.
 */
uint64_t crumb_exchange_seed(uint64_t seed, size_t learner, size_t slice);

#endif
