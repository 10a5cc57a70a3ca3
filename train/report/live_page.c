/* The page of a log, written by crumb-report.
 *
 * SPDX-License-Identifier: MIT */
#include "train/report/live_page.h"
#include "program/report_page.h"

#include <stdio.h>

static void wait_for(struct live_page *live)
{
	if (live->process > 0)
		live->failed = report_page_end(live->process) != 0 || live->failed;
	live->process = -1;
}

/* Starts to write the page of a log; input: as of report_page_begin. */
static int begin(struct live_page *live, const char *log, FILE *input, char *why, size_t cap)
{
	wait_for(live);
	live->process = report_page_begin(live->page, (const char *const[]){log, NULL}, input, why, cap);
	return live->process < 0 ? -1 : 0;
}

static int write_page(struct live_page *live, const char *log, FILE *input, char *why, size_t cap)
{
	if (begin(live, log, input, why, cap) < 0)
		return -1;
	wait_for(live);
	if (live->failed)
		snprintf(why, cap, "--report %s cannot be written", live->page);
	return live->failed ? -1 : 0;
}

int live_page_open(struct live_page *live, const struct options *options, unsigned rank, char *why,
                   size_t cap)
{
	*live = (struct live_page){options->log, rank == 0 ? options->page : NULL, -1, false};
	if (!live->page)
		return 0;
	FILE *nothing = options->resume ? NULL : fopen("/dev/null", "r");
	const int result = write_page(live, nothing ? "-" : live->log, nothing, why, cap);
	if (nothing)
		fclose(nothing);
	if (result == 0)
		return 0;
	live->page = NULL;
	return -1;
}

void live_page_update(struct live_page *live)
{
	char why[256];
	if (live->page && begin(live, live->log, NULL, why, sizeof why) < 0) {
		fprintf(stderr, "crumb-train: %s\n", why);
		live->failed = true;
	}
}

int live_page_close(struct live_page *live, char *why, size_t cap)
{
	if (!live->page)
		return 0;
	wait_for(live);
	return write_page(live, live->log, NULL, why, cap);
}
