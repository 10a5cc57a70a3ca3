/* Runs crumb-train --estimate.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/plan_estimate.h"
#include "cli/command.h"
#include "nets/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Writes the path of crumb-train: beside this program, else its name alone, which execvp looks up in PATH. */
static void find_trainer(char *path, size_t cap)
{
	static const char name[] = "crumb-train";
	const ssize_t length = readlink("/proc/self/exe", path, cap - sizeof name);
	const size_t folder = length > 0 ? (size_t)length : 0;
	size_t at = folder;
	while (at > 0 && path[at - 1] != '/')
		at--;
	memcpy(path + at, name, sizeof name);
	if (access(path, X_OK) < 0)
		memcpy(path, name, sizeof name);
}

/* Starts it. Returns a stream of its standard output, or NULL. */
static int start(pid_t *child, const char *model, uint64_t batch)
{
	char path[4096], samples[32];
	const struct model *trained = model_find(model);
	const int channels = trained ? trained->input.channels : 1;
	int ends[2];
	if (pipe(ends) < 0)
		return -1;
	find_trainer(path, sizeof path);
	snprintf(samples, sizeof samples, "%" PRIu64, batch);
	*child = fork();
	if (*child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execlp(path, path, "--estimate", "--learners", "1", "--model", model, "--batch", samples,
		       "--data",
		       channels == 1   ? "digits"
		       : channels == 3 ? "colour-digits"
		                       : "text",
		       (char *)NULL);
		perror(path);
		_exit(127);
	}
	close(ends[1]);
	if (*child < 0) {
		close(ends[0]);
		return -1;
	}
	return ends[0];
}

int estimate_compute(double *seconds, const char *model, uint64_t batch)
{
	char said[256] = "";
	pid_t child;
	int status = -1;
	const int end = start(&child, model, batch);
	FILE *output = end < 0 ? NULL : fdopen(end, "r");
	if (output) {
		if (!fgets(said, sizeof said, output))
			said[0] = 0;
		fclose(output);
		waitpid(child, &status, 0);
	}
	if (status == 0 && sscanf(said, "--batch %*u --compute %lfms", seconds) == 1) {
		*seconds *= 1e-3;
		return STATUS_OK;
	}
	return program_fail("--compute measure: crumb-train cannot time %s here", model);
}
