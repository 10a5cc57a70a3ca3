/* The command line of crumb-train.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "exchange/plan.h"
#include "exchange/policy.h"
#include "train/data/augment.h"
#include "nets/model.h"
#include "train/update/optimizer.h"
#include "train/options/mxnet.h"
#include "train/update/schedule.h"

#define OPTIONS_MOST_CODECS 64

struct options {
	const struct model *model;
	const char *data; /* texts point into argv */
	struct augment augment;
	size_t learners;
	size_t batch;         /* over all learners */
	size_t learner_batch; /* where each learner's is given, and batch follows from it; else 0 */
	size_t epochs;
	struct optimizer optimizer;
	double lr, momentum, weight_decay, average, dropout;
	struct schedule schedule;
	double warmup; /* epochs */
	uint64_t seed;
	struct {
		const char *text;
		struct policy policy;
		char translated[MXNET_SPEC_MAX]; /* text, where it is from --compression-params */
	} codec[OPTIONS_MOST_CODECS];
	size_t codec_count;
	const struct plan *plan;
	const char *down_text;
	struct policy down;
	bool down_exact;
	double timeout;             /* seconds */
	size_t threads;             /* 0: one a CPU, which ranks of one machine share */
	const char *log;            /* NULL: none */
	size_t probe;               /* steps from one reading to the next; 0: there is none */
	const char *dump_gradients; /* a folder; NULL: none are written */
	const char *checkpoint;     /* a folder; NULL: none are written */
	size_t every;               /* so many epochs one is */
	bool resume;
	bool flat;     /* the whole gradient is one slice */
	bool estimate; /* nothing is trained */
};

enum options_result {
	OPTIONS_RUN,  /* options are complete and within their ranges */
	OPTIONS_DONE, /* --help or --version was asked for, and answered if this rank answers */
	OPTIONS_WRONG /* standard error says what is wrong */
};
enum options_result options_parse(struct options *options, int argc, char **argv, bool answer);

/* The CPUs that this process may use. */
size_t options_cpus(void);

/* Writes the options that decide what numbers come out: two runs of the same text (but for --codec) are the
 * same run. */
void options_describe(const struct options *options, size_t codec, char *text, size_t cap);

#endif
