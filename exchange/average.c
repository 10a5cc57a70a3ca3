/* Decoding by a team. Slices are laid end to end and cut into equal ranges (McNaughton 1959, theorem 3.1),
 * two for every thread, since one sparse frame may have much more to add than another. The frames of a slice
 * that is cut are checked first, by all threads, a part each; then its ranges are added. The bits are those
 * of whole slices.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "exchange/step.h"
#include "exchange/team.h"

enum { RANGES_PER_THREAD = 2 };
#define WHOLE SIZE_MAX

/* Elements [first, end) of slice s, decoded at once; cut: the slice's number among those that are cut, or
 * WHOLE. */
struct range {
	size_t s, first, end, cut;
	int error;
};

struct checked {
	crumb_checked frame;
	int error;
};

static size_t parts_of(unsigned threads) { return threads < CRUMB_MAX_PARTS ? threads : CRUMB_MAX_PARTS; }

static size_t most_ranges(unsigned threads) { return threads > 1 ? RANGES_PER_THREAD * (size_t)threads : 1; }

bool crumb_average_open(struct decoder *d, size_t slices, size_t frames, unsigned threads)
{
	const size_t ranges = most_ranges(threads), cuts = slices < ranges ? slices : ranges,
	             checks = threads > 1 ? cuts * frames : 0;

	d->range = calloc(slices + ranges, sizeof *d->range);
	d->cut = calloc(cuts + 1, sizeof *d->cut);
	d->found = calloc(checks * parts_of(threads) + 1, sizeof *d->found);
	d->checked = calloc(checks + 1, sizeof *d->checked);
	return d->range && d->cut && d->found && d->checked;
}

void crumb_average_close(struct decoder *d)
{
	free(d->range);
	free(d->cut);
	free(d->found);
	free(d->checked);
}

/* One call of crumb_average_slices, as its tasks see it. */
struct call {
	struct step *step;
	const struct decoding *what;
	struct decoder *decoder;
	size_t parts; /* of a frame that is checked */
};

/* Returns the i-th frame of all slices that are cut. */
static crumb_span frame_of(const struct call *call, size_t i)
{
	const size_t frames = call->what->frames;

	return call->what->frame[call->decoder->cut[i / frames] * frames + i % frames];
}

/* crumb_check_join reports a bad header, too. */
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
	const struct decoding *what = call->what;
	const float *weight = what->weight + range->s * what->stride + first;
	const size_t n = call->step->x->slice[range->s].n;

	if (range->cut == WHOLE)
		return crumb_unpack_add_all(what->frame + range->s * what->frames + first, weight, count,
		                            mean, n);
	const struct checked *checked = &call->decoder->checked[range->cut * what->frames + first];
	crumb_checked good[CRUMB_MAX_FRAMES];
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
	float *mean = call->step->mean + call->step->x->slice[range->s].at;

	(void)thread;
	range->error = 0;
	memset(mean + range->first, 0, (range->end - range->first) * sizeof *mean);
	for (size_t first = 0; first < call->what->frames && !range->error; first += CRUMB_MAX_FRAMES) {
		const size_t left = call->what->frames - first;
		range->error =
		        add(call, range, first, left < CRUMB_MAX_FRAMES ? left : CRUMB_MAX_FRAMES, mean);
	}
}

/* Puts the last range first: it takes longest if the elements before a range have to be passed over. */
static void reverse(struct range *range, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		const struct range other = range[count - 1 - i];
		range[count - 1 - i] = range[i];
		range[i] = other;
	}
}

/* Makes the ranges of count slices and returns how many there are. */
static size_t cut_slices(const struct crumb_exchange *x, struct decoder *d, const size_t *slice, size_t count,
                         size_t *cuts)
{
	const uint64_t shares = most_ranges(crumb_team_threads(x->team));
	uint64_t all = 0, before = 0, share = 1;
	size_t ranges = 0;

	*cuts = 0;
	for (size_t i = 0; i < count; i++)
		all += x->slice[slice[i]].n;
	for (size_t i = 0; i < count; i++) {
		const size_t s = slice[i], n = x->slice[s].n;
		size_t first = 0, begin = ranges;
		for (; share < shares && all * share / shares < before + n; share++) {
			const uint64_t own = all * share / shares - before;
			const size_t end = (size_t)own / CRUMB_RANGE_STEP * CRUMB_RANGE_STEP;
			if (end > first) {
				d->range[ranges++] = (struct range){s, first, end, *cuts, 0};
				first = end;
			}
		}
		d->range[ranges++] = (struct range){s, first, n, first ? *cuts : WHOLE, 0};
		if (first)
			d->cut[(*cuts)++] = s;
		reverse(d->range + begin, ranges - begin);
		before += n;
	}
	return ranges;
}

int crumb_average_slices(struct step *step, const size_t *slice, size_t count, const struct decoding *what)
{
	struct crumb_exchange *x = step->x;
	struct decoder *d = &x->decoder;
	struct call call = {step, what, d, parts_of(crumb_team_threads(x->team))};
	size_t cuts;
	const size_t ranges = cut_slices(x, d, slice, count, &cuts);

	crumb_team_run(x->team, check_task, &call, cuts * what->frames * call.parts);
	crumb_team_run(x->team, join_task, &call, cuts * what->frames);
	crumb_team_run(x->team, range_task, &call, ranges);
	for (size_t i = 0; i < ranges; i++)
		if (d->range[i].error)
			return crumb_step_fail(x, d->range[i].error, "a frame of slice %zu: %s",
			                       d->range[i].s, crumb_strerror(d->range[i].error));
	return 0;
}
