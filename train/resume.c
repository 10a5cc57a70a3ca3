/* Checkpoints of a run: the state that they keep, and how the run goes on from them.
 *
 * SPDX-License-Identifier: MIT */
#include "train/resume.h"
#include "program/program.h"
#include "train/agree.h"
#include "train/checkpoint.h"
#include "train/data/random.h"
#include "train/holding.h"
#include "train/outer.h"

#include "exchange/plans/async.h"
#include "exchange/transport.h"
#include <stdlib.h>
#include <string.h>

enum { RUN_MAX = 4352, WHY_MAX = 4352 };

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
		block[*blocks] = (struct checkpoint_block){.data = data, .size = size};
	++*blocks;
}

/* The mean's packer is in one rank's checkpoint only; that of the others has an empty block. */
static void add_packer(struct checkpoint_block *block, size_t *blocks, crumb_packer *packer, bool optional)
{
	const size_t size =
	        packer ? crumb_packer_size(crumb_packer_codec(packer), crumb_packer_count(packer)) : 0;
	if (block)
		block[*blocks] = (struct checkpoint_block){packer, size, optional};
	++*blocks;
}

/* Lists the blocks of a rank on which the next epoch depends, before which all learners have the same
 * weights: the layout, weights, optimizers, states, and, from *packers on, packers; block may be NULL, to
 * count. */
static size_t list_blocks(const struct train *t, struct holding *held, struct past *past,
                          struct checkpoint_block *block, size_t *packers)
{
	const size_t bytes = t->setting->net->parameters * sizeof(float);
	size_t blocks = 0;
	add_block(block, &blocks, &held->layout, sizeof held->layout);
	add_block(block, &blocks, past, sizeof *past);
	add_block(block, &blocks, held->debtor, (size_t)held->layout.learners * sizeof *held->debtor);
	add_block(block, &blocks, t->param, bytes);
	add_block(block, &blocks, t->average, bytes);
	add_block(block, &blocks, held->states,
	          holding_samples(t, held) * t->setting->net->states * sizeof(float));
	for (size_t i = 0; i < OPTIMIZER_MOST_MOMENTS; i++)
		add_block(block, &blocks, t->moment[i], bytes);
	for (size_t l = 0; held->outer && l < held->own; l++) {
		add_block(block, &blocks, &held->outer[l].moves, sizeof held->outer[l].moves);
		for (size_t i = 0; i < OPTIMIZER_MOST_MOMENTS; i++)
			add_block(block, &blocks, held->outer[l].moment[i], bytes);
	}
	*packers = blocks;
	for (size_t i = 0; i < held->layout.debtors * t->slices; i++)
		add_packer(block, &blocks, held->packer[i], false);
	for (size_t s = 0; s < t->slices; s++)
		add_packer(block, &blocks, held->mean[s], true);
	return blocks;
}

static struct checkpoint checkpoint_of(const struct train *t, unsigned rank, char run[RUN_MAX])
{
	snprintf(run, RUN_MAX, "crumb-train %s\n%s", crumb_version(), t->run);
	return (struct checkpoint){t->setting->options->checkpoint, rank, run};
}

/* Forgets the packers of means that a rank of another division did not have. */
static void keep_means(const struct train *t, struct holding *held, const struct checkpoint_block *mean)
{
	for (size_t s = 0; s < t->slices && !held->lent; s++)
		if (mean[s].size == 0) {
			free(held->mean[s]);
			held->mean[s] = NULL;
		}
}

/* Writes or reads a rank's checkpoint of an epoch. */
static int with_blocks(const struct train *t, bool write, size_t epoch, struct holding *held,
                       struct past *past, char *why, size_t cap)
{
	char run[RUN_MAX];
	const struct checkpoint checkpoint = checkpoint_of(t, held->layout.rank, run);
	size_t packers;
	const size_t blocks = list_blocks(t, held, past, NULL, &packers);
	struct checkpoint_block *block = calloc(blocks, sizeof *block);
	if (!block) {
		snprintf(why, cap, "out of memory");
		return -1;
	}
	list_blocks(t, held, past, block, &packers);
	int result = write ? checkpoint_write(&checkpoint, epoch, block, blocks, why, cap)
	                   : checkpoint_read(&checkpoint, epoch, block, blocks, why, cap);
	for (size_t i = packers; i < blocks && result == 0; i++)
		if (block[i].size > 0 && (result = crumb_packer_check(block[i].data, block[i].size)) < 0)
			snprintf(why, cap, "%s: epoch %zu: %s", checkpoint.folder, epoch,
			         crumb_strerror(result));
	if (result == 0)
		keep_means(t, held, block + blocks - t->slices);
	free(block);
	return result;
}

