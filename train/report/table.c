/* Text in columns.
 *
 * SPDX-License-Identifier: MIT */
#include "train/report/table.h"

#include <string.h>

static void put_rule(FILE *to, int width)
{
	for (int i = 0; i < width; i++)
		fputc('-', to);
	fprintf(to, "  ----------  ------------  -------  --------\n");
}

static void put_row(FILE *to, int width, const char *codec, const struct report *run)
{
	char error[32] = "diverged", bytes[32], time[32];
	if (!run->diverged)
		snprintf(error, sizeof error, "%.2f %%", 100 * run->error);
	snprintf(bytes, sizeof bytes, "%.2f MB", (double)run->bytes * 1e-6);
	snprintf(time, sizeof time, "%.1f s", run->wall_seconds);
	fprintf(to, "%-*s  %10s  %12s  %7.1f  %8s\n", width, codec, error, bytes, report_ratio(&run->stats),
	        time);
}

void table_print(FILE *to, const struct options *options, const struct report *run, size_t rows)
{
	int width = (int)strlen("codec");
	for (size_t i = 0; i < rows; i++) {
		const size_t length = strlen(options->codec[i].text);
		width = length > (size_t)width ? (int)length : width;
	}
	fprintf(to, "%-*s  %10s  %12s  %7s  %8s\n", width, "codec", "test error", "learner sent", "ratio",
	        "time");
	put_rule(to, width);
	for (size_t i = 0; i < rows; i++)
		put_row(to, width, options->codec[i].text, &run[i]);
}
