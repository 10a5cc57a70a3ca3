/* Decoding by a team. Slices are laid end to end and cut into equal shares (McNaughton 1959, theorem 3.1),
 * two for every thread, since of sparse frames one may have much more to add than another. The frames of a
 * slice that is cut are checked first, by all threads, a part each; then its ranges are added. The bits are
 * those of whole slices.
 *
 * SPDX-License-Identifier: MIT */
#include <crumb_parallel.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/exchange_state.h"
#include "exchange/team.h"

enum { TURNS = 2 };                           /* ranges for every thread */
enum { MOST_FRAMES = 256, MOST_PARTS = 256 }; /* that are added at once; in which one is checked */
#define WHOLE SIZE_MAX

/* What is decoded of a slice at once: all of it, or a range of the cut-th slice that is cut. */
struct range {
	size_t s, first, end, cut;
	int error;
};

struct checked {
	crumb_checked frame;
	int error;
};

static size_t parts_of(unsigned threads) { return threads < MOST_PARTS ? threads : MOST_PARTS; }

bool crumb_decoder_open(struct decoder *d, size_t slices, size_t frames, unsigned threads)
{
	const size_t turns = threads > 1 ? TURNS * (size_t)threads : 1,
	             most = slices < turns ? slices : turns, checks = threads > 1 ? most * frames : 0;

	d->range = calloc(slices + turns, sizeof *d->range);
	d->cut = calloc(most + 1, sizeof *d->cut);
	d->found = calloc(checks * parts_of(threads) + 1, sizeof *d->found);
	d->checked = calloc(checks + 1, sizeof *d->checked);
	return d->range && d->cut && d->found && d->checked;
}

void crumb_decoder_close(struct decoder *d)
{
	free(d->range);
	free(d->cut);
	free(d->found);
	free(d->checked);
}

/* What the tasks of one call share. */
struct call {
	struct crumb_exchange *x;
	const struct decoding *what;
	struct decoder *decoder;
	size_t parts; /* in which a frame is checked */
};

/* The i-th frame of all slices that are cut. */
static crumb_span frame_of(const struct call *call, size_t i)
{
	crumb_span frame;
	float weight;

	call->what->find(call->x, call->decoder->cut[i / call->what->frames], i % call->what->frames, 1,
	                 &frame, &weight);
	return frame;
}

/* What is wrong with a header, crumb_check_join says, too. */
static void check_task(void *arg, size_t i, unsigned thread)
{
	const struct call *call = arg;
	const crumb_span frame = frame_of(call, i / call->parts);

	(void)thread;
	crumb_check_part(&call->decoder->found[i], frame.data, frame.len, i % call->parts, call->parts);
}

static void join_task(void *arg, size_t i, unsigned thread)
{
	const struct call *call = arg;
	struct checked *checked = &call->decoder->checked[i];
	const crumb_span frame = frame_of(call, i);
	const int64_t length = crumb_check_join(&checked->frame, frame.data, frame.len,
	                                        call->decoder->found + call->parts * i, call->parts);

	(void)thread;
	checked->error = length < 0 ? (int)length : (uint64_t)length != frame.len ? CRUMB_EFRAME : 0;
}

/* Adds count frames of a range, from number first on. */
static int add(const struct call *call, const struct range *range, size_t first, size_t count, float *mean)
{
	const size_t n = call->x->slice[range->s].n;
	crumb_span frame[MOST_FRAMES];
	float weight[MOST_FRAMES];

	call->what->find(call->x, range->s, first, count, frame, weight);
	if (range->cut == WHOLE)
		return crumb_unpack_add_all(frame, weight, count, mean, n);
	const struct checked *checked = &call->decoder->checked[range->cut * call->what->frames + first];
	crumb_checked good[MOST_FRAMES];
	for (size_t f = 0; f < count; f++) {
		if (checked[f].error)
			return checked[f].error;
		good[f] = checked[f].frame;
	}
	return crumb_add_range(good, weight, count, mean, n, range->first, range->end);
}

static void range_task(void *arg, size_t i, unsigned thread)
{
	const struct call *call = arg;
	struct range *range = &call->decoder->range[i];
	float *mean = call->x->mean + call->x->slice[range->s].at;

	(void)thread;
	range->error = 0;
	memset(mean + range->first, 0, (range->end - range->first) * sizeof *mean);
	for (size_t first = 0; first < call->what->frames && !range->error; first += MOST_FRAMES) {
		const size_t left = call->what->frames - first;
		range->error = add(call, range, first, left < MOST_FRAMES ? left : MOST_FRAMES, mean);
	}
	if (range->cut == WHOLE && !range->error && call->what->finish)
		call->what->finish(call->x, range->s);
}

static void finish_task(void *arg, size_t i, unsigned thread)
{
	const struct call *call = arg;
	const size_t s = call->decoder->cut[i];

	(void)thread;
	if (!call->x->column[s].error)
		call->what->finish(call->x, s);
}

/* The last first: where what comes before a range has to be passed over, it takes longest. */
static void turn_round(struct range *range, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		const struct range other = range[count - 1 - i];
		range[count - 1 - i] = range[i];
		range[i] = other;
	}
}

/* Makes the ranges of so many slices, and says how many these are. */
static size_t cut_slices(const struct crumb_exchange *x, struct decoder *d, const size_t *slice, size_t count,
                         size_t *cuts)
{
	const unsigned threads = crumb_team_threads(x->team);
	const uint64_t turns = threads > 1 ? TURNS * (uint64_t)threads : 1;
	uint64_t all = 0, before = 0, turn = 1;
	size_t ranges = 0;

	*cuts = 0;
	for (size_t i = 0; i < count; i++)
		all += x->slice[slice[i]].n;
	for (size_t i = 0; i < count; i++) {
		const size_t s = slice[i], n = x->slice[s].n;
		size_t first = 0, begin = ranges;
		for (; turn < turns && all * turn / turns < before + n; turn++) {
			const uint64_t own = all * turn / turns - before;
			const size_t end = (size_t)own / CRUMB_RANGE_STEP * CRUMB_RANGE_STEP;
			if (end > first) {
				d->range[ranges++] = (struct range){s, first, end, *cuts, 0};
				first = end;
			}
		}
		d->range[ranges++] = (struct range){s, first, n, first ? *cuts : WHOLE, 0};
		if (first)
			d->cut[(*cuts)++] = s;
		turn_round(d->range + begin, ranges - begin);
		before += n;
	}
	return ranges;
}

void crumb_average_slices(struct crumb_exchange *x, const size_t *slice, size_t count,
                          const struct decoding *what)
{
	struct decoder *d = &x->decoder;
	const unsigned threads = crumb_team_threads(x->team);
	struct call call = {x, what, d, parts_of(threads)};
	size_t cuts;
	const size_t ranges = cut_slices(x, d, slice, count, &cuts);

	crumb_team_run(x->team, check_task, &call, cuts * what->frames * call.parts);
	crumb_team_run(x->team, join_task, &call, cuts * what->frames);
	crumb_team_run(x->team, range_task, &call, ranges);
	for (size_t i = 0; i < count; i++)
		x->column[slice[i]].error = 0;
	for (size_t i = 0; i < ranges; i++)
		if (d->range[i].error)
			x->column[d->range[i].s].error = d->range[i].error;
	if (what->finish)
		crumb_team_run(x->team, finish_task, &call, cuts);
}
