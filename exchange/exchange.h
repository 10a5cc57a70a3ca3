/* The exchange as crumb-train sees it: beneath crumb_exchange.h, with several learners a rank, weights,
 * codecs by kind, and a look into packers and frames.
 *
 * A learner owns data and packers. A rank is a process (or, over the thread transport, a thread) that hosts
 * any number of learners with one copy of the parameters. Learners are numbered over all ranks, rank 0's
 * first; frames are decoded in learner order. The bits of the mean depend on the plan and the number of
 * learners, never on the ranks, the threads or the transport; but in the plans of tiers on the nodes, too,
 * and in async on time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <crumb_exchange.h>

struct plan;   /* plan.h: who averages which slice */
struct policy; /* policy.h: which codec a slice gets */
struct team;   /* team.h: threads */

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

/* Returns the name that policies, logs and tables use: "conv", "fc", ... */
const char *crumb_kind_name(enum crumb_kind kind);

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
	                              without loss, as crumb_sum's integers if frames agree on a scaler and
	                              learners have equal weights (terngrad:shared=1), else raw */
	const struct plan *plan;   /* NULL: gather */
	const char *model;         /* text that has to be the same on all ranks; not kept; NULL: none */
	unsigned node_size; /* consecutive ranks of a node, in plans that know nodes; 0: as the transport says
	                     */
	uint64_t staleness; /* with plan async: most pushes that a worker may be ahead of the slowest one when
	                       it gets work; 0: lock step; UINT64_MAX: any number */
	bool overlap;   /* segments are exchanged while gradients are still computed (crumb_exchange_begin) */
	size_t segment; /* with overlap, elements of a segment at least, but the last one to go; 0: as many as
	                   suit the plan */
	size_t learners;                /* over all ranks; may be fewer than ranks */
	uint64_t seed;                  /* the packers' seeds are crumb_exchange_seed(seed, learner, slice) */
	struct crumb_exchange_net *net; /* not owned; NULL: this rank is alone */
	struct team *team; /* not owned, and this rank's alone; NULL: the calling thread does all */
};

/* Opens an exchange, with a packer for each learner of this rank and slice. Returns 0, or a negative error
 * with a line in why (cap bytes). Does not wait for other ranks: one that cannot open, or fails elsewhere,
 * tells them with net->leave. */
int crumb_exchange_start(struct crumb_exchange **exchange, const struct crumb_exchange_config *config,
                         char *why, size_t cap);

/* Takes another policy, plan, way down or table of slices of the same gradient from the next step on; ranks
 * and learners stay. All ranks change before the same step. Nothing is lost: residuals are added to the
 * gradients of the next step that is not skipped, and so is what momentum owes (those of a mean, or of a
 * node, to its rank's first learner's, times the node's weight and divided by that learner's, which must not
 * be 0). Returns 0; or an error with a line in why, and the exchange is unchanged: CRUMB_EINVAL if a rank
 * without learners of its own packs a mean, or for a node. Packers, and what crumb_exchange_codec returns,
 * are new ones. */
int crumb_exchange_change(struct crumb_exchange *exchange, const struct crumb_exchange_config *config,
                          char *why, size_t cap);

/* Writes which learners this rank hosts: [first, first + count). */
void crumb_exchange_learners(const struct crumb_exchange *exchange, size_t *first, size_t *count);

/* Returns memory that begins a cache line, for packers and gradients; free() it. NULL: there is none. */
void *crumb_exchange_alloc(size_t bytes);

/* Takes a step: averages the gradients. grad[l]: the flat gradient of this rank's l-th learner. weight[i]: of
 * learner i of all learners (the same on every rank; 1/N if batches are equal). mean: the flat result,
 * overwritten; not one of grad, except that of a rank with one learner.
 *
 * A segment, by default the whole step, has as many swaps as its plan says, whatever happens and however many
 * slices there are: a small one for the vote and the floats that codecs agree on, one for the frames, one for
 * what comes down; so a rank sends each other rank 2 messages (gather), 3 (shard, server), 5 (tiers) or 6
 * (tiers-shard). (Over a transport that shares memory an empty swap ends it.) A rank that fails still swaps,
 * and says so, and then every rank returns the same error. If any gradient of any learner is not finite every
 * rank returns CRUMB_ENONFINITE, residuals are unchanged and mean is unspecified: skip the step. Any other
 * error is final: mean and residuals are unspecified; every rank returns it from then on, or from the next
 * step on if this rank alone had it (a frame damaged on its way here). */
int crumb_exchange_step(struct crumb_exchange *exchange, const float *const *grad, const float *weight,
                        float *mean);

/* Returns true if learners of this rank share statistics in the next step, which those of plans with nodes
 * never do. */
bool crumb_exchange_due(const struct crumb_exchange *exchange);

/* Adds further gradients of this rank's learners to those statistics, except slices that are not finite. All
 * ranks call it equally often before a step. If there is no memory the step fails on all of them. It is not
 * for exchanges with overlap, nor to be called before crumb_exchange_change. */
void crumb_exchange_measure(struct crumb_exchange *exchange, const float *const *grad);

