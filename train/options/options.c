/* The table of options, from which parsing, defaults and --help come.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_getaffinity */
#include "train/options/options.h"
#include "exchange/auto/script.h"
#include "program/hint.h"
#include "program/nearest.h"
#include "program/program.h"
#include "train/data/data.h"
#include "train/options/refusals.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type {
	COUNT,
	SEED,
	REAL,
	MODEL,
	DATA,
	AUGMENT,
	SCHEDULE,
	OPTIMIZER,
	CODEC,
	MXNET,
	PLAN,
	BOUND,
	DOWN,
	FILE_NAME,
	FLAG,
	HELP,
	VERSION
};

struct option {
	const char *name, *value, *brief, *fallback;
	enum type type;
	size_t offset; /* of a field of struct options */
	double min, max;
};

#define FIELD(name) offsetof(struct options, name)

static const struct option table[] = {
        {"model", "NAME", "one of the networks below", "lenet", MODEL, FIELD(model), 0, 0},
        {"data", "SOURCE",
         "digits[:N] or colour-digits[:N] (drawn by the program), text (written by it), mnist:DIR, idx:DIR, "
         "cifar10:DIR (binary), text:FILE",
         "digits", DATA, FIELD(data), 0, 0},
        {"augment", "TEXT", "training images: none, shift:pad=4 or crop:side=24,brightness=63,contrast=0.8",
         "none", AUGMENT, FIELD(augment), 0, 0},
        {"whiten", NULL, "every image minus its own mean, divided by its own standard deviation", NULL, FLAG,
         FIELD(whiten), 0, 0},
        {"carry-state", NULL,
         "LSTMs begin with the state in which the step before ended; text comes in its own order", NULL, FLAG,
         FIELD(carry_state), 0, 0},
        {"learners", "N", "how many learners share a batch", "8", COUNT, FIELD(learners), 1, 65536},
        {"batch", "N", "samples a step, over all learners; the rest of an epoch is left out", "100", COUNT,
         FIELD(batch), 1, 1e9},
        {"learner-batch", "N", "samples a step of each learner, instead of --batch; 0: as --batch says", "0",
         COUNT, FIELD(learner_batch), 0, 1e6},
        {"epochs", "N", "how often to go through the training set", "5", COUNT, FIELD(epochs), 1, 1e6},
        {"lr", "X", "initial learning rate", "0.02", REAL, FIELD(lr), 0, 1e6},
        {"optimizer", "TEXT",
         "sgd, adam:beta1=0.9,beta2=0.999,epsilon=1e-8, adamw (the same keys) or rmsprop:decay=0.9,epsilon=1e-8",
         "sgd", OPTIMIZER, FIELD(optimizer), 0, 0},
        {"momentum", "X", "of stochastic gradient descent; not for slices whose codec has it, such as dgc",
         "0.9", REAL, FIELD(momentum), 0, 0.999999},
        {"weight-decay", "X",
         "times the parameters is added to the gradient; adamw takes it off the matrices, times the rate",
         "0", REAL, FIELD(weight_decay), 0, 1e6},
        {"decay-first", NULL,
         "adds weight decay to each learner's gradient before it is compressed, not to the mean", NULL, FLAG,
         FIELD(decay_first), 0, 0},
        {"clip-norm", "X",
         "a learner's gradient is scaled down to this norm if it is longer, before it is compressed; 0: never",
         "0", REAL, FIELD(clip_norm), 0, 1e30},
        {"measure", "N",
         "before a step in which learners share statistics (alq, amq, terngrad:shared=1) each measures N "
         "mini-batches, the step's and the next ones, at most an epoch's",
         "1", COUNT, FIELD(measure), 1, 1e6},
        {"local-steps", "N",
         "steps that each learner takes alone before an exchange (DiLoCo), with weights and optimizer of its own; an "
         "exchange also ends each epoch; 0: all share each step",
         "0", COUNT, FIELD(local_steps), 0, 1e9},
        {"outer-lr", "X", "rate at which, with --local-steps, the shared weights follow the learners'", "0.7",
         REAL, FIELD(outer_lr), 0, 1e6},
        {"outer-momentum", "X", "of that, Nesterov's; not for slices whose codec has momentum", "0.9", REAL,
         FIELD(outer_momentum), 0, 0.999999},
        {"average", "X",
         "tests a mean of the parameters whose weights fall by this factor a step; 0: the last", "0", REAL,
         FIELD(average), 0, 0.999999},
        {"dropout", "X",
         "share of the inputs of fully connected layers, the first layer excepted, that training leaves out",
         "0", REAL, FIELD(dropout), 0, 0.99},
        {"schedule", "TEXT", "constant, step:every=10,factor=0.1 (epochs), poly:power=1 or cosine",
         "constant", SCHEDULE, FIELD(schedule), 0, 0},
        {"warmup", "EPOCHS", "the rate grows in proportion over so many, at the start", "0", REAL,
         FIELD(warmup), 0, 1e6},
        {"seed", "N", "of initial weights, order of samples and random codecs", "1", SEED, FIELD(seed), 0, 0},
        {"codec", "SPEC",
         "a codec, or a policy KIND[,KIND...]=SPEC;..., or auto, which times codecs and plans and chooses; "
         "several run one after another",
         "raw", CODEC, FIELD(codec), 0, 0},
        {"flat", NULL, "the whole gradient is one slice, of kind fc, and no slice a layer", NULL, FLAG,
         FIELD(flat), 0, 0},
        {"compression-params", "JSON",
         "a codec as MXNet writes it, {\"type\":\"2bit\",\"threshold\":t}; where MXNet "
         "sums over samples, crumb takes the mean",
         NULL, MXNET, FIELD(codec), 0, 0},
        {"plan", "NAME", "how ranks exchange gradients, one of the plans below", "gather", PLAN, FIELD(plan),
         0, 0},
        {"node-size", "N", "with tiers: consecutive ranks of a node; by default the ranks of a machine", NULL,
         COUNT, FIELD(node_size), 1, 1e6},
        {"staleness", "N",
         "with async: most steps that a rank may be ahead of the slowest one in an epoch; 0: lock step; or none",
         "none", BOUND, FIELD(staleness), 0, 1e9},
        {"down", "SPEC",
         "codec or policy of the mean on its way down (shard, server, tiers-shard), of changes of the weights "
         "(async), or exact",
         "exact", DOWN, FIELD(down), 0, 0},
        {"overlap", NULL,
         "exchanges late layers' gradients while early ones are still computed; results are the same", NULL,
         FLAG, FIELD(overlap), 0, 0},
        {"timeout", "SECONDS", "how long a rank waits for another one while none of its messages moves", "60",
         REAL, FIELD(timeout), 0.1, 1e6},
        {"threads", "N",
         "threads a rank, by default one a CPU, divided among a machine's ranks; results do not depend on it",
         NULL, COUNT, FIELD(threads), 1, 1024},
        {"log", "FILE.jsonl",
         "an event an epoch and one a codec; replaces an earlier log unless --resume; rank R: FILE.jsonl.R",
         NULL, FILE_NAME, FIELD(log), 0, 0},
        {"report", "PAGE.html", "a page of the log, written anew after each epoch (crumb report)", NULL,
         FILE_NAME, FIELD(page), 0, 0},
        {"probe", "STEPS",
         "every so many exchanges the log says what of the gradient has arrived, and of each layer what its codec "
         "does to it",
         NULL, COUNT, FIELD(probe), 1, 1e9},
        {"dump-gradients", "DIR",
         "writes what the first learner exchanges, uncompressed, as .npy: at the first step and each epoch's last",
         NULL, FILE_NAME, FIELD(dump_gradients), 0, 0},
        {"checkpoint", "DIR",
         "keeps there what it takes to go on: weights, optimizer, packers; the two newest stay", NULL,
         FILE_NAME, FIELD(checkpoint), 0, 0},
        {"every", "N", "epochs from one checkpoint to the next", "1", COUNT, FIELD(every), 1, 1e6},
        {"resume", NULL,
         "goes on from the newest checkpoint, also of other ranks or learners, and cuts the log back to it",
         NULL, FLAG, FIELD(resume), 0, 0},
        {"estimate", NULL,
         "prints --batch and --compute of one learner for crumb plan, under mpirun --nodes, --link and "
         "--latency, too, and ends",
         NULL, FLAG, FIELD(estimate), 0, 0},
        {"help", NULL, "prints this, as -h and help do", NULL, HELP, 0, 0, 0},
        {"version", NULL, "prints the version", NULL, VERSION, 0, 0, 0},
};

