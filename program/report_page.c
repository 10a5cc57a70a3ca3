/* Running crumb-report.
 *
 * SPDX-License-Identifier: MIT */
#include "program/report_page.h"
#include "program/beside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME "crumb-report"

pid_t report_page_begin(const char *page, const char *const *files, FILE *input, char *why, size_t cap)
{
	size_t count = 0;
	while (files[count])
		count++;
	/* One word, so that a page may have any name. */
	char *output = NULL;
	const char **words = calloc(count + 4, sizeof *words);
	pid_t process = -1;
	int error = words && asprintf(&output, "--output=%s", page) >= 0 ? 0 : ENOMEM;
	if (!error) {
		words[0] = NAME;
		words[1] = output;
		words[2] = "--";
		memcpy(words + 3, files, count * sizeof *words);
		error = beside_start(&process, words, input, NULL);
		free(output);
	}
	free(words);
	if (!error)
		return process;
	if (error == ENOENT)
		snprintf(why, cap, "there is no %s beside this program or in $PATH, or no Python 3 to run it",
		         NAME);
	else
		snprintf(why, cap, "%s: %s", NAME, strerror(error));
	return -1;
}

int report_page_end(pid_t process)
{
	const int status = beside_end(process);
	return status >= 0 && status <= 2 ? status : 1;
}
