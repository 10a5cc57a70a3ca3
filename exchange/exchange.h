/* A gradient -> its mean over all learners, on every rank, in the same bits.
 *
 * A learner owns data and packers. A rank is a process (or, over the thread transport, a thread) that hosts
 * any number of learners with one copy of the weights. Learners are numbered over all ranks, rank 0's first;
 * frames are decoded in learner order. The bits of the mean depend on the plan and the number of learners,
 * never on the ranks, the threads or the transport.
 *
 * SPDX-License-Identifier: MIT */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <stddef.h>
#include <stdint.h>
#include <crumb.h>

struct plan;      /* plan.h: who averages which slice */
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
	CRUMB_KIND_LAST, /* the classifier's weights */
	CRUMB_KINDS
};

/* "conv", "fc", ...: the names that policies, logs and tables use. */
const char *crumb_kind_name(enum crumb_kind kind);

/* What can go wrong here beside enum crumb_error. */
enum crumb_exchange_error {
	CRUMB_EMEMORY = -64, /* out of memory */
	CRUMB_EPEER = -65    /* another rank has left, is silent, or cannot be reached */
};

#define CRUMB_WHY_MAX 256 /* a line that says what went wrong fits in this */

/* One tensor of the flat gradient: the unit of packing, ownership and parallelism. run: as in
 * crumb_packer_init. */
struct crumb_slice {
	size_t at, n, run;
	enum crumb_kind kind;
};

struct crumb_exchange_config {
	const struct crumb_slice *slices; /* not copied; in order, without gaps, the first at 0 */
	size_t slice_count;
	const struct policy *policy; /* of the learners' gradients, on their way up; not kept after open */
	const struct policy *down; /* of the mean, in plans where it comes down from one rank; not kept. NULL:
	                              exact, which is crumb_sum's integers where frames agree on a scaler and
	                              learners have equal shares (terngrad:shared=1), and raw elsewhere */
	const struct plan *plan;   /* NULL: gather */
	const char *model;     /* whatever else has to be the same on all ranks; not kept; NULL: nothing */
	size_t learners;       /* over all ranks; may be fewer than ranks */
	uint64_t seed;         /* the packers' seeds are crumb_exchange_seed(seed, learner, slice) */
	struct transport *net; /* not owned; NULL: this rank is alone */
	struct team *team;     /* not owned, and this rank's alone; NULL: the calling thread does all */
};

struct crumb_exchange;

/* Allocates one packer a learner of this rank and slice. 0, or a negative error; why (cap bytes) gets a line.
 * Does not wait for other ranks: one that cannot open, or fails elsewhere, tells them with net->leave. */
int crumb_exchange_open(struct crumb_exchange **exchange, const struct crumb_exchange_config *config,
                        char *why, size_t cap);
void crumb_exchange_close(struct crumb_exchange *exchange); /* waits for nobody; NULL is fine */

/* From the next step on, another policy, plan, way down or table of slices of the same gradient; ranks and
 * learners stay. All ranks change before the same step. Nothing is lost: what packers owe is added to the
 * gradients of the next step that is not skipped (what a mean's packer owes, to its rank's first learner's,
 * by that learner's share, which must not be 0). 0; or an error, a line in why, and x is as it was.
 * CRUMB_EINVAL where a rank averages, without learners of its own, with a codec that owes. Packers, and what
 * crumb_exchange_codec says, are new ones. */
int crumb_exchange_change(struct crumb_exchange *exchange, const struct crumb_exchange_config *config,
                          char *why, size_t cap);

/* The learners that this rank hosts: [first, first + count). */
void crumb_exchange_learners(const struct crumb_exchange *exchange, size_t *first, size_t *count);

