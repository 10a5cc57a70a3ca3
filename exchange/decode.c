/* Decoding by a team. Slices are laid end to end and cut where another thread's share begins (McNaughton
 * 1959, theorem 3.1), so at most once a thread. The frames of a slice that is cut are checked first, each by
 * itself; then every thread adds a range of their elements. The bits are those of whole slices.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "rank.h"
#include "team.h"

enum { MOST = 256 }; /* frames that are added at once */
#define WHOLE SIZE_MAX

/* What one thread decodes of a slice: all of it, or a range of the cut-th slice that is cut. */
struct part {
	size_t s, first, end, cut;
	int error;
};

struct checked {
	crumb_checked frame;
	int error;
};

bool crumb_decoder_open(struct decoder *d, size_t slices, size_t frames, unsigned threads)
{
	d->part = calloc(slices + threads, sizeof *d->part);
	d->cut = calloc(threads, sizeof *d->cut);
	d->checked = calloc((threads - 1) * frames + 1, sizeof *d->checked);
	return d->part && d->cut && d->checked;
}

void crumb_decoder_close(struct decoder *d)
{
	free(d->part);
	free(d->cut);
	free(d->checked);
}

/* What the tasks of one call share. */
struct call {
	struct crumb_exchange *x;
	const struct decoding *what;
	struct decoder *decoder;
};

static void check_task(void *arg, size_t i, unsigned thread)
{
	const struct call *call = arg;
	const size_t frames = call->what->frames, s = call->decoder->cut[i / frames];
	struct checked *checked = &call->decoder->checked[i];
	crumb_span frame;
	float weight;

	(void)thread;
	call->what->find(call->x, s, i % frames, 1, &frame, &weight);
	const int64_t length = crumb_check(&checked->frame, frame.data, frame.len);
	checked->error = length < 0                                ? (int)length
	                 : (uint64_t)length != frame.len           ? CRUMB_EFRAME
	                 : checked->frame.n != call->x->slice[s].n ? CRUMB_ELENGTH
	                                                           : 0;
}

/* Adds count frames of a part, from number first on. */
static int add(const struct call *call, const struct part *part, size_t first, size_t count, float *mean)
{
	const size_t n = call->x->slice[part->s].n;
	crumb_span frame[MOST];
	float weight[MOST];

	call->what->find(call->x, part->s, first, count, frame, weight);
	if (part->cut == WHOLE)
		return crumb_unpack_add_all(frame, weight, count, mean, n);
	const struct checked *checked = &call->decoder->checked[part->cut * call->what->frames + first];
	crumb_checked good[MOST];
	for (size_t f = 0; f < count; f++) {
		if (checked[f].error)
			return checked[f].error;
		good[f] = checked[f].frame;
	}
	return crumb_add_range(good, weight, count, mean, n, part->first, part->end);
}

static void part_task(void *arg, size_t i, unsigned thread)
{
	const struct call *call = arg;
	struct part *part = &call->decoder->part[i];
	float *mean = call->x->mean + call->x->slice[part->s].at;

	(void)thread;
	part->error = 0;
	memset(mean + part->first, 0, (part->end - part->first) * sizeof *mean);
	for (size_t first = 0; first < call->what->frames && !part->error; first += MOST) {
		const size_t left = call->what->frames - first;
		part->error = add(call, part, first, left < MOST ? left : MOST, mean);
	}
	if (part->cut == WHOLE && !part->error && call->what->finish)
		call->what->finish(call->x, part->s);
}

static void finish_task(void *arg, size_t i, unsigned thread)
{
	const struct call *call = arg;
	const size_t s = call->decoder->cut[i];

	(void)thread;
	if (!call->x->column[s].error)
		call->what->finish(call->x, s);
}

/* Makes the parts of so many slices, and says how many these are. */
static size_t cut_slices(const struct crumb_exchange *x, struct decoder *d, const size_t *slice, size_t count,
                         size_t *cuts)
{
	const uint64_t threads = crumb_team_threads(x->team);
	uint64_t all = 0, before = 0, share = 1;
	size_t parts = 0;

	*cuts = 0;
	for (size_t i = 0; i < count; i++)
		all += x->slice[slice[i]].n;
	for (size_t i = 0; i < count; i++) {
		const size_t s = slice[i], n = x->slice[s].n;
		size_t first = 0;
		for (; share < threads && all * share / threads < before + n; share++) {
			const uint64_t own = all * share / threads - before;
			const size_t end = (size_t)own / CRUMB_RANGE * CRUMB_RANGE;
			if (end > first) {
				d->part[parts++] = (struct part){s, first, end, *cuts, 0};
				first = end;
			}
		}
		d->part[parts++] = (struct part){s, first, n, first ? *cuts : WHOLE, 0};
		if (first)
			d->cut[(*cuts)++] = s;
		before += n;
	}
	return parts;
}

void crumb_decode(struct crumb_exchange *x, const size_t *slice, size_t count, const struct decoding *what)
{
	struct decoder *d = &x->decoder;
	struct call call = {x, what, d};
	size_t cuts;
	const size_t parts = cut_slices(x, d, slice, count, &cuts);

	crumb_team_run(x->team, check_task, &call, cuts * what->frames);
	crumb_team_run(x->team, part_task, &call, parts);
	for (size_t i = 0; i < count; i++)
		x->column[slice[i]].error = 0;
	for (size_t i = 0; i < parts; i++)
		if (d->part[i].error)
			x->column[d->part[i].s].error = d->part[i].error;
	if (what->finish)
		crumb_team_run(x->team, finish_task, &call, cuts);
}
