/* Checkpoints of a run: the state that they keep, and how the run goes on from them.
 *
 * SPDX-License-Identifier: MIT */
#include "train/resume.h"
#include "exchange/transport.h"
#include "measure/program.h"
#include "train/agree.h"
#include "train/checkpoint.h"
#include "train/outer.h"

#include <stdlib.h>
#include <string.h>

/* The run's state that is no array. */
struct past {
	struct report run;
	size_t step, epochs; /* epochs: as the options wanted */
	uint64_t moves;
	long log_end;
};

static void add_block(struct checkpoint_block *block, size_t *blocks, void *data, size_t size)
{
	if (!data)
		return;
	if (block)
		block[*blocks] = (struct checkpoint_block){data, size};
	++*blocks;
}

static void add_packer(struct checkpoint_block *block, size_t *blocks, crumb_packer *packer)
{
	if (packer)
		add_block(block, blocks, packer,
		          crumb_packer_size(crumb_packer_codec(packer), crumb_packer_count(packer)));
}

/* Lists the blocks on which the next epoch depends, before which all learners have the same weights: these,
 * the optimizers, states, and, from *packers on, this rank's packers; block may be NULL, to count. */
static size_t list_blocks(const struct train *t, struct past *past, struct checkpoint_block *block,
                          size_t *packers)
{
	const size_t bytes = t->setting->net->parameters * sizeof(float);
	size_t blocks = 0;
	add_block(block, &blocks, past, sizeof *past);
	add_block(block, &blocks, t->param, bytes);
	add_block(block, &blocks, t->average, bytes);
	add_block(block, &blocks, t->states[0],
	          train_own_samples(t) * t->setting->net->states * sizeof(float));
	for (size_t i = 0; i < OPTIMIZER_MOST_MOMENTS; i++)
		add_block(block, &blocks, t->moment[i], bytes);
	for (size_t l = 0; t->outer && l < t->own; l++) {
		add_block(block, &blocks, &t->outer[l].moves, sizeof t->outer[l].moves);
		for (size_t i = 0; i < OPTIMIZER_MOST_MOMENTS; i++)
			add_block(block, &blocks, t->outer[l].moment[i], bytes);
	}
	*packers = blocks;
	for (size_t s = 0; s < t->slices; s++) {
		for (size_t l = 0; l < t->own; l++)
			add_packer(block, &blocks, crumb_exchange_packer(t->exchange, l, s));
		add_packer(block, &blocks, crumb_exchange_mean_packer(t->exchange, s));
	}
	return blocks;
}

typedef int checkpoint_verb(const struct checkpoint *, size_t, const struct checkpoint_block *, size_t,
                            char *, size_t);

/* Writes or reads the checkpoint of an epoch. */
static int with_blocks(struct train *t, checkpoint_verb *verb, size_t epoch, struct past *past, char *why,
                       size_t cap)
{
	const struct crumb_exchange_net *ranks = t->setting->ranks;
	char run[sizeof t->run + 128];
	snprintf(run, sizeof run, "crumb-train %s\nrank %u of %u\n%s", crumb_version(),
	         ranks ? ranks->rank : 0, ranks ? ranks->ranks : 1, t->run);
	const struct checkpoint checkpoint = {t->setting->options->checkpoint, ranks ? ranks->rank : 0, run};
	size_t packers;
	const size_t blocks = list_blocks(t, past, NULL, &packers);
	struct checkpoint_block *block = calloc(blocks, sizeof *block);
	if (!block) {
		snprintf(why, cap, "out of memory");
		return -1;
	}
	list_blocks(t, past, block, &packers);
	int result = verb(&checkpoint, epoch, block, blocks, why, cap);
	for (size_t i = packers; i < blocks && result == 0; i++)
		if ((result = crumb_packer_check(block[i].data, block[i].size)) < 0)
			snprintf(why, cap, "%s: epoch %zu: %s", checkpoint.folder, epoch,
			         crumb_strerror(result));
	free(block);
	return result;
}

