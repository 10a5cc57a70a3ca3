/* Sparse signs as strom packs them: the shorter of list and map, byte for byte as doc/FORMAT.md has them,
 * wherever in the tensor the elements are. Packing begins with a list, which becomes a map when it is longer
 * than the map so far; here the list stays, becomes a map, and becomes a map that is longer than the list in
 * the end.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 100003 };

/* Several chunks, two and an element, less than a chunk; the last word whole or not. */
static const size_t lengths[] = {MOST, 65536, 16400, 2049, 2048, 100, 16, 5};

/* One of every elements is sent, between two shares of the tensor's length. */
static const struct {
	double from, to;
	size_t every;
} arrangements[] = {
        {0, 1, 100},    {0, 1, 17},    {0, 1, 16},   {0, 1, 15},  {0, 1, 2},   {0, 0.04, 1}, {0, 0.07, 1},
        {0.5, 0.54, 1}, {0.5, 0.6, 1}, {0.96, 1, 1}, {0.9, 1, 1}, {0, 0.1, 2}, {0, 0, 1},
};
enum { ARRANGEMENTS = sizeof arrangements / sizeof *arrangements };

static void arrange(float *g, size_t n, size_t kind, uint64_t seed)
{
	const size_t from = (size_t)(arrangements[kind].from * (double)n),
	             to = (size_t)(arrangements[kind].to * (double)n);
	for (size_t i = 0; i < n; i++) {
		const bool sent = i >= from && i < to && (i - from) % arrangements[kind].every == 0;
		g[i] = (case_random(&seed) & 1 ? 1.0f : -1.0f) * (sent ? 1 : 0.25f);
	}
}

static uint8_t *put_word(uint8_t *dst, uint32_t x)
{
	for (int k = 0; k < 4; k++)
		*dst++ = (uint8_t)(x >> 8 * k);
	return dst;
}

/* The signs of elements of magnitude 1; returns their bytes. */
static size_t signs_of(uint8_t *dst, const float *g, size_t n, bool *map)
{
	const size_t map_bytes = (n + 15) / 16 * 4;
	uint8_t *at = dst;
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += g[i] == 1 || g[i] == -1;
	*map = 4 * count >= map_bytes;
	memset(dst, 0, map_bytes);
	for (size_t i = 0; i < n; i++) {
		if (g[i] != 1 && g[i] != -1)
			continue;
		if (*map)
			dst[i / 4] |= (uint8_t)((g[i] > 0 ? 1 : 2) << 2 * (i % 4));
		else
			at = put_word(at, 2 * (uint32_t)i + (g[i] > 0));
	}
	return *map ? map_bytes : 4 * count;
}

static void pack_and_compare(const char *isa, const char *spec, size_t n, size_t kind)
{
	static float g[MOST];
	static uint8_t signs[MOST / 4 + 64];
	crumb_codec codec;
	size_t length;
	bool map;
	arrange(g, n, kind, n);
	crumb_set_isa(isa);
	codec = case_parse(spec);
	crumb_packer *p = case_packer(&codec, n, 1);
	uint8_t *frame = case_pack(p, g, CRUMB_F32, &length);
	const size_t size = signs_of(signs, g, n, &map);
	const uint8_t *const payload = frame + CRUMB_HEADER_BYTES;
	if (length != CRUMB_HEADER_BYTES + 4 + size || memcmp(payload + 4, signs, size) != 0)
		fail_msg("%s, %s: %zu elements, arrangement %zu: another %s of %zu bytes", isa, spec, n, kind,
		         map ? "map" : "list", size);
	const float *residual = crumb_packer_residual(p);
	for (size_t i = 0; i < n; i++)
		assert_true(residual[i] == (g[i] == 1 || g[i] == -1 ? g[i] / 4 : g[i]));
	free(frame);
	free(p);
}

static void shorter_form(void **state)
{
	(void)state;
	const char *isa[CASE_ISAS];
	const size_t isas = case_isas(isa);
	for (size_t s = 0; s < isas; s++)
		for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
			for (size_t kind = 0; kind < ARRANGEMENTS; kind++)
				pack_and_compare(isa[s], "strom:threshold=0.75", lengths[l], kind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(shorter_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