#define OPTIONS (sizeof table / sizeof *table)
_Static_assert(OPTIONS <= 64, "options.typed has a bit an option");

static void print_help(void)
{
	printf("Usage: crumb-train [OPTION]...\n"
	       "Trains a network on the mean of its learners' compressed gradients, and says what was sent "
	       "for it.\n\n");
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option *o = &table[i];
		const int used = printf("  --%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
		printf("%*s%s", used < 27 ? 27 - used : 1, "", o->brief);
		printf(o->fallback ? " [%s]\n" : "\n", o->fallback);
	}
	printf("\nNetworks:\n");
	const struct model *model;
	for (size_t i = 0; (model = model_list(i)); i++)
		printf("  %-24s %s\n", model->name, model->brief);
	printf("\nPlans:\n");
	const struct plan *plan;
	for (size_t i = 0; (plan = crumb_plan_list(i)); i++)
		printf("  %-24s %s%s%s%s\n", plan->name, plan->brief, plan->alias ? " (MXNet: " : "",
		       plan->alias ? plan->alias : "", plan->alias ? ")" : "");
	printf("\nKinds of a policy:");
	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		printf(" %s", crumb_kind_name(kind));
	printf("\nCodecs:");
	const crumb_codec_info *info;
	for (size_t i = 0; (info = crumb_list(i)); i++)
		printf(" %s", info->name);
	printf(" (crumb list says more)\n"
	       "Exit status: 0, 1 (failed), 2 (wrong usage).\n");
}

