/* One learner on its own.
 *
 * SPDX-License-Identifier: MIT */
#include "measure/learner.h"
#include "program/program.h"

#include <stdlib.h>

int learner_open(struct learner *learner, const crumb_codec *codec, size_t n, uint64_t seed)
{
	*learner = (struct learner){.cap = crumb_bound(codec, n)};
	if (!learner->cap)
		return program_fail("%zu elements are too many for this codec", n);
	learner->packer = program_memory(crumb_packer_size(codec, n));
	learner->frame = program_memory(learner->cap);
	if (!learner->packer || !learner->frame)
		return STATUS_FAILED;
	const int error = crumb_packer_init(learner->packer, codec, n, 0, seed);
	return error ? program_fail("%s", crumb_strerror(error)) : STATUS_OK;
}

void learner_close(struct learner *learner)
{
	free(learner->stat);
	free(learner->frame);
	free(learner->packer);
	*learner = (struct learner){0};
}

static int agree(struct learner *learner, const void *grad, enum crumb_dtype dtype)
{
	int error = 0;
	for (size_t count; !error && (count = crumb_agree_count(learner->packer));) {
		if (count > learner->stats) {
			free(learner->stat);
			learner->stats = count;
			if (!(learner->stat = program_memory(count * sizeof *learner->stat)))
				exit(STATUS_FAILED);
		}
		error = crumb_measure(learner->packer, grad, crumb_packer_count(learner->packer), dtype,
		                      learner->stat);
		if (!error)
			error = crumb_agree(learner->packer, learner->stat, 1);
	}
	return error;
}

int64_t learner_pack(struct learner *learner, const void *grad, enum crumb_dtype dtype, unsigned flags)
{
	const int error = agree(learner, grad, dtype);
	return error ? error
	             : crumb_pack(learner->packer, grad, crumb_packer_count(learner->packer), dtype, flags,
	                          learner->frame, learner->cap);
}
