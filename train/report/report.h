/* The results of an epoch, or of a whole run, of one codec.
 *
 * SPDX-License-Identifier: MIT */
#ifndef REPORT_H
#define REPORT_H

#include "exchange/exchange.h"

#include <stdbool.h>

struct report {
	size_t epoch; /* counted from 1; of a run the last one */
	double loss;  /* mean over the samples of the last epoch's steps, before each step; NaN if all were
	                 skipped */
	double error, test_loss;    /* on the test set, at the end: share of errors, mean loss */
	uint64_t bytes, down_bytes; /* of one learner since the start of the run: sent, and received from the
	                               mean's owner */
	double residual_norm;
	struct exchange_stats
	        stats;          /* of the epoch, or of the run; counts of learners are over all of them */
	double compute_seconds; /* of gradients and optimizer */
	double wait_seconds;    /* that steps waited for the exchange, their gradients being there */
	double wall_seconds;    /* of everything, tests included */
	bool diverged;          /* the run: no gradient of the last epoch was finite */
};

/* Return dense f32 bytes divided by the bytes of whole frames, for one kind and over all; 0 when nothing of
 * the kind was sent. */
double report_kind_ratio(const struct exchange_stats *stats, enum crumb_kind kind);
double report_ratio(const struct exchange_stats *stats);

/* Return the bytes that one learner has sent, those that it has received of means, and the share of its
 * elements that were sent. */
uint64_t report_bytes(const struct exchange_stats *stats, size_t learners);
uint64_t report_down_bytes(const struct exchange_stats *stats);
double report_kind_sent(const struct exchange_stats *stats, enum crumb_kind kind);
double report_sent(const struct exchange_stats *stats);

/* Adds part to total. */
void report_add(struct exchange_stats *total, const struct exchange_stats *part);

#endif
