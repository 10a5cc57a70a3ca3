/* A bar that redraws itself with a carriage return, at most ten times a second.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "train/report/progress.h"

#include "exchange/seconds.h"
#include <stdio.h>
#include <unistd.h>

#define BAR  20
#define NAME 20 /* longest codec name that fits within 80 columns */

void progress_begin(struct progress *p, bool quiet, const char *codec, size_t batch, size_t epochs,
                    size_t steps)
{
	*p = (struct progress){
	        .terminal = !quiet && isatty(STDERR_FILENO) == 1,
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

static void wipe(const struct progress *p)
{
	if (p->terminal)
		fprintf(stderr, "\r\033[K");
}

void progress_step(struct progress *p)
{
	const double now = crumb_seconds();
	p->done++;
	if (!p->terminal || now - p->drawn < 0.1)
		return;
	p->drawn = now;
	const size_t all = p->epochs * p->steps, filled = BAR * p->done / all;
	const double rate = (double)p->done / (now - p->began);
	const long left = (long)((double)(all - p->done) / rate + 0.5);
	char bar[BAR + 1] = {0};
	for (size_t i = 0; i < BAR; i++)
		bar[i] = i < filled ? '=' : i == filled ? '>' : ' ';
	fprintf(stderr, "\r\033[K%.*s [%s] %3zu %%  %.0f samples/s  ETA %ld:%02ld", NAME, p->codec, bar,
	        100 * p->done / all, rate * (double)p->batch, left / 60, left % 60);
}

void progress_epoch(struct progress *p, const struct report *epoch)
{
	if (p->quiet)
		return;
	wipe(p);
	fprintf(stderr, "  epoch %zu/%zu  loss %.4f  error %.2f %%  ratio %.1f  %.0f samples/s\n",
	        epoch->epoch, p->epochs, epoch->loss, 100 * epoch->error, report_ratio(&epoch->stats),
	        (double)(p->steps * p->batch) / epoch->wall_seconds);
}

void progress_note(struct progress *p, const char *line)
{
	if (p->quiet)
		return;
	wipe(p);
	fprintf(stderr, "  %s\n", line);
}