/* Takes memory for what a rank had that has been given up, with packers that owe nothing. */
static bool open_lost(struct holding *lost, const struct train *t, const struct holding *own, unsigned rank)
{
	const uint64_t seed = random_stream(t->setting->options->seed, RANDOM_PACKERS, 0).counter;
	struct layout layout = own->layout;
	size_t first, count;
	crumb_async_learners(t->exchange, rank, &first, &count);
	layout.rank = rank;
	layout.first_debtor = first;
	layout.debtors = count;
	if (!holding_open(lost, t, &layout))
		return false;
	memcpy(lost->debtor, own->debtor, (size_t)layout.learners * sizeof *own->debtor);
	for (size_t s = 0; s < t->slices; s++) {
		free(lost->mean[s]);
		lost->mean[s] = NULL;
		for (size_t d = 0; d < count; d++)
			crumb_packer_init(lost->packer[d * t->slices + s],
			                  crumb_exchange_codec(t->exchange, s), t->slice[s].n,
			                  t->slice[s].run, crumb_exchange_seed(seed, first + d, s));
	}
	return true;
}

/* Writes the files of ranks that have been given up, in their stead. */
static int save_lost(const struct train *t, const struct holding *own, struct past past, char *why,
                     size_t cap)
{
	const struct crumb_exchange_net *ranks = t->setting->ranks;
	int result = 0;
	past.log_end = 0; /* unknown */
	for (unsigned k = 0; ranks && ranks->rank == 0 && k < ranks->losses && result == 0; k++) {
		struct holding lost;
		snprintf(why, cap, "out of memory");
		result = open_lost(&lost, t, own, ranks->lost[k])
		                 ? with_blocks(t, true, past.run.epoch, &lost, &past, why, cap)
		                 : -1;
		holding_close(&lost, t);
	}
	return result;
}

int train_save(struct train *t, const struct report *run, char *why, size_t cap)
{
	const struct options *o = t->setting->options;
	struct past past = {*run, t->step, o->epochs, t->moves, t->setting->log->end};
	struct holding held;
	if (!o->checkpoint || (run->epoch % o->every > 0 && run->epoch < o->epochs))
		return 0;
	if (log_settle(t->setting->log, why, cap) < 0)
		return -1;
	snprintf(why, cap, "out of memory");
	int result = holding_of(&held, t) ? with_blocks(t, true, run->epoch, &held, &past, why, cap) : -1;
	if (result == 0)
		result = save_lost(t, &held, past, why, cap);
	holding_close(&held, t);
	return result;
}

/* ---- which checkpoint ----------------------------------------------------------------------- */

/* Finds the epoch that the slowest rank has reached, with or without learners. */
static int least_epoch(struct train *t, size_t *epoch, char *why, size_t cap)
{
	double least = (double)*epoch;
	const int result = agree_least(t->setting->ranks, &least, why, cap);
	*epoch = (size_t)least;
	return result;
}

static int read_layout(const struct train *t, uint32_t rank, size_t epoch, struct layout *layout, char *why,
                       size_t cap)
{
	char run[RUN_MAX];
	const struct checkpoint checkpoint = checkpoint_of(t, rank, run);
	struct past past;
	struct checkpoint_block block[] = {{.data = layout, .size = sizeof *layout},
	                                   {.data = &past, .size = sizeof past}};
	const int result = checkpoint_read(&checkpoint, epoch, block, 2, why, cap);
	if (result == 0 && (layout->rank != rank || rank >= layout->ranks || layout->learners == 0 ||
	                    layout->learners > UINT32_MAX || layout->debtors > layout->learners ||
	                    layout->first_debtor > layout->learners - layout->debtors)) {
		snprintf(why, cap, "%s: epoch %zu: the file of rank %u is not that rank's",
		         t->setting->options->checkpoint, epoch, rank);
		return CHECKPOINT_DAMAGED;
	}
	if (result == 0 && past.run.epoch != epoch) {
		snprintf(why, cap, "%s: epoch %zu: the file of rank %u is of epoch %zu",
		         t->setting->options->checkpoint, epoch, rank, past.run.epoch);
		return CHECKPOINT_DAMAGED;
	}
	return result;
}