/* Begins a step, in which segments are exchanged while the caller goes on: a thread of the exchange takes
 * those whose elements are final in the gradients of all of this rank's learners. crumb_exchange_step
 * follows, with the same arguments, takes the rest and returns as it would without crumb_exchange_begin; its
 * bits are the same, too. Meanwhile mean and what is final belong to the exchange, and no other function of
 * it is called. A mean that is one of grad is overwritten even if the step is skipped. Returns 0; or
 * CRUMB_EINVAL if the exchange was opened without overlap; CRUMB_EMEMORY; or the error that has ended the
 * exchange. */
int crumb_exchange_begin(struct crumb_exchange *exchange, const float *const *grad, const float *weight,
                         float *mean);

/* Says, after crumb_exchange_begin, that the gradient of this rank's l-th learner is final from element `at`
 * on. Any thread may call it. */
void crumb_exchange_final(struct crumb_exchange *exchange, size_t l, size_t at);

/* Gives some bytes of every learner to every rank: mine holds those of this rank's learners, all gets those
 * of all, in learner order. One swap; with plan async a message to the server and one back, and for learners
 * whose rank has been given up all ranks get what stands in the server's all. Returns 0, or an error that is
 * final, as with crumb_exchange_step. */
int crumb_exchange_tell(struct crumb_exchange *exchange, const void *mine, size_t bytes, void *all);

enum { CRUMB_STALENESS_BINS = 16 };

struct exchange_stats { /* since reset */
	/* By kind, over this rank's learners and all steps: bytes of the gradients in f32, bytes of their
	 * frames; elements, and how many of them were sent, on every tenth step from the first, since
	 * counting reads the frames again. */
	uint64_t dense[CRUMB_KINDS], bytes[CRUMB_KINDS], elements[CRUMB_KINDS], sent[CRUMB_KINDS];
	uint64_t down[CRUMB_KINDS]; /* bytes of the frames that came down, the same on every rank */
	/* Bytes of all messages to and from other ranks, and how many messages went out. */
	uint64_t link_out, link_in, link_messages;
	double check_seconds, pack_seconds, swap_seconds, unpack_seconds; /* wall */
	uint64_t steps, skipped; /* steps that gave a mean, and that were not finite */
	/* On the server of plan async: by how many updates the weights had changed since they were pulled
	 * when a gradient computed with them was taken, how often; the last bin is for more, too. */
	uint64_t staleness[CRUMB_STALENESS_BINS];
	uint64_t ahead;      /* the most steps that a worker was ahead of the slowest when it got work */
	double held_seconds; /* that workers waited for others, over all workers */
};
void crumb_exchange_read_stats(const struct crumb_exchange *exchange, struct exchange_stats *stats);
void crumb_exchange_reset_stats(struct crumb_exchange *exchange);

/* Returns the squared norm of the residuals of this rank's l-th learner over all slices. */
double crumb_exchange_owed(struct crumb_exchange *exchange, size_t l);

/* Returns the codec of slice s (raw if the policy's codec could make it longer than f32). */
const crumb_codec *crumb_exchange_codec(const struct crumb_exchange *exchange, size_t s);

/* Returns the packer of this rank's l-th learner for slice s, to look at its residual; with tiers the node's
 * for the first learner of its first rank, one without a residual for all others. */
crumb_packer *crumb_exchange_packer(const struct crumb_exchange *exchange, size_t l, size_t s);

/* A debtor is who owes a residual: a learner, or with tiers a node. Writes whose packers this rank has:
 * [first, first + count). */
void crumb_exchange_debtors(const struct crumb_exchange *exchange, size_t *first, size_t *count);

/* Returns the debtor, counted over all ranks, of what a learner of all has not sent. */
size_t crumb_exchange_debtor(const struct crumb_exchange *exchange, size_t learner);

/* Returns the packer of this rank's d-th debtor for slice s. */
crumb_packer *crumb_exchange_debtor_packer(const struct crumb_exchange *exchange, size_t d, size_t s);

/* Returns the frame that this rank's l-th learner sent of slice s in the last step, valid until the next one;
 * empty if there was none, or the step was skipped. */
crumb_span crumb_exchange_frame(const struct crumb_exchange *exchange, size_t l, size_t s);

/* Returns the packer of the mean of slice s; NULL if no rank averages it for others, or another one
 * does. */
crumb_packer *crumb_exchange_mean_packer(const struct crumb_exchange *exchange, size_t s);

/* Returns the seed of one packer, with which plain crumb_* calls give the same frames. learner counts over
 * all ranks; packers of means are those of learner number N. */
uint64_t crumb_exchange_seed(uint64_t seed, size_t learner, size_t slice);

/* Cuts slices into nearly equal parts of at most longest elements, or of one run if that is longer; 0: cuts
 * nothing. Returns how many parts there are; cut may be NULL. */
size_t crumb_slices_cut(const struct crumb_slice *slices, size_t count, size_t longest,
                        struct crumb_slice *cut);

/* Returns the largest share of the elements that an owner gets if each slice in turn goes to the owner with
 * the fewest; NAN if there is no memory. */
double crumb_slices_share(const struct crumb_slice *slices, size_t count, size_t owners);

#endif
