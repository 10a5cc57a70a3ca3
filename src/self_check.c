/* Packs a few elements with every kind of codec, and compares the bytes with those that the format asks for.
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "isa.h"
#include <string.h>

/* Four groups of sixteen and a rest; twice, so that residuals take part. */
enum { N = 67, STEPS = 2, PACKER_BYTES = 1024, FRAME_BYTES = 512, MOST_SHARED = 8192 };

/* A CRC-32C of all frames and of what they decode to. Each row is a payload, or a way to choose its values.
 */
static const struct {
	const char *spec;
	uint32_t crc;
} rows[] = {
        {"raw", 0x63529f43},
        {"half", 0xeb9579cb},
        {"half:type=f16", 0x4deb7afa},
        {"sign", 0xd659da89},
        {"terngrad", 0x161005de},
        {"adacomp:bin=20", 0xe0ee4c2f},
        {"local:bin=20", 0x25c5cc1f},
        {"seide:split=mean", 0xc9d8b283},
        {"strom:threshold=auto", 0x4b57087a},
        {"twobit:threshold=auto", 0x6c8a8fb1},
        {"onebit", 0xe88986c8},
        {"topk:fraction=0.1", 0xd0158cbf},
        {"qsgd", 0x49eeedd6},
        {"nuqsgd", 0xde515ded},
        {"natural", 0x5c55a023},
        {"alq:bits=2", 0xb9101271},
        {"amq:bits=2", 0xb08db658},
        {"zipml", 0xaa8f07de},
        {"chunk:chunk=32,keep=4", 0xb9ab5618},
        {"block:bits=4,block=32", 0x4c39d5be},
        {"dgc:fraction=0.1", 0x7ac21cfb},
};

/* Fills g with numbers of 24 bits between 2^-9 and 1, of both signs. */
static void fill(float *g, uint32_t *random)
{
	for (size_t i = 0; i < N; i++) {
		*random = *random * 1664525 + 1013904223;
		const uint32_t exponent = 118 + (*random >> 5) % 9;
		g[i] = float_of_bits((*random & 0x80000000) | exponent << 23 | (*random >> 8 & 0x7FFFFF));
	}
}

/* Agrees on the shared statistics alone, if any are due, and packs. Returns crumb_pack's result. */
static int64_t pack(crumb_packer *p, const float *g, uint8_t *frame)
{
	float shared[MOST_SHARED];
	const size_t due = crumb_agree_count(p);
	if (due && due <= MOST_SHARED && crumb_measure(p, g, N, CRUMB_F32, shared) == 0)
		crumb_agree(p, shared, 1);
	return crumb_pack(p, g, N, CRUMB_F32, 0, frame, FRAME_BYTES);
}

static bool right(const char *spec, uint32_t crc)
{
	_Alignas(64) uint8_t memory[PACKER_BYTES];
	crumb_packer *const p = (crumb_packer *)(void *)memory;
	uint8_t made[STEPS * FRAME_BYTES + N * sizeof(float)];
	float g[N], sum[N] = {0};
	size_t size = 0;
	uint32_t random = 1;
	crumb_codec codec;
	if (crumb_parse(&codec, spec, NULL) || crumb_packer_size(&codec, N) > sizeof memory ||
	    crumb_packer_init(p, &codec, N, 0, 1))
		return false;
	for (size_t step = 0; step < STEPS; step++) {
		fill(g, &random);
		const int64_t length = pack(p, g, made + size);
		if (length < 0 || crumb_unpack_add(made + size, (size_t)length, 0x1.555556p-2f, sum, N) < 0)
			return false;
		size += (size_t)length;
	}
	memcpy(made + size, sum, sizeof sum);
	g[N / 2] = float_of_bits(0x7FC00000); /* a NaN */
	return crumb_isa_now()->crc(made, size + sizeof sum) == crc && pack(p, g, made) == CRUMB_ENONFINITE;
}

int crumb_self_check(void)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!right(rows[i].spec, rows[i].crc))
			return CRUMB_EFLOAT;
	return 0;
}
