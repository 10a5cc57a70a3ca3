/* The command line of crumb-train.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPTIONS_H
#define OPTIONS_H
#include "exchange/plan.h"
#include "exchange/policy.h"
#include "nets/model.h"
#include "train/data/augment.h"
#include "train/options/mxnet.h"
#include "train/update/optimizer.h"
#include "train/update/schedule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_MOST_CODECS 64

struct options {
	char *const *words; /* of the command line; NULL at the end */
	const struct model *model;
	const char *data; /* texts are argv's */
	struct augment augment;
	bool whiten;
	bool carry_state; /* of LSTMs */
	size_t learners;
	size_t batch;         /* of all learners */
	size_t learner_batch; /* 0, or each learner's batch, from which batch follows */
	size_t epochs;
	struct optimizer optimizer;
	double lr, momentum, weight_decay, average, dropout;
	double clip_norm;   /* of a learner's gradient; 0: none */
	size_t measure;     /* mini-batches of a learner that shared statistics are of */
	size_t local_steps; /* a learner's between two exchanges; 0: an exchange a step */
	double outer_lr, outer_momentum;
	bool decay_first; /* before the exchange */
	struct schedule schedule;
	double warmup; /* epochs */
	uint64_t seed;
	struct {
		const char *text;
		struct policy policy;
		char translated[MXNET_SPEC_MAX]; /* the text of a codec from --compression-params */
	} codec[OPTIONS_MOST_CODECS];
	size_t codec_count;
	const struct plan *plan;
	size_t node_size;   /* with tiers; 0: as the machines are */
	uint64_t staleness; /* with async: steps; UINT64_MAX: there is no bound */
	const char *down_text;
	struct policy down;
	bool down_exact;
	bool overlap;
	double timeout;             /* seconds */
	size_t threads;             /* 0: one a CPU, divided among a machine's ranks */
	const char *log;            /* NULL: none */
	const char *page;           /* of the log; NULL: none */
	size_t probe;               /* steps from one probe to the next; 0: no probes */
	const char *dump_gradients; /* a folder; NULL: none are written */
	const char *checkpoint;     /* a folder; NULL: none are written */
	size_t every;               /* epochs from one checkpoint to the next */
	bool resume;
	uint64_t typed; /* bit i: the i-th option of the table was given */
	bool flat;      /* the whole gradient is one slice */
	bool estimate;  /* measure only */
};

enum options_result {
	OPTIONS_RUN,  /* options are complete and within their ranges */
	OPTIONS_DONE, /* --help or --version, answered if this rank prints */
	OPTIONS_WRONG /* standard error has a message */
};
enum options_result options_parse(struct options *options, int argc, char **argv, bool answer);

/* Returns true if an option, by its name without "--", was typed, be it with its default value. */
bool options_typed(const struct options *options, const char *name);

/* Returns the number of CPUs that this process may use. */
size_t options_cpus(void);

/* Writes the options on which a step with the codec of this index depends, a line each as they may be typed,
 * or "no --flat": runs of equal texts, --epochs, --learners and --node-size are equal, and one may go on as
 * another of equal text. With OPTIONS_OF_RANKS it writes those on which ranks have to agree: all codecs, and
 * what else a run may change when it goes on. Returns the length of the text, or cap or more if it is cut
 * off. */
#define OPTIONS_OF_RANKS SIZE_MAX
size_t options_describe(const struct options *options, size_t codec, char *text, size_t cap);

#endif
