/* Plan async (MXNet's dist_async): a server owns the weights and moves them by every gradient that comes; a
 * worker pushes its gradients and pulls weights, and waits for no other worker unless it is further ahead of
 * the slowest than a bound allows (Ho et al., NIPS 2013, section 3: stale synchronous parallel).
 *
 * Rank 0 of several is the server and has no learners; all others are workers. A rank alone is both. An epoch
 * has a number of *parts*: part p is the batch of learner p % N in step p / N. The server gives them out in
 * order, as many at a time as a worker has learners, so that a slow worker gets fewer, and all end within one
 * step.
 *
 * With a bound above 0 the server gives up a worker that is silent for longer than the timeout, or whose
 * transport says that it has left, and goes on with the others as long as there is one. They take over its
 * work, of this epoch, too, so that every part is taken; what it owes is lost, and so is what only it could
 * tell. If it is heard of again it is refused: its net->given_up is then true. net->lost says on rank 0 who
 * was given up, net->losses on all ranks, once they have told, how many.
 *
 * Residuals of gradients stay with the worker's learners. If pulls are compressed they are differences to
 * what the worker has, of which the server keeps a copy; so the two sets of weights never differ by more than
 * the last pull left out. The pull at an epoch's end is exact.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASYNC_H
#define ASYNC_H

#include "exchange/exchange.h"

/* Parts [first, first + count) of an epoch; count 0: the epoch is over. */
struct async_work {
	uint64_t first, count;
};

/* An epoch. All ranks have the same numbers and, when it begins and when it has ended, the same weights. */
struct async_epoch {
	uint64_t step;       /* steps before it */
	uint64_t parts;      /* steps times learners */
	const float *weight; /* [learner]: of its parts; their sum is 1 */
	float *param;        /* the weights: the server's, or a worker's copy of them */
	float *mean;         /* on the server: room for a mean */
	/* Moves the server's weights by the mean over some parts, whose weights add up to share: 1 in lock
	 * step. taken: parts before these. Returns 0, or an error that ends the epoch on all ranks. */
	int (*move)(void *arg, float share, uint64_t taken);
	void *arg;
};

/* Begins an epoch on every rank; *work: what a worker computes first. epoch is not copied. */
void crumb_async_begin(struct crumb_exchange *x, const struct async_epoch *epoch, struct async_work *work);

/* Serves the workers until the epoch is over: the server's epoch. Returns 0, or an error that is final, as
 * crumb_exchange_step. A worker that does not push within the timeout is named, or given up. */
int crumb_async_serve(struct crumb_exchange *x);

/* Gives the server a worker's gradients of its work, grad[k] of part first + k, and sets the weights and the
 * next work. Returns 0; CRUMB_ENONFINITE if one of them is not finite, so that nothing was pushed of this
 * work and residuals are unchanged; or an error that is final. Waits a quarter longer than the timeout for a
 * sign of the server, which names a silent worker first. */
int crumb_async_swap(struct crumb_exchange *x, const float *const *grad, struct async_work *work);

/* Writes the learners of a rank: [first, first + count). */
void crumb_async_learners(const struct crumb_exchange *x, unsigned rank, size_t *first, size_t *count);

/* Returns the packer of slice s for the pulls of a worker, on the server; NULL elsewhere, if there is no such
 * worker, or if pulls are exact. It begins anew with each epoch, as the worker's weights are then exact. */
crumb_packer *crumb_async_packer(struct crumb_exchange *x, size_t worker, size_t s);

#endif