/* grad[l]: the flat gradient of this rank's l-th learner. share[i]: the weight of learner i of all learners
 * (the same on every rank; 1/N when batches are equal). mean: the flat result, overwritten; not one of grad.
 *
 * A step is as many swaps as its plan says, whatever happens and however many slices there are: a small one
 * for the vote and the floats that codecs agree on, one for the frames, one for what comes down; so a rank
 * sends each other rank 2 messages a step (gather) or 3 (shard, server). (Over a transport that shares memory
 * an empty swap ends it.) A rank that fails still swaps, and says so, and then every rank returns the same
 * error. Nothing is packed before all have voted: CRUMB_ENONFINITE on every rank when any gradient of any
 * learner is not finite, and then no residual has moved and mean is unspecified: skip the step. Any other
 * error is final: mean is unspecified, and so is what the packers owe; every rank gets it again, or gets it
 * with the next step if this rank alone had it (a frame damaged on its way here). */
int crumb_exchange_mean(struct crumb_exchange *exchange, const float *const *grad, const float *share,
                        float *mean);

/* The last error of crumb_exchange_mean in one line that names step and rank. */
const char *crumb_exchange_why(const struct crumb_exchange *exchange);

/* Hands bytes of every learner to every rank: mine holds those of this rank's learners, all gets those of
 * all, in learner order. One swap. 0, or an error that is final, as with crumb_exchange_mean. */
int crumb_exchange_tell(struct crumb_exchange *exchange, const void *mine, size_t bytes, void *all);

struct crumb_exchange_stats { /* since reset */
	/* By kind, over this rank's learners and all steps: f32 bytes of the gradients; bytes of the whole
	 * frames that stood in for them; elements, and how many of them were sent: to count them is to read
	 * the frames again, so on every tenth step, from the first. */
	uint64_t dense[CRUMB_KINDS], bytes[CRUMB_KINDS], elements[CRUMB_KINDS], sent[CRUMB_KINDS];
	uint64_t down[CRUMB_KINDS]; /* bytes of the whole frames that came down, to every rank the same */
	/* What this rank swapped with others: all bytes of all messages, and how many it sent. */
	uint64_t link_out, link_in, link_messages;
	double check_seconds, pack_seconds, swap_seconds, unpack_seconds; /* wall */
	uint64_t steps, skipped; /* that gave a mean; that were not finite */
};
void crumb_exchange_stats(const struct crumb_exchange *exchange, struct crumb_exchange_stats *stats);
void crumb_exchange_reset_stats(struct crumb_exchange *exchange);

/* The squared norm of what this rank's l-th learner owes, all slices together. */
double crumb_exchange_owed(struct crumb_exchange *exchange, size_t l);

/* The codec that slice s ended up with (raw when its bound is not below its dense size). */
const crumb_codec *crumb_exchange_codec(const struct crumb_exchange *exchange, size_t s);

/* The packer of this rank's l-th learner for slice s, to look at what it owes. */
crumb_packer *crumb_exchange_packer(struct crumb_exchange *exchange, size_t l, size_t s);

/* The frame that this rank's l-th learner sent of slice s in the last step, until the next one; of no bytes
 * where there was none, or it was skipped. */
crumb_span crumb_exchange_frame(const struct crumb_exchange *exchange, size_t l, size_t s);

/* The packer of the mean of slice s, NULL where there is none: the plan is gather, or another rank averages
 * this slice. */
crumb_packer *crumb_exchange_mean_packer(struct crumb_exchange *exchange, size_t s);

/* The seed of one packer; the mean's packers are those of learner number N. learner counts over all ranks.
 * With it, plain crumb_* calls give the same frames.
 */
uint64_t crumb_exchange_seed(uint64_t seed, size_t learner, size_t slice);

/* Writes the slices cut into nearly equal parts of at most longest elements (but a whole run), or as they are
 * for 0, and returns how many; cut may be NULL, to count them. What is cut depends on the slices alone. */
size_t crumb_slices_cut(const struct crumb_slice *slices, size_t count, size_t longest,
                        struct crumb_slice *cut);

/* The largest share of the elements that one of so many owners has, when each slice in turn goes to the owner
 * who has least. NAN: not enough memory. */
double crumb_slices_share(const struct crumb_slice *slices, size_t count, size_t owners);

#endif
