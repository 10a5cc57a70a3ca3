/* Packs arbitrary bits with any codec: either the gradient is refused and the packer unchanged, or its frame
 * is within the bound, decodes, and is the same from every instruction set.
 *
 * An input is a byte for the instruction set, one for type and steps, a spec, a line feed, and elements.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

struct gradient {
	void *data; /* in a block of exactly its size */
	size_t n;
	enum crumb_dtype dtype;
	unsigned flags;
};

/* Measures and agrees on shared statistics alone, if the codec has any, and packs. */
static int64_t pack(crumb_packer *packer, const struct gradient *g, uint8_t *dst, size_t cap)
{
	const size_t due = crumb_agree_count(packer);
	if (due) {
		float *stat = fuzz_floats(due, 0);
		assert(crumb_pack(packer, g->data, g->n, g->dtype, g->flags, dst, cap) == CRUMB_EAGREE);
		const int error = crumb_measure(packer, g->data, g->n, g->dtype, stat);
		assert(error || !crumb_agree(packer, stat, 1));
		free(stat);
		if (error)
			return error;
	}
	assert(crumb_pack(packer, g->data, g->n, g->dtype, g->flags, dst, cap - 1) == CRUMB_ESPACE);
	return crumb_pack(packer, g->data, g->n, g->dtype, g->flags, dst, cap);
}

static void assert_decodes(const uint8_t *frame, size_t length, size_t n)
{
	uint8_t *exact = fuzz_copy(frame, length);
	float *acc = fuzz_floats(n, 0);
	assert(crumb_unpack_add(exact, length, 1, acc, n) == (int64_t)length);
	for (size_t i = 0; i < n; i++)
		assert(isfinite(acc[i]));
	free(acc);
	free(exact);
}

/* Returns true if all frames of n elements have the same length. */
static bool fixed(const crumb_codec *codec)
{
	const crumb_codec_info *info = crumb_list(codec->id - 1);
	for (size_t k = 0; k < info->keys; k++)
		if (!strcmp(info->key[k].name, "coding") && codec->value[k] != info->key[k].default_value)
			return false;
	return info->flags & CRUMB_CODEC_FIXED;
}

/* Packs the gradient a few times, with this instruction set and with the portable one. */
static void assert_laws(const crumb_codec *codec, const struct gradient *g, uint8_t isa, unsigned steps)
{
	const size_t n = g->n, cap = crumb_bound(codec, n), size = crumb_packer_size(codec, n);
	crumb_packer *packer = malloc(size), *plain = malloc(size);
	uint8_t *frame = malloc(cap), *same = malloc(cap);
	assert(packer && plain && frame && same);
	assert(!crumb_packer_init(packer, codec, n, 0, 1) && !crumb_packer_init(plain, codec, n, 0, 1));
	int64_t before = 0;
	for (unsigned step = 0; step < steps; step++) {
		fuzz_set_isa(isa);
		const int refused = crumb_finite(g->data, n, g->dtype);
		const int64_t length = pack(packer, g, frame, cap);
		assert(refused ? length == refused : length >= CRUMB_HEADER_BYTES && (size_t)length <= cap);
		assert(crumb_packer_step(packer) == (refused ? 0 : step + 1));
		if (!refused) {
			assert_decodes(frame, (size_t)length, n);
			assert(!step || length == before || !fixed(codec));
			before = length;
		}
		assert(!crumb_packer_check(packer, size));
		fuzz_set_isa(FUZZ_PORTABLE);
		assert(pack(plain, g, same, cap) == length && !memcmp(plain, packer, size));
		assert(refused || !memcmp(frame, same, (size_t)length));
	}
	free(packer);
	free(plain);
	free(frame);
	free(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t isa = fuzz_byte(&data, &size), how = fuzz_byte(&data, &size);
	char spec[CRUMB_SPEC_MAX];
	size_t length = 0;
	for (uint8_t c; length + 1 < sizeof spec && size && (c = fuzz_byte(&data, &size)) != '\n';)
		spec[length++] = (char)c;
	spec[length] = 0;
	crumb_codec codec;
	if (crumb_parse(&codec, spec, NULL))
		return 0;

	struct gradient g = {.dtype = (enum crumb_dtype)(how % 3)};
	const size_t width = g.dtype == CRUMB_F32 ? 4 : 2;
	g.n = size / width;
	g.data = fuzz_copy(data, g.n * width);
	if (how & 0x80 && !crumb_finite(g.data, g.n, g.dtype))
		g.flags = CRUMB_KNOWN_FINITE;
	assert_laws(&codec, &g, isa, 1 + how / 3 % 3);
	free(g.data);
	return 0;
}
