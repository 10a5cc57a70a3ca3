/* crumb's exchange: the gradients of all ranks in, their mean out, on every rank, in the same bits.
 *
 * It stands where a data-parallel program has an all-reduce. A *rank* is a process under MPI
 * (crumb_exchange_mpi.h) or a thread of this process. Its gradient is one flat array of f32 in the host's
 * memory, divided into *slices*, one a tensor. A *policy* gives each kind of slice one of crumb.h's codecs. A
 * *plan* says which rank averages which slice.
 *
 * Version 0.x: this header may change with every minor version, and the library's soname with it.
 *
 * Functions that return an int return 0 or a negative error of enum crumb_error; crumb_strerror has its
 * meaning, and why a line that says more. Pointers are not NULL unless said.
 *
 * crumb_exchange_open and crumb_exchange_mean are collective: every rank calls them, in the same order; a
 * rank that fails tells the others, and all of them return its error. The others wait for a rank that
 * does not call, up to the timeout (0, the default: for ever), and then return CRUMB_EPEER. After a rank has
 * closed its exchange they wait likewise over MPI; among threads their means fail at once.
 *
 * If a rank ends or aborts in the middle of crumb_exchange_mean, frames on their way are lost. The others
 * return CRUMB_EPEER (or the launcher ends them, as mpirun does); this is final. The program goes on from the
 * last crumb_exchange_save, which is taken between two means and holds no frame.
 *
 * An exchange belongs to one thread at a time; two of them may be used at once by two threads. Over MPI that
 * wants MPI_THREAD_MULTIPLE, and so do two that crumb_exchange_ready has begun. The library installs no
 * signal handler, and its own threads block all signals. It prints nothing and reads no environment.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CRUMB_EXCHANGE_H
#define CRUMB_EXCHANGE_H

#include <crumb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CRUMB_EXCHANGE_WHY_MAX 256 /* bytes that hold any line that says what went wrong */

/* One tensor of the flat gradient: n contiguous elements. kind: "conv", "fc", "lstm", "embedding", "bias",
 * "batchnorm" or "last" (the classifier's weights); it decides by which rule of the policy the tensor is
 * packed, and nothing else: "fc" if none fits. Attention's matrices are "fc", scales and shifts of any
 * normalisation "batchnorm", a head that shares the embedding's weights is "embedding". Tensors of one kind
 * that lie together, a layer after the other, may be one slice. run: contiguous elements of one output unit,
 * as in crumb_packer_init; 0 if there is no such thing. */
struct crumb_exchange_slice {
	size_t n;
	size_t run;
	const char *kind;
};

/* All zeros: raw f32 by plan gather. Texts are not kept. All ranks have the same, except threads and
 * timeout. */
struct crumb_exchange_options {
	/* "adacomp:bin=500": this codec for weights, raw for bias and batchnorm, and, of "terngrad" alone,
	 * for last. Or rules KIND[,KIND...]=SPEC joined by ';', the first match wins:
	 * "conv=adacomp:bin=50;fc,last=adacomp:bin=500"; kinds without a rule are raw, last and embedding as
	 * fc is. NULL: raw. */
	const char *policy;
	/* "gather": all ranks average all frames; "shard": a slice's owner averages it and sends the mean to
	 * the others; "server": rank 0 owns all slices; "tiers", "tiers-shard": the ranks of a node average
	 * first, and one of them takes part in a gather or a shard; or MXNet's name of one. NULL: gather.
	 * "async" is refused: its server has weights. */
	const char *plan;
	const char *down;  /* policy of the mean where one rank sends it to the others; NULL: without loss, so
	                      that shard and server send half as much as without compression, or more */
	const char *model; /* text that has to be the same on all ranks; NULL: none */
	uint64_t seed;     /* of the packers, each of which draws a seed of its own from it */
	unsigned node_size; /* for tiers: consecutive ranks of a node; 0: as MPI says, and threads are one
	                       node */
	unsigned threads;   /* of this rank, the caller included; 0: as 1 */
	/* Seconds to wait for another rank, not negative; 0: for ever. Over MPI the wait begins again when a
	 * message, or 8 MiB of a long one, has come to this rank or gone from it; a rank that waits while
	 * others exchange (in server, tiers and tiers-shard) waits for all of their exchange. */
	double timeout;
	int overlap; /* not 0: for crumb_exchange_ready; takes the packers' memory once more; a mean that
	                is grad is then overwritten even if a gradient is not finite */
};

struct crumb_exchange;

/* A way to the other ranks. Whoever gets one gives it to crumb_exchange_open. */
struct crumb_exchange_net;

/* Makes ranks that are threads of this process: net[r] is for the thread that is rank r. Returns 0,
 * CRUMB_EINVAL or CRUMB_EMEMORY. */
CRUMB_API int crumb_exchange_threads(struct crumb_exchange_net **net, unsigned ranks);

/* Opens an exchange. slices: count of them, which follow one another in the gradient; they are copied. net: a
 * rank's way to the others, which the exchange owns from now on, whatever is returned; NULL: this rank is
 * alone. With an error a line is in why (cap bytes), and *exchange is NULL: no such codec, kind or plan,
 * other slices or options on another rank, no memory, a rank that does not come. If one rank has an error all
 * have: that of their own, or the first other rank's. */
