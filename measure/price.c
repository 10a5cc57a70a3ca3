/* The cost of a codec on this machine.
 *
 * SPDX-License-Identifier: MIT */
#include "measure/price.h"
#include "measure/learner.h"
#include "measure/timing.h"
#include "measure/workload.h"
#include "program/program.h"

#include "exchange/seconds.h"
#include <stdlib.h>

enum { ELEMENTS = 1 << 22, ROUNDS = 7, WARM_STEPS = 40 }; /* steps until a residual settles */

/* grad and acc: ELEMENTS floats. */
static int measure(struct price *price, struct learner *learner, const float *grad, float *acc)
{
	double pack_seconds[ROUNDS], unpack_seconds[ROUNDS];
	const bool agrees = crumb_agree_count(learner->packer) > 0;
	int64_t length = 0, unpacked = 0;
	for (int step = 0; step < WARM_STEPS && length >= 0; step++)
		length = learner_pack(learner, grad, CRUMB_F32, 0);
	for (int round = 0; round < ROUNDS && length >= 0 && unpacked >= 0; round++) {
		const double start = timing_now();
		length = learner_pack(learner, grad, CRUMB_F32, 0);
		const double packed = timing_now();
		unpacked = crumb_unpack_add(learner->frame, learner->cap, 0.125f, acc, ELEMENTS);
		pack_seconds[round] = packed - start;
		unpack_seconds[round] = timing_now() - packed;
	}
	if (length < 0 || unpacked < 0)
		return program_fail("%s", crumb_strerror((int)(length < 0 ? length : unpacked)));
	*price = (struct price){.bytes = (double)(length - CRUMB_HEADER_BYTES) / ELEMENTS,
	                        .pack = crumb_seconds_median(pack_seconds, ROUNDS) / ELEMENTS,
	                        .unpack = crumb_seconds_median(unpack_seconds, ROUNDS) / ELEMENTS};
	const crumb_span frame = {learner->frame, (size_t)length};
	price->sums = agrees && crumb_sum_bound(1, ELEMENTS) <= ELEMENTS * sizeof *acc &&
	              crumb_sum(&frame, 1, acc, ELEMENTS * sizeof *acc) > 0;
	return STATUS_OK;
}

int price_measure(struct price *price, const crumb_codec *codec)
{
	struct learner learner;
	int status = learner_open(&learner, codec, ELEMENTS, 1);
	float *grad = program_memory(ELEMENTS * sizeof *grad), *acc = program_memory(ELEMENTS * sizeof *acc);
	if (!grad || !acc)
		status = STATUS_FAILED;
	if (status == STATUS_OK) {
		workload_gradient(grad, ELEMENTS, 1);
		workload_gradient(acc, ELEMENTS, 2);
		status = measure(price, &learner, grad, acc);
	}
	free(acc);
	free(grad);
	learner_close(&learner);
	return status;
}
