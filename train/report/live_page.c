/* The page of a log, written by crumb-report.
 *
 * SPDX-License-Identifier: MIT */
#include "train/report/live_page.h"
#include "page/report_page.h"

#include <stdio.h>

static void wait_for(struct live_page *live)
{
	if (live->process > 0)
		report_page_end(live->process);
	live->process = -1;
}

static int begin(struct live_page *live, char *why, size_t cap)
{
	wait_for(live);
	live->process = report_page_begin((const char *const[]){"-o", live->page, "--", live->log, NULL},
	                                  NULL, why, cap);
	return live->process < 0 ? -1 : 0;
}

static int write_page(struct live_page *live, char *why, size_t cap)
{
	if (begin(live, why, cap) < 0)
		return -1;
	const int status = report_page_end(live->process);
	live->process = -1;
	if (status)
		snprintf(why, cap, "--report %s cannot be written", live->page);
	return status ? -1 : 0;
}

int live_page_open(struct live_page *live, const struct options *options, unsigned rank, char *why,
                   size_t cap)
{
	*live = (struct live_page){options->log, rank == 0 ? options->page : NULL, -1};
	if (!live->page || write_page(live, why, cap) == 0)
		return 0;
	live->page = NULL;
	return -1;
}

void live_page_update(struct live_page *live)
{
	char why[256];
	if (live->page && begin(live, why, sizeof why) < 0)
		fprintf(stderr, "crumb-train: %s\n", why);
}

int live_page_close(struct live_page *live, char *why, size_t cap)
{
	if (!live->page)
		return 0;
	wait_for(live);
	return write_page(live, why, cap);
}
