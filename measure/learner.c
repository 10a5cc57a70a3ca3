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
	const size_t count = crumb_agree_count(learner->packer);
	if (!count)
		return 0;
	if (count > learner->stats) {
		float *grown = realloc(learner->stat, count * sizeof *grown);
		if (!grown)
			return CRUMB_EMEMORY;
		learner->stat = grown;
		learner->stats = count;
	}
	const int error = crumb_measure(learner->packer, grad, crumb_packer_count(learner->packer), dtype,
	                                learner->stat);
	return error ? error : crumb_agree(learner->packer, learner->stat, 1);
}

int64_t learner_pack(struct learner *learner, const void *grad, enum crumb_dtype dtype, unsigned flags)
{
	const int error = agree(learner, grad, dtype);
	return error ? error
	             : crumb_pack(learner->packer, grad, crumb_packer_count(learner->packer), dtype, flags,
	                          learner->frame, learner->cap);
}