static int wrong(const struct option *o, const char *text)
{
	struct nearest nearest = {.word = text, .length = strlen(text)};
	const struct model *model;
	fprintf(stderr, "crumb-train: --%s: ", o->name);
	if (o->type == BOUND)
		program_say("\"%s\" is neither none nor a whole number up to %.0f", text, o->max);
	else if (o->type == COUNT)
		program_say("\"%s\" is no whole number from %.0f to %.0f", text, o->min, o->max);
	else if (o->type == SEED)
		program_say("\"%s\" is no whole number below 2^64", text);
	else if (o->type == REAL)
		program_say("\"%s\" is no number from %g to %g", text, o->min, o->max);
	else
		program_say("no \"%s\"", text);
	for (size_t i = 0; o->type == MODEL && (model = model_list(i)); i++)
		nearest_try(&nearest, model->name);
	nearest_say(&nearest, "");
	return -1;
}

static int wrong_at(const struct option *o, const char *text, const char *bad)
{
	fprintf(stderr, "crumb-train: --%s: this is not understood, or out of range:\n", o->name);
	program_caret(text, bad);
	if (o->type == CODEC || o->type == DOWN)
		hint_policy(text, bad);
	return -1;
}

static bool parse_whole(const char *text, uint64_t *value)
{
	char *end;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == 0 && errno == 0;
}

static int set_count(const struct option *o, void *field, const char *text)
{
	uint64_t value;
	if (!parse_whole(text, &value) || (double)value < o->min || (double)value > o->max)
		return wrong(o, text);
	*(size_t *)field = (size_t)value;
	return 0;
}

static int set_bound(const struct option *o, uint64_t *field, const char *text)
{
	*field = UINT64_MAX;
	if (strcmp(text, "none") == 0)
		return 0;
	return !parse_whole(text, field) || (double)*field > o->max ? wrong(o, text) : 0;
}

static int set_real(const struct option *o, void *field, const char *text)
{
	char *end;
	const double value = strtod(text, &end);
	if (end == text || *end || !(value >= o->min && value <= o->max))
		return wrong(o, text);
	*(double *)field = value;
	return 0;
}

static int add_codec(struct options *options, const struct option *o, const char *text)
{
	const char *bad = text;
	if (options->codec_count == OPTIONS_MOST_CODECS) {
		fprintf(stderr, "crumb-train: more than %d times --codec\n", OPTIONS_MOST_CODECS);
		return -1;
	}
	static struct crumb_script script;
	if (crumb_script_meant(text)
	            ? crumb_script_parse(&script, text, &bad) < 0
	            : crumb_policy_parse(&options->codec[options->codec_count].policy, text, &bad) < 0)
		return wrong_at(o, text, bad);
	options->codec[options->codec_count++].text = text;
	return 0;
}

static int add_translated(struct options *options, const struct option *o, const char *text)
{
	char spec[MXNET_SPEC_MAX];
	const char *bad;
	if (mxnet_spec(text, spec, &bad) < 0)
		return wrong_at(o, text, bad);
	const size_t i = options->codec_count;
	if (add_codec(options, o, spec) < 0)
		return -1;
	memcpy(options->codec[i].translated, spec, sizeof spec);
	options->codec[i].text = options->codec[i].translated;
	return 0;
}

static int set_down(struct options *options, const struct option *o, const char *text)
{
	const char *bad = text;
	options->down_text = text;
	options->down_exact = strcmp(text, "exact") == 0;
	if (!options->down_exact && crumb_policy_parse(&options->down, text, &bad) < 0)
		return wrong_at(o, text, bad);
	return 0;
}