int train_save(struct train *t, const struct report *run, char *why, size_t cap)
{
	const struct options *o = t->setting->options;
	struct past past = {*run, t->step, o->epochs, t->moves, t->setting->log->end};
	if (!o->checkpoint || (run->epoch % o->every > 0 && run->epoch < o->epochs))
		return 0;
	return with_blocks(t, checkpoint_write, run->epoch, &past, why, cap);
}

/* Finds the epoch that the slowest rank has reached, with or without learners. */
static int least_epoch(struct train *t, size_t *epoch, char *why, size_t cap)
{
	uint64_t least = *epoch;
	const int result = agree_least(t->setting->ranks, &least, why, cap);
	*epoch = (size_t)least;
	return result;
}

/* Takes the one before the newest checkpoint, *epoch, if that is damaged. */
static int find_whole(const struct checkpoint *checkpoint, size_t *epoch, char *why, size_t cap)
{
	char second[4352] = "there is no other";
	int result = *epoch > 0 ? checkpoint_check(checkpoint, *epoch, why, cap) : 0;
	if (result != CHECKPOINT_DAMAGED)
		return result;
	const size_t length = strlen(why);
	if (checkpoint_find(checkpoint, *epoch, epoch, second, sizeof second) == 0 && *epoch > 0)
		result = checkpoint_check(checkpoint, *epoch, second, sizeof second);
	if (result == 0)
		program_say("crumb-train: %s; the one of epoch %zu is used", why, *epoch);
	else
		snprintf(why + length, cap - length, "; %s", second);
	return result;
}

/* Says how the run goes on, or refuses to: the checkpoint may be past the last epoch. */
static int tell_way(struct train *t, const struct past *past, char *why, size_t cap)
{
	const struct options *o = t->setting->options;
	char line[128];
	if (past->run.epoch > o->epochs) {
		snprintf(why, cap, "%s has come to epoch %zu: --epochs %zu is before it", o->checkpoint,
		         past->run.epoch, o->epochs);
		return -1;
	}
	progress_note(&t->progress, past->run.epoch > 0 ? "goes on from a checkpoint"
	                                                : "no checkpoint yet: from the start");
	if (past->run.epoch > 0 && past->epochs != o->epochs && schedule_has_end(&o->schedule)) {
		snprintf(line, sizeof line,
		         "the learning rate goes on as that of %zu epochs; it was that of %zu", o->epochs,
		         past->epochs);
		progress_note(&t->progress, line);
	}
	return 0;
}

int train_resume(struct train *t, struct report *run, char *why, size_t cap)
{
	const struct options *o = t->setting->options;
	const struct crumb_exchange_net *ranks = t->setting->ranks;
	const struct checkpoint checkpoint = {o->checkpoint, ranks ? ranks->rank : 0, NULL};
	struct past past = {.step = 0};
	size_t epoch;
	if (!o->checkpoint)
		return 0;
	if (checkpoint_find(&checkpoint, SIZE_MAX, &epoch, why, cap) < 0)
		return -1;
	if (!o->resume && epoch > 0) {
		snprintf(why, cap, "%s holds checkpoints: go on from them with --resume, or remove them",
		         o->checkpoint);
		return -1;
	}
	if (!o->resume)
		return log_resume(t->setting->log, 0, why, cap);
	if (find_whole(&checkpoint, &epoch, why, cap) < 0 || least_epoch(t, &epoch, why, cap) < 0 ||
	    (epoch > 0 && with_blocks(t, checkpoint_read, epoch, &past, why, cap) < 0))
		return -1;
	if (tell_way(t, &past, why, cap) < 0)
		return -1;
	*run = past.run;
	t->step = t->progress.done = past.step;
	t->moves = past.moves;
	for (size_t l = 0; t->outer && l < t->own; l++)
		outer_share(t, l);
	return log_resume(t->setting->log, past.log_end, why, cap);
}
