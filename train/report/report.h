/* What is known of an epoch, or of a whole run, of one codec.
 *
 * SPDX-License-Identifier: MIT */
#ifndef REPORT_H
#define REPORT_H

#include "exchange/exchange.h"

struct report {
	size_t epoch; /* counted from 1; of a run: the last one */
	double loss;  /* mean over the samples of the last epoch's steps, before each step; NaN if all were
	                 skipped */
	double error, test_loss;    /* on the test set, at the end: share misjudged, mean loss */
	uint64_t bytes, down_bytes; /* sent by one learner, and come down, since the start of the run */
	double residual_norm;
	struct crumb_exchange_stats
	        stats;          /* of the epoch, or of the run; what counts learners, over all of them */
	double compute_seconds; /* gradients and optimizer */
	double wall_seconds;    /* everything, tests too */
};

/* Dense f32 bytes by the bytes of whole frames, of one kind and over all; 0 when nothing of the kind was
 * sent. */
double report_kind_ratio(const struct crumb_exchange_stats *stats, enum crumb_kind kind);
double report_ratio(const struct crumb_exchange_stats *stats);

/* Bytes that one of so many learners has sent, that came down to it; the share of its elements that were
 * sent. */
uint64_t report_bytes(const struct crumb_exchange_stats *stats, size_t learners);
uint64_t report_down_bytes(const struct crumb_exchange_stats *stats);
double report_kind_sent(const struct crumb_exchange_stats *stats, enum crumb_kind kind);
double report_sent(const struct crumb_exchange_stats *stats);

/* total += part. */
void report_add(struct crumb_exchange_stats *total, const struct crumb_exchange_stats *part);

#endif
