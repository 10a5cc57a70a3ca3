/* The codecs, instruction sets, lengths and gradients that the laws loop over.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const inside[] = {
        "adacomp:bin=4",
        "adacomp:bin=16",
        "adacomp:bin=50",
        "adacomp:bin=63",
        "adacomp:bin=64",
        "adacomp:bin=17",
        "adacomp:bin=20000",
        "adacomp:bin=50,factor=3",
        "adacomp:bin=50,coding=entropy",
        "adacomp:bin=4,coding=entropy",
        "adacomp:bin=20000,coding=entropy",
        "local:bin=20,coding=entropy",
        "strom:threshold=2,coding=entropy",
        "topk:fraction=0.1,coding=entropy",
        "terngrad:bucket=64",
        "terngrad:bucket=512,coding=bits",
        "terngrad:bucket=512,shared=1",
        "terngrad:clip=0,shared=1,coding=bits",
        "terngrad:coding=entropy,bucket=64",
        "terngrad:coding=entropy,clip=0",
        "twobit:threshold=0.01",
        "twobit:threshold=auto,share=0.3",
        "strom:threshold=auto,share=0.001,coding=entropy",
        "block:bits=4,rounding=nearest",
        "block:bits=4,block=4096",
        "block:block=96",
        "chunk:chunk=16,keep=3,bits=8",
        "chunk:chunk=112,keep=112,bits=3",
        "chunk:chunk=1008,keep=100,bits=32",
        "chunk:chunk=4096,keep=1500",
        "chunk:chunk=65536,keep=600,decay=0.95",
        "dgc:fraction=0.02,warmup=5",
        "dgc:fraction=0.1,momentum=0.5,decay=0.75",
        "dgc:momentum=0,warmup=2",
};

static bool add(crumb_codec *codec, size_t *count, size_t cap, const crumb_codec *c)
{
	if (!crumb_bound(c, 1))
		return false; /* a combination that the codec does not take */
	assert_true(*count < cap);
	codec[(*count)++] = *c;
	return true;
}

crumb_codec case_parse(const char *spec)
{
	crumb_codec codec;
	const char *bad = spec;
	if (crumb_parse(&codec, spec, &bad))
		fail_msg("%s: wrong at \"%s\"", spec, bad);
	return codec;
}

size_t case_codecs(crumb_codec *codec, size_t cap)
{
	size_t count = 0;
	const crumb_codec_info *info;
	for (size_t i = 0; (info = crumb_list(i)); i++) {
		crumb_codec plain = case_parse(info->name);
		assert_true(add(codec, &count, cap, &plain));
		for (size_t k = 0; k < info->keys; k++) {
			const crumb_key_info *key = &info->key[k];
			crumb_codec c = plain;
			if (key->choices) {
				for (size_t choice = 0; key->choices[choice]; choice++) {
					c.value[k] = (float)choice;
					add(codec, &count, cap, &c);
				}
				if (key->step != 0)
					continue;
			}
			c.value[k] = key->min;
			add(codec, &count, cap, &c);
			c.value[k] = key->max;
			add(codec, &count, cap, &c);
		}
	}
	for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
		crumb_codec c = case_parse(inside[i]);
		assert_true(add(codec, &count, cap, &c));
	}
	return count;
}

size_t case_isas(const char **name)
{
	static const char *const all[] = {"portable", "sse2", "avx2", "avx512", "neon"};
	size_t count = 0;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (crumb_set_isa(all[i]) == 0)
			name[count++] = all[i];
	assert_int_equal(crumb_set_isa(NULL), 0);
	return count;
}

const char *case_isa(size_t i)
{
	static const char *name[CASE_ISAS];
	const size_t count = case_isas(name);
	assert_int_equal(crumb_set_isa(i < count ? name[i] : NULL), 0);
	return i < count ? name[i] : NULL;
}

const size_t case_length[] = {0,   1,   2,   15,  16,  17,  31,   32,   33,   49,   50,
                              51,  79,  80,  81,  95,  96,  97,   99,   100,  319,  320,
                              321, 499, 500, 501, 515, 516, 1000, 4095, 4096, 4097, 4099};
const size_t case_lengths = sizeof case_length / sizeof *case_length;

uint64_t case_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	uint64_t x = *state;
	x = (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	return x ^ x >> 32;
}

double case_uniform(uint64_t *state) { return (double)(case_random(state) >> 11) * 0x1p-53; }

static double gauss_of(double a, double b) { return sqrt(-2 * log(1 - a)) * cos(6.283185307179586 * b); }

double case_gauss(uint64_t *state)
{
	const double a = case_uniform(state);
	return gauss_of(a, case_uniform(state));
}

