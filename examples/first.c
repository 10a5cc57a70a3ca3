/* Packs ten gradients of a million elements, one a step as in training, and says how many bytes they became.
 * README.md has the line that compiles it with the library's files, and its output. Where crumb is installed:
 * cc first.c $(pkg-config --cflags --libs crumb) && ./a.out adacomp:bin=500. SPDX-License-Identifier: MIT */
#include <crumb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000000, STEPS = 10 };

/* Draws numbers of which most are small, as those of gradients are. */
static void draw(float *gradient, uint32_t *state)
{
	for (int i = 0; i < N; i++) {
		*state = *state * 1664525 + 1013904223;
		const float x = (float)(int32_t)*state * 0x1p-31f;
		gradient[i] = x * x * x;
	}
}

int main(int argc, char **argv)
{
	static float gradient[N], mean[N];
	crumb_codec codec;
	if (crumb_parse(&codec, argc > 1 ? argv[1] : "adacomp:bin=500", NULL))
		return fprintf(stderr, "first: no such codec\n"), 1;
	crumb_packer *packer = malloc(crumb_packer_size(&codec, N)); /* keeps what is not sent yet */
	const size_t room = crumb_bound(&codec, N);
	void *frame = malloc(room);
	if (!packer || !frame || crumb_packer_init(packer, &codec, N, 0, 1))
		return fprintf(stderr, "first: no memory\n"), 1;
	long long bytes = 0;
	uint32_t state = 1;
	for (int step = 0; step < STEPS; step++) {
		draw(gradient, &state);
		const int64_t length = crumb_pack(packer, gradient, N, CRUMB_F32, 0, frame, room);
		if (length < 0)
			return fprintf(stderr, "first: %s\n", crumb_strerror((int)length)), 1;
		memset(mean, 0, sizeof mean);
		/* Every worker adds the frames of all of N workers, with the weight 1/N; here is one. */
		if (crumb_unpack_add(frame, (size_t)length, 1, mean, N) < 0)
			return fprintf(stderr, "first: damaged frame\n"), 1;
		bytes += length;
	}
	printf("%lld bytes of gradients became %lld: %.1f times fewer\n", 4LL * N * STEPS, bytes,
	       4.0 * N * STEPS / (double)bytes);
	free(frame);
	free(packer);
}
