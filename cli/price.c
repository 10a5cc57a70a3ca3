/* What a codec costs on this machine.
 *
 * SPDX-License-Identifier: MIT */
#include "price.h"
#include "command.h"
#include "workload.h"

#include <stdlib.h>
#include <time.h>

enum { ELEMENTS = 1 << 22, ROUNDS = 7, WARM_STEPS = 40 }; /* a residual settles in as many steps */

struct subject {
	crumb_packer *packer;
	uint8_t *frame;
	size_t cap;
	float *grad, *acc, *stat;
};

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *sample)
{
	qsort(sample, ROUNDS, sizeof *sample, compare);
	return sample[ROUNDS / 2];
}

/* With what one learner tells itself. */
static int64_t pack(struct subject *s)
{
	int error = 0;
	for (size_t count; !error && (count = crumb_agree_count(s->packer));) {
		free(s->stat);
		if (!(s->stat = command_memory(count * sizeof *s->stat)))
			return CRUMB_ESPACE;
		error = crumb_measure(s->packer, s->grad, CRUMB_F32, s->stat);
		if (!error)
			error = crumb_agree(s->packer, s->stat, 1);
	}
	return error ? error
	             : crumb_pack(s->packer, s->grad, CRUMB_F32, CRUMB_KNOWN_FINITE, s->frame, s->cap);
}

static int measure(struct price *price, struct subject *s)
{
	static double pack_seconds[ROUNDS], unpack_seconds[ROUNDS];
	const bool agrees = crumb_agree_count(s->packer) > 0;
	int64_t length = 0, unpacked = 0;
	for (int step = 0; step < WARM_STEPS && length >= 0; step++)
		length = pack(s);
	for (int round = 0; round < ROUNDS && length >= 0 && unpacked >= 0; round++) {
		const double start = cpu_seconds();
		length = pack(s);
		const double packed = cpu_seconds();
		unpacked = crumb_unpack_add(s->frame, s->cap, 0.125f, s->acc, ELEMENTS);
		pack_seconds[round] = packed - start;
		unpack_seconds[round] = cpu_seconds() - packed;
	}
	if (length < 0 || unpacked < 0)
		return command_fail("%s", crumb_strerror((int)(length < 0 ? length : unpacked)));
	*price = (struct price){.bytes = (double)(length - CRUMB_HEADER_BYTES) / ELEMENTS,
	                        .pack = median(pack_seconds) / ELEMENTS,
	                        .unpack = median(unpack_seconds) / ELEMENTS};
	const crumb_span frame = {s->frame, (size_t)length};
	price->sums = agrees && crumb_sum_bound(1, ELEMENTS) <= ELEMENTS * sizeof *s->acc &&
	              crumb_sum(&frame, 1, s->acc, ELEMENTS * sizeof *s->acc) > 0;
	return STATUS_OK;
}

int price_measure(struct price *price, const crumb_codec *codec)
{
	struct subject s = {.cap = crumb_bound(codec, ELEMENTS)};
	int status = STATUS_FAILED;
	s.packer = command_memory(crumb_packer_size(codec, ELEMENTS));
	s.frame = command_memory(s.cap);
	s.grad = command_memory(ELEMENTS * sizeof *s.grad);
	s.acc = command_memory(ELEMENTS * sizeof *s.acc);
	if (s.packer && s.frame && s.grad && s.acc && !crumb_packer_init(s.packer, codec, ELEMENTS, 0, 1)) {
		workload_gradient(s.grad, ELEMENTS, 1);
		workload_gradient(s.acc, ELEMENTS, 2);
		status = measure(price, &s);
	}
	free(s.stat);
	free(s.acc);
	free(s.grad);
	free(s.frame);
	free(s.packer);
	return status;
}
