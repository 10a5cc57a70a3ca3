/* A gradient -> its mean over all learners, on every rank, in the same bits.
 *
 * A learner owns data and packers. A rank is a process (or, over the thread transport, a thread) that hosts any
 * number of learners with one copy of the weights. Learners are numbered over all ranks, rank 0's first; every
 * rank decodes every frame once, in learner order.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CRUMB_EXCHANGE_H
#define CRUMB_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

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

/* One tensor of the flat gradient: the unit of packing, ownership and parallelism. run: as in crumb_packer_init. */
struct crumb_slice {
	size_t at, n, run;
	enum crumb_kind kind;
};

struct crumb_exchange_config {
	const struct crumb_slice *slices; /* not copied; in order, without gaps, the first at 0 */
	size_t slice_count;
	const struct policy *policy;      /* not kept after open */
	size_t learners;                  /* over all ranks */
	uint64_t seed;                    /* the packers' seeds are hash(seed, learner, slice) */
	struct transport *net;            /* not owned; NULL: this rank is alone */
	struct team *team;                /* not owned */
};

struct crumb_exchange;

/* Allocates one packer a learner of this rank and slice. 0, or a negative crumb error; why (cap bytes) gets a line. */
int crumb_exchange_open(struct crumb_exchange **exchange, const struct crumb_exchange_config *config, char *why,
			size_t cap);
void crumb_exchange_close(struct crumb_exchange *exchange);

/* The learners that this rank hosts: [first, first + count). */
void crumb_exchange_learners(const struct crumb_exchange *exchange, size_t *first, size_t *count);

/* grad[l]: the flat gradient of this rank's l-th learner. share[i]: the weight of learner i of all learners (the
 * same on every rank; 1/N when batches are equal). mean: the flat result, overwritten.
 * Votes on finiteness before anything is packed: CRUMB_ENONFINITE on every rank when any gradient of any learner
 * is not finite, and then no residual has moved and mean is unspecified: skip the step. */
int crumb_exchange_mean(struct crumb_exchange *exchange, const float *const *grad, const float *share, float *mean);

struct crumb_exchange_stats {
	uint64_t dense[CRUMB_KINDS];    /* f32 bytes of one learner's gradients, by kind, over all steps since reset */
	uint64_t bytes[CRUMB_KINDS];    /* of the whole frames that stood in for them, averaged over this rank's learners */
	uint64_t elements[CRUMB_KINDS]; /* elements, and how many of them were sent, over this rank's learners */
	uint64_t sent[CRUMB_KINDS];
	double check_seconds, pack_seconds, swap_seconds, unpack_seconds; /* wall */
	uint64_t steps, skipped;
};
void crumb_exchange_stats(const struct crumb_exchange *exchange, struct crumb_exchange_stats *stats);
void crumb_exchange_reset_stats(struct crumb_exchange *exchange);

/* Root of the mean over this rank's learners of the squared norm of what is owed, all slices together. */
double crumb_exchange_residual_norm(struct crumb_exchange *exchange);

/* The codec that slice s ended up with (raw when its bound is not below its dense size). */
const struct crumb_codec *crumb_exchange_codec(const struct crumb_exchange *exchange, size_t s);

#endif