/* Finds whose files of an epoch this rank goes on from: its own, if the run was divided then as it is now,
 * or those of all ranks of then. Its own may be from before another division that began anew at an earlier
 * epoch: rank 0's, which every division writes, tells. Returns 0 if they are there, or what checkpoint_read
 * does. */
static int find_files(const struct train *t, const struct layout *now, size_t epoch, struct layout *then,
                      char *why, size_t cap)
{
	struct layout its;
	*then = *now;
	int result = read_layout(t, now->rank, epoch, &its, why, cap);
	if (result == CHECKPOINT_DAMAGED || result == -1)
		return result;
	const bool alike = result == 0 && holding_alike(&its, now);
	result = read_layout(t, 0, epoch, then, why, cap);
	if (alike && (result != 0 || holding_alike(then, now))) {
		*then = *now;
		return 0;
	}
	for (uint32_t r = 1; r < then->ranks && result == 0; r++) {
		result = read_layout(t, r, epoch, &its, why, cap);
		if (result == 0 && !holding_alike(&its, then)) {
			snprintf(why, cap, "%s: epoch %zu: ranks 0 and %u are of different divisions",
			         t->setting->options->checkpoint, epoch, r);
			result = CHECKPOINT_ABSENT;
		}
	}
	if (result == CHECKPOINT_ABSENT && !holding_alike(then, now)) {
		const size_t length = strlen(why);
		snprintf(why + length, cap - length, "; each of %u ranks has left a file of what it owes",
		         then->ranks);
	}
	return result;
}

/* Finds the newest epoch of which there is all that this rank goes on from, 0 if there is none; a damaged
 * one counts once. */
static int find_whole(const struct train *t, const struct layout *now, size_t *epoch, struct layout *then,
                      char *why, size_t cap)
{
	const struct checkpoint checkpoint = {t->setting->options->checkpoint, now->rank, NULL};
	char damaged[WHY_MAX] = "", missing[WHY_MAX] = "";
	for (*epoch = SIZE_MAX;;) {
		if (checkpoint_find(&checkpoint, *epoch, epoch, why, cap) < 0)
			return -1;
		if (*epoch == 0)
			break;
		const int result = find_files(t, now, *epoch, then, why, cap);
		if (result == 0 && *damaged)
			program_say("crumb-train: %s; the one of epoch %zu is used", damaged, *epoch);
		if (result == 0 || result == -1)
			return result;
		if (result == CHECKPOINT_ABSENT) {
			snprintf(missing, sizeof missing, "%s", holding_alike(then, now) ? "" : why);
		} else if (*damaged) {
			snprintf(missing, sizeof missing, "%s", why);
			snprintf(why, cap, "%s; %s", damaged, missing);
			return -1;
		} else {
			snprintf(damaged, sizeof damaged, "%s", why);
		}
	}
	if (*damaged)
		snprintf(why, cap, "%s; there is no other", damaged);
	else
		snprintf(why, cap, "%s", missing);
	return *why ? -1 : 0;
}

/* ---- going on ------------------------------------------------------------------------------- */

/* Goes on from the files of all ranks of another division. Rank 0's comes last: with plan async it alone has
 * the optimizer's state. */
