/* A bar, redrawn at most ten times a second.
 *
 * SPDX-License-Identifier: MIT */
#include "train/report/progress.h"

#include "exchange/seconds.h"
#include "program/status_line.h"

#include <math.h>
#include <stdio.h>

#define BAR 20

void progress_begin(struct progress *p, bool quiet, const char *codec, size_t batch, size_t epochs,
                    size_t steps)
{
	*p = (struct progress){
	        .quiet = quiet,
	        .codec = codec,
	        .batch = batch,
	        .epochs = epochs,
	        .steps = steps,
	        .began = crumb_seconds(),
	};
	if (!quiet)
		fprintf(stderr, "%s\n", codec);
}

void progress_step(struct progress *p)
{
	const double now = crumb_seconds();
	p->done++;
	if (p->quiet || now - p->drawn < 0.1)
		return;
	p->drawn = now;
	const size_t all = p->epochs * p->steps, filled = BAR * p->done / all;
	const double rate = (double)(p->done - p->first) / (now - p->began);
	const long left = (long)((double)(all - p->done) / rate + 0.5);
	char bar[BAR + 1] = {0};
	for (size_t i = 0; i < BAR; i++)
		bar[i] = i < filled ? '=' : i == filled ? '>' : ' ';
	/* A narrow terminal shows the beginning. */
	status_line("%3zu %%  ETA %ld:%02ld  %.0f samples/s  [%s]  %s", 100 * p->done / all, left / 60,
	            left % 60, rate * (double)p->batch, bar, p->codec);
}

void progress_epoch(struct progress *p, const struct report *epoch)
{
	if (p->quiet)
		return;
	status_line_clear();
	fprintf(stderr, "  epoch %zu/%zu  loss %.4f  error %.2f %%  ratio %.1f  %.0f samples/s\n",
	        epoch->epoch, p->epochs, fabs(epoch->loss), 100 * epoch->error, report_ratio(&epoch->stats),
	        (double)(p->steps * p->batch) / epoch->wall_seconds);
}

void progress_note(struct progress *p, const char *line)
{
	if (p->quiet)
		return;
	status_line_clear();
	fprintf(stderr, "  %s\n", line);
}