static int set_plan(struct options *options, const struct option *o, const char *text)
{
	const struct plan *plan;
	options->plan = crumb_plan_find(text);
	if (options->plan)
		return 0;
	struct nearest nearest = {.word = text, .length = strlen(text)};
	char there[192] = "";
	for (size_t i = 0, at = 0; (plan = crumb_plan_list(i)); i++, at = strlen(there)) {
		nearest_try(&nearest, plan->name);
		snprintf(there + at, sizeof there - at, plan->alias ? "%s (%s), " : "%s, ", plan->name,
		         plan->alias);
	}
	there[strlen(there) - strlen(", ")] = 0;
	fprintf(stderr, "crumb-train: --%s: ", o->name);
	program_say("no \"%s\": there are %s", text, there);
	nearest_say(&nearest, "");
	return -1;
}

static int set(struct options *options, const struct option *o, const char *text)
{
	void *field = (char *)options + o->offset;
	const char *bad = text;
	switch (o->type) {
	case COUNT:
		return set_count(o, field, text);
	case SEED:
		return parse_whole(text, field) ? 0 : wrong(o, text);
	case REAL:
		return set_real(o, field, text);
	case DATA:
		options->data = text;
		return data_is_source(text) ? 0 : wrong(o, text);
	case FILE_NAME:
		*(const char **)field = text;
		return 0;
	case MODEL:
		options->model = model_find(text);
		return options->model ? 0 : wrong(o, text);
	case SCHEDULE:
		return schedule_parse(field, text, &bad) < 0 ? wrong_at(o, text, bad) : 0;
	case AUGMENT:
		return augment_parse(field, text, &bad) < 0 ? wrong_at(o, text, bad) : 0;
	case OPTIMIZER:
		return optimizer_parse(field, text, &bad) < 0 ? wrong_at(o, text, bad) : 0;
	case CODEC:
		return add_codec(options, o, text);
	case MXNET:
		return add_translated(options, o, text);
	case PLAN:
		return set_plan(options, o, text);
	case BOUND:
		return set_bound(o, field, text);
	case DOWN:
		return set_down(options, o, text);
	case FLAG:
		*(bool *)field = true;
		return 0;
	case HELP:
	case VERSION:
		break;
	}
	return 0;
}

/* Returns true for options that a run may change when it goes on, or, with OPTIONS_OF_RANKS, of which each
 * rank may have its own. */
static bool is_free(size_t offset, size_t codec)
{
	if (offset == FIELD(threads) || offset == FIELD(timeout) || offset == FIELD(probe) ||
	    offset == FIELD(learner_batch)) /* --batch follows from it */
		return true;
	return codec != OPTIONS_OF_RANKS &&
	       (offset == FIELD(epochs) || offset == FIELD(every) || offset == FIELD(resume) ||
	        offset == FIELD(estimate) || offset == FIELD(learners) || offset == FIELD(node_size) ||
	        offset == FIELD(overlap));
}

/* Writes the codec's text, or with OPTIONS_OF_RANKS those of all codecs. */
static void write_codecs(const struct options *options, size_t codec, char *text, size_t cap)
{
	const bool all = codec == OPTIONS_OF_RANKS;
	const size_t first = all ? 0 : codec, end = all ? options->codec_count : codec + 1;
	for (size_t i = first, used = 0; i < end && used < cap; i++)
		used += (size_t)snprintf(text + used, cap - used, "%s%s", i > first ? " --codec " : "",
		                         options->codec[i].text);
}

/* Writes an option's value as it may be typed; nothing if the option has none that matters. */
static void write_value(const struct options *options, const struct option *o, size_t codec, char *text,
                        size_t cap)
{
	const void *field = (const char *)options + o->offset;
	switch (o->type) {
	case COUNT:
		snprintf(text, cap, "%zu", *(const size_t *)field);
		break;
	case SEED:
		snprintf(text, cap, "%llu", (unsigned long long)options->seed);
		break;
	case REAL:
		snprintf(text, cap, "%.12g", *(const double *)field);
		break;
	case MODEL:
		snprintf(text, cap, "%s", options->model->name);
		break;
	case DATA:
		snprintf(text, cap, "%s", options->data);
		break;
	case AUGMENT:
		augment_write(field, text, cap);
		break;
	case SCHEDULE:
		schedule_write(field, text, cap);
		break;
	case OPTIMIZER:
		optimizer_write(field, text, cap);
		break;
	case CODEC:
		write_codecs(options, codec, text, cap);
		break;
	case PLAN:
		snprintf(text, cap, "%s", options->plan->name);
		break;
	case BOUND:
		if (*(const uint64_t *)field == UINT64_MAX)
			snprintf(text, cap, "none");
		else
			snprintf(text, cap, "%llu", (unsigned long long)*(const uint64_t *)field);
		break;
	case DOWN:
		snprintf(text, cap, "%s", options->down_text);
		break;
	case MXNET:
	case FILE_NAME:
	case FLAG:
	case HELP:
	case VERSION:
		break;
	}
}