static int inherit(const struct train *t, size_t epoch, struct holding *now, const struct layout *former,
                   struct past *past, char *why, size_t cap)
{
	int result = 0;
	for (uint32_t r = former->ranks; r-- > 0 && result == 0;) {
		struct layout layout = {0};
		struct holding then = {0};
		struct past its = {0};
		if ((result = read_layout(t, r, epoch, &layout, why, cap)) < 0)
			return result;
		snprintf(why, cap, "out of memory");
		result = holding_open(&then, t, &layout) ? with_blocks(t, false, epoch, &then, &its, why, cap)
		                                         : -1;
		if (result == 0)
			holding_inherit(t, now, &then);
		holding_close(&then, t);
		if (result == 0 && (r == now->layout.rank || (r == 0 && now->layout.rank >= former->ranks)))
			*past = its;
	}
	if (now->layout.rank >= former->ranks) { /* this rank had no link and no log */
		past->run.stats.link_in = past->run.stats.link_out = 0;
		past->run.stats.link_messages = 0;
		past->log_end = 0;
	}
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

/* Says who owed before, and who does now. */
static int tell_heirs(struct train *t, const struct past *past, const struct layout *then,
                      const struct layout *now, char *why, size_t cap)
{
	char line[160];
	snprintf(line, sizeof line,
	         "%llu learners on %u ranks go on as %llu on %u: what is owed is divided anew",
	         (unsigned long long)then->learners, then->ranks, (unsigned long long)now->learners,
	         now->ranks);
	progress_note(&t->progress, line);
	return log_divided(t->setting->log, t->codec, past->run.epoch, past->step, (size_t)then->learners,
	                   then->ranks, why, cap);
}

/* Returns true if this rank's checkpoint is its only one: another rank may have been cut off while it wrote
 * its own. Otherwise that rank has lost its folder. */
static bool is_first(const struct train *t, const struct layout *now, size_t epoch, char *why, size_t cap)
{
	const struct checkpoint checkpoint = {t->setting->options->checkpoint, now->rank, NULL};
	size_t former;
	if (checkpoint_find(&checkpoint, epoch, &former, why, cap) < 0)
		return false;
	if (former > 0)
		snprintf(why, cap, "%s has a checkpoint of epoch %zu, and that of another rank has none",
		         checkpoint.folder, epoch);
	return former == 0;
}

static int go_on(struct train *t, struct holding *now, struct report *run, char *why, size_t cap)
{
	struct past past = {.step = 0};
	struct layout then = now->layout;
	size_t epoch;
	if (find_whole(t, &now->layout, &epoch, &then, why, cap) < 0)
		return -1;
	const size_t own = epoch;
	if (least_epoch(t, &epoch, why, cap) < 0 ||
	    (epoch > 0 && epoch < own && find_files(t, &now->layout, epoch, &then, why, cap) < 0))
		return -1;
	if (epoch == 0 && own > 0 && !is_first(t, &now->layout, own, why, cap))
		return -1;
	const bool alike = holding_alike(&then, &now->layout);
	if (epoch > 0 && (alike ? with_blocks(t, false, epoch, now, &past, why, cap)
	                        : inherit(t, epoch, now, &then, &past, why, cap)) < 0)
		return -1;
	if (tell_way(t, &past, why, cap) < 0)
		return -1;
	*run = past.run;
	t->step = t->progress.first = t->progress.done = past.step;
	t->moves = past.moves;
	for (size_t l = 0; t->outer && l < t->own; l++)
		outer_share(t, l);
	struct log *log = t->setting->log;
	if ((epoch > 0 ? log_resume(log, past.log_end, why, cap)
	               : log_begin_anew(log, t->setting->options->every, why, cap)) < 0)
		return -1;
	return epoch == 0 || alike ? 0 : tell_heirs(t, &past, &then, &now->layout, why, cap);
}

/* Begins the log, unless a codec before has, once no rank can be refused what it needs. */
static int begin_log(const struct train *t, char *why, size_t cap)
{
	const struct train_setting *s = t->setting;
	if (s->log->begun)
		return 0;
	return agree_meet(s->ranks, why, cap) < 0 ? -1 : log_begin(s->log, why, cap);
}

int train_resume(struct train *t, struct report *run, char *why, size_t cap)
{
	const struct options *o = t->setting->options;
	const struct crumb_exchange_net *ranks = t->setting->ranks;
	const struct checkpoint checkpoint = {o->checkpoint, ranks ? ranks->rank : 0, NULL};
	struct holding now;
	size_t epoch;
	if (!o->checkpoint)
		return begin_log(t, why, cap);
	if (checkpoint_lock(&checkpoint, &t->lock, why, cap) < 0 ||
	    checkpoint_find(&checkpoint, SIZE_MAX, &epoch, why, cap) < 0)
		return -1;
	if (!o->resume && epoch > 0) {
		snprintf(why, cap, "%s holds checkpoints: go on from them with --resume, or remove them",
		         o->checkpoint);
		return -1;
	}
	if (!o->resume)
		return begin_log(t, why, cap);
	snprintf(why, cap, "out of memory");
	const int result = holding_of(&now, t) ? go_on(t, &now, run, why, cap) : -1;
	holding_close(&now, t);
	return result;
}
