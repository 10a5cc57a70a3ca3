/* The page of a log, which crumb-report writes anew while the training goes on.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LIVE_PAGE_H
#define LIVE_PAGE_H

#include "train/options/options.h"

#include <sys/types.h>

struct live_page {
	const char *log, *page; /* page: NULL if there is none, and all calls succeed */
	pid_t process;          /* of crumb-report; -1: none is running */
	bool failed;            /* a page was not written */
};

/* Writes an empty page, or that of a log that goes on, so that a run whose page cannot be written fails
 * before it begins. Rank 0 has the page. 0, or -1 with a line in why. */
int live_page_open(struct live_page *live, const struct options *options, unsigned rank, char *why,
                   size_t cap);

/* Has the page written anew while the training goes on. crumb-report tells standard error what fails, and the
 * run goes on. */
void live_page_update(struct live_page *live);

/* Writes the page for the last time, of the whole log. 0, or -1 as live_page_open, also if the page could not
 * be written once before. */
int live_page_close(struct live_page *live, char *why, size_t cap);

#endif
