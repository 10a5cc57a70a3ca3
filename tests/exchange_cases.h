/* Cases for tests of the exchange: a model, its gradients, their means by plain crumb calls, and ranks as
 * threads.
 *
 * SPDX-License-Identifier: MIT */
#ifndef EXCHANGE_CASES_H
#define EXCHANGE_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "exchange/exchange.h"
#include "exchange/policy.h"

enum { SLICES = 10, LEARNERS = 4, STEPS = 3, MOST_RANKS = 5, NONE = 1000, CASE_SEED = 1 };

/* The model: every kind, an empty slice, slices too short to shrink. place_slices fills in their places. */
extern struct crumb_slice slices[SLICES];
extern size_t total;
void place_slices(void);
extern const float even_share[LEARNERS], uneven_share[LEARNERS];

/* Makes a gradient that is about normal, of another size in every slice; a pure function. */
void make_gradient(float *grad, size_t learner, unsigned step);

/* Makes a learner's k-th further gradient of a step, k from 1 on. The first one of learner 2 has a NaN in
 * slice 4. */
void make_further(float *grad, size_t learner, unsigned step, unsigned k);

struct policy parse_policy(const char *text);

/* Returns true if the codec's packers have momentum; it is their first key then. */
bool has_momentum(const crumb_codec *codec);
void *must(void *memory); /* aborts if there is none */

/* Calls run with each of count objects of size bytes, in a thread each; returns when all have returned. */
void in_threads(void *(*run)(void *), void *objects, size_t size, unsigned count);

/* Calls law for a policy of every codec: with its defaults, and with every key at either end of its range,
 * except where that would take long. */
void for_every_setting(void (*law)(const struct policy *policy, const char *text, bool defaults));

/* The means that plain crumb calls make of the gradients. */
struct reference {
	crumb_packer *packer[LEARNERS][SLICES];
	crumb_packer *down[SLICES]; /* NULL: the mean comes down as it is */
	crumb_codec codec[SLICES], down_codec[SLICES];
	bool exact;      /* frames that agree on a scaler come down as integers */
	unsigned extras; /* further gradients that statistics are of */
	float *grad[LEARNERS];
	float *mean[STEPS];
	uint64_t frame_bytes[CRUMB_KINDS]; /* over all learners and steps */
	uint64_t down_bytes[CRUMB_KINDS];  /* over all steps; not when exact */
};

/* owned: one rank takes the mean, and sends it down by a policy, or without loss for NULL. */
struct reference *reference_open(const struct policy *policy, bool owned, const struct policy *down);
const float *reference_step(struct reference *ref, const float *share, unsigned step);
void reference_close(struct reference *ref);

/* Ranks as threads, all at the same job. */
struct job {
	const struct plan *plan;
	const struct policy *policy, *down;
	const float *share;
	unsigned ranks, threads;
	unsigned nan_step; /* step at which learner nan_learner has a NaN; NONE: never */
	size_t nan_learner;
	unsigned extras;    /* further gradients that statistics are of */
	unsigned odd_rank;  /* rank with another slice table; NONE: nobody */
	unsigned odd_share; /* rank with other weights */
	unsigned leaver;    /* rank that leaves after the first step */
	unsigned sleeper;   /* rank that misses the second step, and does not say so */
	bool alone;         /* one rank without a transport */
};

struct rank_run {
	const struct job *job;
	struct crumb_exchange_net *net;
	int opened, error[STEPS];
	float *mean[STEPS];
	uint64_t packed; /* frames by all its packers */
	double owed;
	struct exchange_stats stats;
	char why[STEPS][200];
};

extern const struct job plain_job; /* one rank, one thread, and all goes well */
void run_job(const struct job *job, struct rank_run *run);
void free_job(struct rank_run *run, unsigned ranks);

/* Fails the test unless a mean has these bits. */
void assert_bits(const float *got, const float *expected, const char *text, const struct job *job);

#endif
