/* Runs crumb-train --estimate.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/plan_estimate.h"
#include "cli/command.h"
#include "nets/model.h"
#include "program/beside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int estimate_compute(double *seconds, const char *model, uint64_t batch)
{
	const struct model *trained = model_find(model);
	const int channels = trained ? trained->input.channels : 1;
	char samples[32];
	const char *const words[] = {
	        "crumb-train", "--estimate",
	        "--learners",  "1",
	        "--model",     model,
	        "--batch",     samples,
	        "--data",      channels == 1 ? "digits" : channels == 3 ? "colour-digits" : "text",
	        NULL};
	FILE *said = tmpfile();
	pid_t process;
	snprintf(samples, sizeof samples, "%" PRIu64, batch);
	const int error = said ? beside_start(&process, words, NULL, said) : errno;
	bool good = !error && !beside_end(process);
	if (good) {
		rewind(said);
		good = fscanf(said, "--batch %*u --compute %lfms", seconds) == 1;
		*seconds *= 1e-3;
	}
	if (said)
		(void)fclose(said);
	if (error)
		return program_fail("--compute measure: crumb-train: %s", strerror(error));
	return good ? STATUS_OK : program_fail("--compute measure: crumb-train cannot time %s here", model);
}
