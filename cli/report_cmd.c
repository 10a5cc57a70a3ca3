/* crumb report: a page of runs, comparisons or plans, which crumb-report writes.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "program/report_page.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const struct option_info options[] = {
        {'o', "output", "PAGE.html", "the page; until it is complete, the one that it replaces stays"},
        {0, NULL, NULL, NULL},
};

static const char notes[] =
        "A file is what crumb-train --log, crumb compare --json or crumb plan --json wrote, or a line of JSON a "
        "time of\n"
        "what crumb.torch's stats() returns. Several runs are drawn side by side. The page opens without a network.\n"
        "It takes Python 3 and Plotly: apt-get install python3-plotly, or pip install plotly.\n";

/* Returns crumb-report's status. */
static int write_page(const char *page, char *const *file)
{
	char why[256];
	const pid_t process = report_page_begin(page, (const char *const *)file, NULL, why, sizeof why);
	return process < 0 ? program_fail("%s", why) : report_page_end(process);
}

static int run(int argc, char **argv)
{
	const char *page = NULL, *value;
	for (int id; (id = command_option(&report_command, argc, argv, &value)) != OPTION_END;) {
		if (id == OPTION_BAD)
			return STATUS_USAGE;
		page = value;
	}
	if (!page)
		return command_usage(&report_command, "-o PAGE.html is missing");
	if (optind == argc)
		return command_usage(&report_command, "it takes at least one file");
	return write_page(page, argv + optind);
}

const struct command report_command = {
        "report",
        "FILE.jsonl... -o PAGE.html",
        "write a page of runs, of a comparison or of a plan",
        notes,
        options,
        run,
};
