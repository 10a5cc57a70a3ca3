/* Decoding by a team. Slices are laid end to end and cut into equal shares (McNaughton 1959, theorem 3.1),
 * two for every thread, since of sparse frames one share may have much more to add than another. The frames
 * of a slice that is cut are checked first, by all threads, a part each; then its ranges are added. The bits
 * are those of whole slices.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "rank.h"
#include "team.h"

enum { TURNS = 2 };  /* shares for every thread */
enum { MOST = 256 }; /* frames that are added at once, and parts in which one is checked */
#define WHOLE SIZE_MAX

/* What is decoded of a slice at once: all of it, or a range of the cut-th slice that is cut. */
struct share {
	size_t s, first, end, cut;
	int error;
};

bool crumb_decoder_open(struct decoder *d, size_t slices, size_t frames, unsigned threads)
{
	const size_t cuts = TURNS * (size_t)threads - 1; /* at most; but with one thread there are none */

	d->share = calloc(slices + cuts, sizeof *d->share);
	d->cut = calloc(cuts, sizeof *d->cut);
	d->found = calloc(threads > 1 ? cuts * frames * threads : 1, sizeof *d->found);
	return d->share && d->cut && d->found;
}

void crumb_decoder_close(struct decoder *d)
{
	free(d->share);
	free(d->cut);
	free(d->found);
}

/* What the tasks of one call share. */
struct call {
	struct crumb_exchange *x;
	const struct decoding *what;
	struct decoder *decoder;
	size_t parts; /* in which a frame is checked */
};

/* What is wrong with a header, crumb_check_join will say. */
static void check_task(void *arg, size_t i, unsigned thread)
{
	const struct call *call = arg;
	const size_t f = i / call->parts, s = call->decoder->cut[f / call->what->frames];
	crumb_span frame;
	float weight;

	(void)thread;
	call->what->find(call->x, s, f % call->what->frames, 1, &frame, &weight);
	crumb_check_part(&call->decoder->found[i], frame.data, frame.len, i % call->parts, call->parts);
}

/* Adds count frames of a share, from number first on. */
static int add(const struct call *call, const struct share *share, size_t first, size_t count, float *mean)
{
	const size_t n = call->x->slice[share->s].n;
	crumb_span frame[MOST];
	float weight[MOST];

	call->what->find(call->x, share->s, first, count, frame, weight);
	if (share->cut == WHOLE)
		return crumb_unpack_add_all(frame, weight, count, mean, n);
	const crumb_part *found =
	        call->decoder->found + (share->cut * call->what->frames + first) * call->parts;
	crumb_checked good[MOST];
	for (size_t f = 0; f < count; f++, found += call->parts) {
		const int64_t length =
		        crumb_check_join(&good[f], frame[f].data, frame[f].len, found, call->parts);
		if (length < 0)
			return (int)length;
		if ((uint64_t)length != frame[f].len)
			return CRUMB_EFRAME;
	}
	return crumb_add_range(good, weight, count, mean, n, share->first, share->end);
}

static void share_task(void *arg, size_t i, unsigned thread)
{
	const struct call *call = arg;
	struct share *share = &call->decoder->share[i];
	float *mean = call->x->mean + call->x->slice[share->s].at;

	(void)thread;
	share->error = 0;
	memset(mean + share->first, 0, (share->end - share->first) * sizeof *mean);
	for (size_t first = 0; first < call->what->frames && !share->error; first += MOST) {
		const size_t left = call->what->frames - first;
		share->error = add(call, share, first, left < MOST ? left : MOST, mean);
	}
	if (share->cut == WHOLE && !share->error && call->what->finish)
		call->what->finish(call->x, share->s);
}

static void finish_task(void *arg, size_t i, unsigned thread)
{
	const struct call *call = arg;
	const size_t s = call->decoder->cut[i];

	(void)thread;
	if (!call->x->column[s].error)
		call->what->finish(call->x, s);
}

/* Makes the shares of so many slices, and says how many these are. */
static size_t cut_slices(const struct crumb_exchange *x, struct decoder *d, const size_t *slice, size_t count,
                         size_t *cuts)
{
	const unsigned threads = crumb_team_threads(x->team);
	const uint64_t turns = threads > 1 ? TURNS * (uint64_t)threads : 1;
	uint64_t all = 0, before = 0, turn = 1;
	size_t shares = 0;

	*cuts = 0;
	for (size_t i = 0; i < count; i++)
		all += x->slice[slice[i]].n;
	for (size_t i = 0; i < count; i++) {
		const size_t s = slice[i], n = x->slice[s].n;
		size_t first = 0;
		for (; turn < turns && all * turn / turns < before + n; turn++) {
			const uint64_t own = all * turn / turns - before;
			const size_t end = (size_t)own / CRUMB_RANGE * CRUMB_RANGE;
			if (end > first) {
				d->share[shares++] = (struct share){s, first, end, *cuts, 0};
				first = end;
			}
		}
		d->share[shares++] = (struct share){s, first, n, first ? *cuts : WHOLE, 0};
		if (first)
			d->cut[(*cuts)++] = s;
		before += n;
	}
	return shares;
}

void crumb_decode(struct crumb_exchange *x, const size_t *slice, size_t count, const struct decoding *what)
{
	struct decoder *d = &x->decoder;
	const unsigned threads = crumb_team_threads(x->team);
	struct call call = {x, what, d, threads < MOST ? threads : MOST};
	size_t cuts;
	const size_t shares = cut_slices(x, d, slice, count, &cuts);

	crumb_team_run(x->team, check_task, &call, cuts * what->frames * call.parts);
	crumb_team_run(x->team, share_task, &call, shares);
	for (size_t i = 0; i < count; i++)
		x->column[slice[i]].error = 0;
	for (size_t i = 0; i < shares; i++)
		if (d->share[i].error)
			x->column[d->share[i].s].error = d->share[i].error;
	if (what->finish)
		crumb_team_run(x->team, finish_task, &call, cuts);
}
