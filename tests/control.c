/* Makes a crumb-train of which every assertion about codecs must fail: linked with
 * --wrap=crumb_unpack_add_all, so that of compressed frames nothing arrives (CRUMB_CONTROL=nothing), or all
 * of it with wrong signs on one element of twenty (CRUMB_CONTROL=flip). Raw frames, what others are measured
 * against, arrive as they are.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <crumb.h>
#include "random.h"

/* Names that the linker makes. */
int __wrap_crumb_unpack_add_all(const crumb_span *frames, const float *weight, size_t count, float *acc,
                                size_t n);

static int64_t flip(const crumb_span *span, float weight, float *acc, size_t n)
{
	static uint64_t frames;
	struct random random = {__atomic_add_fetch(&frames, 1, __ATOMIC_RELAXED) << 32};
	float *decoded = calloc(n, sizeof *decoded);
	const int64_t length =
	        decoded ? crumb_unpack_add(span->data, span->len, weight, decoded, n) : CRUMB_EINVAL;
	for (size_t i = 0; length >= 0 && i < n; i++)
		acc[i] += random_below(&random, 20) == 0 ? -decoded[i] : decoded[i];
	free(decoded);
	return length;
}

static int64_t add(const crumb_span *span, float weight, float *acc, size_t n)
{
	const char *control = getenv("CRUMB_CONTROL");
	crumb_codec raw;
	crumb_frame frame;
	const int64_t length = crumb_peek(&frame, span->data, span->len);
	if (length < 0 || crumb_parse(&raw, "raw", NULL) < 0 || frame.codec.id == raw.id)
		return crumb_unpack_add(span->data, span->len, weight, acc, n);
	if (control && strcmp(control, "nothing") == 0)
		return length;
	if (control && strcmp(control, "flip") == 0)
		return flip(span, weight, acc, n);
	abort();
}

int __wrap_crumb_unpack_add_all(const crumb_span *frames, const float *weight, size_t count, float *acc,
                                size_t n)
{
	int64_t length = 0;
	for (size_t i = 0; i < count && length >= 0; i++)
		length = add(&frames[i], weight[i], acc, n);
	return length < 0 ? (int)length : 0;
}