/* Returns true if a flag or a file is given. */
static bool is_given(const struct options *options, const struct option *o)
{
	const void *field = (const char *)options + o->offset;
	return o->type == FLAG ? *(const bool *)field : *(const char *const *)field != NULL;
}

size_t options_describe(const struct options *options, size_t codec, char *text, size_t cap)
{
	size_t used = 0;
	*text = 0;
	for (size_t i = 0; i < OPTIONS && used < cap; i++) {
		const struct option *o = &table[i];
		char value[8192] = "";
		if (is_free(o->offset, codec))
			continue;
		write_value(options, o, codec, value, sizeof value);
		if (*value)
			used += (size_t)snprintf(text + used, cap - used, "--%s %s\n", o->name, value);
		else if (o->type == FLAG || (codec == OPTIONS_OF_RANKS && o->offset == FIELD(checkpoint)))
			used += (size_t)snprintf(text + used, cap - used, "%s--%s\n",
			                         is_given(options, o) ? "" : "no ", o->name);
	}
	return used;
}

static const struct option *find(const char *name, size_t length)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
			return &table[i];
	return NULL;
}

bool options_typed(const struct options *options, const char *name)
{
	const struct option *o = find(name, strlen(name));
	return o && options->typed >> (o - table) & 1;
}

static int take_defaults(struct options *options)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (table[i].fallback && table[i].type != CODEC &&
		    set(options, &table[i], table[i].fallback) < 0)
			return -1;
	return 0;
}

size_t options_cpus(void)
{
	cpu_set_t cpus;
	return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (size_t)CPU_COUNT(&cpus) : 1;
}

static int complete(struct options *options)
{
	if (options->learner_batch)
		options->batch = options->learners * options->learner_batch;
	const struct option *codec = find("codec", 5);
	if (options->codec_count == 0 && add_codec(options, codec, codec->fallback) < 0)
		return -1;
	return options_refuse(options);
}

static enum options_result refuse_option(const char *word, size_t length)
{
	struct nearest nearest = {.word = word + 2, .length = length};
	program_say("crumb-train: no option \"%s\"", word);
	for (size_t i = 0; i < OPTIONS; i++)
		nearest_try(&nearest, table[i].name);
	nearest_say(&nearest, "--");
	return OPTIONS_WRONG;
}

static enum options_result parse(struct options *options, int argc, char **argv, bool answer)
{
	for (int i = 1; i < argc; i++) {
		const bool asks = strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "help") == 0;
		const char *word = asks ? "--help" : argv[i], *name = word + 2, *value = NULL;
		if (strncmp(word, "--", 2) != 0) {
			program_say("crumb-train: \"%s\" is no option", word);
			return OPTIONS_WRONG;
		}
		const size_t length = strcspn(name, "=");
		const struct option *o = find(name, length);
		if (!o)
			return refuse_option(word, length);
		if (!o->value && name[length] == '=') {
			program_say("crumb-train: --%s takes no value", o->name);
			return OPTIONS_WRONG;
		}
		if (answer && o->type == HELP)
			print_help();
		if (answer && o->type == VERSION)
			printf("crumb-train %s\n", crumb_version());
		if (o->type == HELP || o->type == VERSION)
			return OPTIONS_DONE;
		options->typed |= UINT64_C(1) << (o - table);
		if (!o->value) {
			set(options, o, NULL);
			continue;
		}
		value = name[length] == '=' ? name + length + 1 : argv[++i];
		if (!value) {
			fprintf(stderr, "crumb-train: --%s wants %s\n", o->name, o->value);
			return OPTIONS_WRONG;
		}
		if (set(options, o, value) < 0)
			return OPTIONS_WRONG;
	}
	return complete(options) < 0 ? OPTIONS_WRONG : OPTIONS_RUN;
}

enum options_result options_parse(struct options *options, int argc, char **argv, bool answer)
{
	*options = (struct options){.words = argv};
	const enum options_result result =
	        take_defaults(options) < 0 ? OPTIONS_WRONG : parse(options, argc, argv, answer);
	if (result == OPTIONS_WRONG)
		fprintf(stderr, "Try \"crumb-train --help\".\n");
	return result;
}
