/* Makes a crumb-train with which every assertion about codecs must fail: linked with
 * --wrap=crumb_unpack_add_all and --wrap=crumb_add_range, so that compressed frames arrive as nothing
 * (CRUMB_CONTROL=nothing), or with wrong signs on one element of twenty (CRUMB_CONTROL=flip). Raw frames, the
 * baseline, arrive unchanged.
 *
 * SPDX-License-Identifier: MIT */
#include <crumb_parallel.h>
#include <stdlib.h>
#include <string.h>
#include <crumb.h>
#include "train/data/random.h"

/* Names that the linker makes. */
int __real_crumb_add_range(const crumb_checked *frames, const float *weight, size_t count, float *acc,
                           size_t n, size_t first, size_t end);
int __wrap_crumb_add_range(const crumb_checked *frames, const float *weight, size_t count, float *acc,
                           size_t n, size_t first, size_t end);
int __wrap_crumb_unpack_add_all(const crumb_span *frames, const float *weight, size_t count, float *acc,
                                size_t n);

static int flip(const crumb_checked *frame, float weight, float *acc, size_t n, size_t first, size_t end)
{
	const unsigned char *payload = frame->payload;
	struct random random = {first};
	for (size_t i = 0; i < frame->size; i++) /* FNV-1a */
		random.counter = (random.counter ^ payload[i]) * UINT64_C(1099511628211);
	float *decoded = calloc(n, sizeof *decoded);
	const int error =
	        decoded ? __real_crumb_add_range(frame, &weight, 1, decoded, n, first, end) : CRUMB_EINVAL;
	for (size_t i = first; !error && i < end; i++)
		acc[i] += random_below(&random, 20) == 0 ? -decoded[i] : decoded[i];
	free(decoded);
	return error;
}

int __wrap_crumb_add_range(const crumb_checked *frames, const float *weight, size_t count, float *acc,
                           size_t n, size_t first, size_t end)
{
	const char *control = getenv("CRUMB_CONTROL");
	crumb_codec raw;
	int error = crumb_parse(&raw, "raw", NULL) < 0 ? CRUMB_EINVAL : 0;
	for (size_t i = 0; i < count && !error; i++)
		if (frames[i].id == raw.id)
			error = __real_crumb_add_range(&frames[i], &weight[i], 1, acc, n, first, end);
		else if (control && strcmp(control, "flip") == 0)
			error = flip(&frames[i], weight[i], acc, n, first, end);
		else if (!control || strcmp(control, "nothing") != 0)
			abort();
	return error;
}

int __wrap_crumb_unpack_add_all(const crumb_span *frames, const float *weight, size_t count, float *acc,
                                size_t n)
{
	int error = 0;
	for (size_t i = 0; i < count && !error; i++) {
		crumb_checked frame;
		const int64_t length = crumb_check(&frame, frames[i].data, frames[i].len);
		error = length < 0 ? (int)length
		                   : __wrap_crumb_add_range(&frame, &weight[i], 1, acc, n, 0, n);
	}
	return error;
}
