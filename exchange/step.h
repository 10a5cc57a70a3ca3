/* A step: one call of crumb_exchange_step. Its value is handed down from there to the tasks of threads: a
 * back trace has the gradient all the way. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STEP_H
#define STEP_H

#include <stdbool.h>
#include "exchange/exchange_state.h"

struct step {
	struct crumb_exchange *x; /* tasks get one pointer */
	const float *const *grad; /* [own learner] */
	const float *weight;      /* [learner of all] */
	float *mean;
	bool even;                     /* all weights are equal */
	size_t own;                    /* this rank's learners that take part: the first ones */
	bool count_sent;               /* statistics of this step count the elements sent */
	struct team *team;             /* the exchange's; NULL while others use it */
	const struct segment *segment; /* under way */
	size_t due;               /* floats that each learner agrees on, over all slices of the segment */
	struct message_head head; /* begins every message of this step */
	float **sum;              /* [own learner]: what grad is after a change; NULL: it is the caller's */
};

/* Begins a step, whose gradients are grad. weight, mean: NULL if there are none. */
struct step crumb_step_begin(struct crumb_exchange *x, const float *const *grad, const float *weight,
                             float *mean);

/* Returns the first error among the lengths of the first learners' frames in the segment; 0: there is none.
 */
int crumb_step_lengths(const struct step *step, size_t learners);

/* Returns 0 if the segment's gradients of the learners that take part are finite. Measures those whose codecs
 * have to agree. */
int crumb_step_check(struct step *step);

/* Exchanges the i-th segment, in order, after an error of those before it or 0. Returns 0 or an error, with
 * which the next one goes on. */
int crumb_step_segment(struct step *step, size_t i, int error);

/* Ends a step after all segments; the error is the last one's. Returns it. */
int crumb_step_end(struct step *step, int error);

/* Adds a step that succeeded to the statistics. */
void crumb_step_count(const struct step *step);

/* Adds the wall time since the last call to *seconds. */
void crumb_step_lap(struct crumb_exchange *x, double *seconds);

/* Returns error. Writes a line to x->why, after step and rank, unless an earlier reason is there. */
int crumb_step_fail(struct crumb_exchange *x, int error, const char *format, ...);

/* Tells all ranks why this one has failed, and leaves. */
void crumb_step_farewell(struct crumb_exchange *x);

/* ---- overlap/segment.c ---- */

/* Divides the slices into segments of at least so many elements, but the last one to go, which has what is
 * left; 0: of as many as suit the plan. Without overlap all are one. Returns false if there is no memory. */
bool crumb_segments_open(struct crumb_exchange *x, size_t segment);

/* Decides which segments vote, and takes memory for copies of packers; both are set by now. Returns false if
 * there is none. */
bool crumb_segments_ready(struct crumb_exchange *x);

/* Keeps the packers of a segment that comes to packing, as a later one may find that the step is skipped. */
void crumb_segment_keep(struct crumb_exchange *x, const struct segment *segment);

/* Makes all packers what they were before this step, which had no frames then. */
void crumb_segments_restore(struct crumb_exchange *x);

/* ---- overlap/overlap.c: segments on their way while others are still computed ---- */

/* Returns true after crumb_exchange_begin, until the step has ended. */
bool crumb_overlap_begun(const struct crumb_exchange *x);

/* Takes the rest of the step that has begun, and ends it. Returns as crumb_exchange_step. */
int crumb_overlap_finish(struct crumb_exchange *x, const float *const *grad, const float *mean);

/* Waits for a segment under way, and takes no more of them. NULL is fine. */
void crumb_overlap_close(struct overlap *overlap);

/* ---- reconfigure.c: the step after a change ---- */

/* Adds the residuals of before the change to the gradients: step->grad is then step->sum. 0 or
 * CRUMB_EMEMORY. */
int crumb_reconfigure_begin(struct step *step);

/* Frees the sums, and after a step that was not skipped what the exchange was before the change. */
void crumb_reconfigure_end(struct step *step, int error);

#endif