CRUMB_API int crumb_exchange_open(struct crumb_exchange **exchange, struct crumb_exchange_net *net,
                                  const struct crumb_exchange_slice *slices, size_t count,
                                  const struct crumb_exchange_options *options, char *why, size_t cap);

/* Averages the gradients of all ranks: mean[i] is the mean over ranks of the decoded grad[i]. What a codec
 * does not send stays in its residual and is added to the next gradient. grad, mean: as many floats as all
 * slices have; mean may be grad. A mean that a plan packs again is limited to 2^120 in magnitude.
 *
 * CRUMB_ENONFINITE: a gradient of some rank has a NaN, an infinity or a magnitude above 2^120. All ranks
 * return it, residuals are unchanged, a mean that is grad is, too (without overlap); skip the step. Every
 * other error is final, and mean and residuals are then unspecified: every rank returns it from then on, or
 * from the next call on if this rank alone had it (a frame damaged on its way here). */
CRUMB_API int crumb_exchange_mean(struct crumb_exchange *exchange, const float *grad, float *mean);

/* Begins a mean whose gradient is still being computed, from its end to its beginning, as by backward: says
 * that the elements first, first + 1, ... of grad are final. The exchange averages some slices at a time, the
 * last ones first, in a thread of its own, as soon as all ranks have said that they are final. It is called
 * any number of times, with a smaller first each time. crumb_exchange_mean follows, with the same grad and
 * mean (other ones end the exchange with CRUMB_EINVAL); it takes the rest, and returns the bits that it would
 * return without. Until then mean, and what of grad is final, belong to the exchange, and no other function
 * of it is called.
 *
 * The thread polls, since MPI does not go on with messages while a program computes. A host that has begun
 * MPI with MPI_THREAD_SERIALIZED makes no calls of MPI from here to the end of crumb_exchange_mean; with
 * MPI_THREAD_MULTIPLE it may; with less crumb_exchange_open fails. Returns 0; CRUMB_EINVAL if the options had
 * no overlap or, without a line of crumb_exchange_why, if the mean was begun with another grad or mean;
 * CRUMB_EMEMORY if there is no thread; or the error that has ended this exchange. After an error
 * crumb_exchange_mean does what is left. */
CRUMB_API int crumb_exchange_ready(struct crumb_exchange *exchange, const float *grad, float *mean,
                                   size_t first);

/* Returns a line that says why the last call of mean, ready or load failed; "" if a mean has succeeded since.
 * The exchange owns it, until its next call. */
CRUMB_API const char *crumb_exchange_why(const struct crumb_exchange *exchange);

struct crumb_exchange_stats {    /* since crumb_exchange_open */
	uint64_t steps, skipped; /* calls of crumb_exchange_mean that returned 0, and CRUMB_ENONFINITE */
	uint64_t dense_bytes, frame_bytes; /* this rank's gradients in f32, and the frames made of them;
	                                    * with tiers a node's first rank makes them for the node, and
	                                    * has the residuals */
	uint64_t down_bytes; /* frames of means that came down; 0 with plan gather; with tiers-shard
	                      * between nodes, to their first ranks */
	uint64_t sent_bytes, received_bytes; /* all messages to and from other ranks */
	double check_seconds, pack_seconds, swap_seconds, unpack_seconds; /* wall */
	double residual_norm; /* Euclidean norm of the residuals of this rank's gradients */
};
CRUMB_API void crumb_exchange_stats(struct crumb_exchange *exchange, struct crumb_exchange_stats *stats);

/* Writes what this rank remembers between two means: residuals, seeds and steps. Returns how many bytes that
 * is; with a smaller cap nothing is written, and dst may be NULL. The bytes are for this version of crumb,
 * the same rank of as many ranks, and the same slices and options. */
CRUMB_API size_t crumb_exchange_save(const struct crumb_exchange *exchange, void *dst, size_t cap);

/* Goes on from what crumb_exchange_save wrote. All ranks load what they saved after the same step; otherwise
 * the next mean fails on all. Returns 0; or CRUMB_EPACKER or CRUMB_EVERSION if the bytes are damaged or of
 * another exchange, CRUMB_EMEMORY, or the error that has ended this exchange; and nothing is changed. */
CRUMB_API int crumb_exchange_load(struct crumb_exchange *exchange, const void *src, size_t len);

/* Closes the exchange and its net; NULL is fine. Waits for nobody, with two exceptions. If
 * crumb_exchange_ready was called and crumb_exchange_mean was not, it waits for the slices under way, up to
 * the timeout, and the mean is lost on all ranks. Among threads, it waits until no other rank reads what this
 * one has sent. After a lost mean, or an error, and among threads always, the others are told that this
 * rank has left, and what they have sent is dropped, for a second at most; frames that MPI has not yet sent
 * stay allocated. */
CRUMB_API void crumb_exchange_close(struct crumb_exchange *exchange);

/* Writes the codec that a policy gives n elements of a kind: raw if crumb_bound is not below their size
 * in f32; with n = SIZE_MAX, however long they may become. policy: as in the options, NULL included. Returns
 * 0; CRUMB_ESPEC with *bad (bad may be NULL) at the first offending character; CRUMB_EINVAL if there is no
 * such kind. */
CRUMB_API int crumb_exchange_policy(crumb_codec *codec, const char *policy, const char *kind, size_t n,
                                    const char **bad);

#ifdef __cplusplus
}
#endif

#endif