void case_fill(float *g, size_t n, enum case_kind kind, uint64_t seed)
{
	static const float extreme[] = {0x1p120f,        -0x1p120f,   0.0f,       -0.0f,    0x1p-149f,
	                                -0x1p-149f,      0x1.8p-130f, -0x1p-126f, 65504.0f, -65536.0f,
	                                0x1.fffffep119f, 1.0f,        -0.5f,      0x1p-24f};
	uint64_t state = seed * 977 + (uint64_t)kind * 13 + n;
	for (size_t i = 0; i < n; i++) {
		const double a = case_uniform(&state),
		             b = case_uniform(&state); /* both drawn, so that every kind draws as many */
		switch (kind) {
		case CASE_GAUSS:
			g[i] = (float)gauss_of(a, b);
			break;
		case CASE_SPARSE:
			g[i] = case_random(&state) % 8
			               ? 0
			               : (float)(gauss_of(a, b) * exp2(-8 * case_uniform(&state)));
			break;
		case CASE_DYADIC:
			g[i] = (float)(nearbyint(gauss_of(a, b) * 8) / 16);
			break;
		case CASE_EXTREME:
			g[i] = extreme[case_random(&state) % (sizeof extreme / sizeof *extreme)];
			break;
		case CASE_CONSTANT:
			g[i] = 0.7f;
			break;
		default:
			g[i] = 0;
		}
	}
}

size_t case_width(enum crumb_dtype dtype) { return dtype == CRUMB_F32 ? 4 : 2; }

static uint16_t half_of(float x)
{
	const uint16_t sign = signbit(x) ? 0x8000 : 0;
	const double size = fabs((double)x);
	if (size >= 65520)
		return sign | 0x7BFF;
	if (size < 0x1p-14)
		return sign | (uint16_t)nearbyint(size * 0x1p24);
	int exponent;
	const double part = frexp(size, &exponent);
	return (uint16_t)(sign + ((exponent + 14) << 10) + (int)nearbyint(part * 2048) - 1024);
}

void case_convert(void *dst, enum crumb_dtype dtype, const float *src, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t bits;
		memcpy(&bits, &src[i], sizeof bits);
		uint16_t x = (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
		if (dtype == CRUMB_F16)
			x = half_of(src[i]);
		if (dtype == CRUMB_F32)
			memcpy((char *)dst + 4 * i, &src[i], 4);
		else
			memcpy((char *)dst + 2 * i, &x, 2);
	}
}

float case_element(const void *src, enum crumb_dtype dtype, size_t i)
{
	if (dtype == CRUMB_F32) {
		float value;
		memcpy(&value, (const char *)src + 4 * i, 4);
		return value;
	}
	uint16_t x;
	memcpy(&x, (const char *)src + 2 * i, 2);
	if (dtype == CRUMB_BF16) {
		const uint32_t bits = (uint32_t)x << 16;
		float value;
		memcpy(&value, &bits, 4);
		return value;
	}
	const int exponent = x >> 10 & 31, part = x & 1023;
	const double size = exponent ? ldexp(1024 + part, exponent - 25) : ldexp(part, -24);
	return (float)(x >> 15 ? -size : size);
}

crumb_packer *case_packer(const crumb_codec *codec, size_t n, uint64_t seed)
{
	const size_t size = crumb_packer_size(codec, n);
	crumb_packer *packer = malloc(size);
	assert_non_null(packer);
	/* columns: none, long ones, ones so short that several are packed together */
	static const size_t run[] = {0, 100, 25};
	assert_int_equal(crumb_packer_init(packer, codec, n, run[n % 3], seed), 0);
	return packer;
}

uint8_t *case_pack(crumb_packer *packer, const void *grad, enum crumb_dtype dtype, size_t *len)
{
	const size_t due = crumb_agree_count(packer), n = crumb_packer_count(packer);
	if (due) {
		float *stat = malloc(due * sizeof *stat);
		assert_int_equal(crumb_measure(packer, grad, crumb_packer_count(packer), dtype, stat), 0);
		assert_int_equal(crumb_agree(packer, stat, 1), 0);
		free(stat);
	}
	const size_t bound = crumb_bound(crumb_packer_codec(packer), n);
	uint8_t behind[64], *frame = malloc(bound + sizeof behind);
	assert_non_null(frame);
	memset(behind, 0xA5, sizeof behind);
	memcpy(frame + bound, behind, sizeof behind);
	const int64_t length = crumb_pack(packer, grad, crumb_packer_count(packer), dtype, 0, frame, bound);
	if (length < 0)
		fail_msg("crumb_pack: %s", crumb_strerror((int)length));
	assert_memory_equal(frame + bound, behind, sizeof behind);
	frame = realloc(frame, bound); /* a sanitizer reports reads past its end */
	assert_non_null(frame);
	assert_true((size_t)length <= bound);
	*len = (size_t)length;
	return frame;
}
