/* The frames of a gather.
 *
 * SPDX-License-Identifier: MIT */
#include "bench/gathered.h"
#include "program/program.h"

#include <stdlib.h>

int gathered_open(struct gathered *gathered, const crumb_codec *codec, size_t n, uint64_t seed)
{
	*gathered = (struct gathered){0};
	const int status = learner_open(&gathered->learner, codec, n, seed);
	if (status)
		return status;
	gathered->room[0] = gathered->learner.frame;
	for (size_t f = 1; f < MANY; f++)
		if (!(gathered->room[f] = program_memory(gathered->learner.cap)))
			return STATUS_FAILED;
	return STATUS_OK;
}

void gathered_close(struct gathered *gathered)
{
	if (gathered->room[0])
		gathered->learner.frame = gathered->room[0];
	for (size_t f = 1; f < MANY; f++)
		free(gathered->room[f]);
	learner_close(&gathered->learner);
	*gathered = (struct gathered){0};
}

int64_t gathered_pack(struct gathered *gathered, const float *grad, unsigned flags)
{
	const size_t f = gathered->packed < MANY - 1 ? gathered->packed + 1 : 0;
	gathered->learner.frame = gathered->room[f];
	const int64_t length = learner_pack(&gathered->learner, grad, CRUMB_F32, flags);
	if (length < 0)
		return length;
	gathered->frame[f] = (crumb_span){gathered->room[f], (size_t)length};
	gathered->packed += gathered->packed < MANY;
	return length;
}
