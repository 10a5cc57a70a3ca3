/* Unpack takes every frame that pack writes, and crumb_packer_check every packer: many steps of gradients at
 * the limit, 2^120.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/laws.h"
#include <math.h>

enum { N = 1000, STEPS = 500 };
enum kind { ALL, ALTERNATING, LONE, LONE_AMONG_MINUS, SIGNS, KINDS };

static void fill(float *g, enum kind kind, uint64_t step, uint64_t *chance)
{
	for (size_t i = 0; i < N; i++) {
		const bool lone = i == 7, odd = kind == ALTERNATING ? step % 2 : case_random(chance) % 2;
		const float most = 0x1p120f;
		switch (kind) {
		case ALTERNATING:
		case SIGNS:
			g[i] = odd ? most : -most;
			break;
		case LONE:
			g[i] = lone ? most : 0;
			break;
		case LONE_AMONG_MINUS:
			g[i] = lone ? most : -most;
			break;
		default:
			g[i] = most;
		}
	}
}

/* Packs a step, with a copy of the packer that has passed its check; fails the test unless the frame decodes
 * to finite values. */
static void pack_step(crumb_packer *p, const crumb_codec *c, const float *g, enum kind kind, unsigned step)
{
	static float acc[N];
	const size_t size = crumb_packer_size(c, N);
	crumb_packer *copy = malloc(size);
	size_t len;
	memset(acc, 0, sizeof acc);
	memcpy(copy, p, size);
	if (crumb_packer_check(copy, size))
		fail_msg("%s, kind %d: the packer is refused after %u steps", name(c), (int)kind, step);
	uint8_t *frame = case_pack(copy, g, CRUMB_F32, &len);
	const int64_t taken = crumb_unpack_add(frame, len, 1, acc, N);
	bool finite = true;
	for (size_t i = 0; i < N; i++)
		finite = finite && isfinite(acc[i]);
	if (taken != (int64_t)len || !finite)
		fail_msg("%s, kind %d, step %u: %s", name(c), (int)kind, step,
		         taken < 0 ? crumb_strerror((int)taken) : "values that are not finite");
	memcpy(p, copy, size);
	free(frame);
	free(copy);
}

/* Without a residual steps differ in random numbers alone. */
static void pack_at_the_limit(const crumb_codec *c, enum kind kind)
{
	float g[N];
	uint64_t chance = 1;
	crumb_packer *p = case_packer(c, N, 1);
	const unsigned steps = crumb_packer_residual(p) ? STEPS : 2;
	for (unsigned step = 0; step < steps; step++) {
		fill(g, kind, step, &chance);
		pack_step(p, c, g, kind, step);
	}
	assert_int_equal(crumb_packer_check(p, crumb_packer_size(c, N)), 0);
	free(p);
}

static void what_pack_writes_unpack_takes(void **state)
{
	(void)state;
	const char *const set[] = {isa[0], isa[isas - 1]}; /* all write the same bytes: test_isas */
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(crumb_set_isa(set[i]), 0);
		for (size_t c = 0; c < codecs; c++)
			for (int kind = 0; kind < KINDS; kind++)
				pack_at_the_limit(&codec[c], (enum kind)kind);
	}
	crumb_set_isa(NULL);
}

/* Floats that no step can have left in a packer. */
static void damaged_floats_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		float bad;
	} damage[] = {{"sign", NAN},
	              {"sign", -INFINITY},
	              {"twobit", 0x1.8p126f},
	              {"terngrad:shared=1", -1},
	              {"terngrad:shared=1", -0.0f},
	              {"terngrad:shared=1", 0x1p121f}};
	for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
		const crumb_codec c = case_parse(damage[i].spec);
		const size_t size = crumb_packer_size(&c, N);
		crumb_packer *p = case_packer(&c, N, 1);
		assert_int_equal(crumb_packer_check(p, size), 0);
		memcpy((uint8_t *)p + size - sizeof(float), &damage[i].bad, sizeof(float));
		assert_int_equal(crumb_packer_check(p, size), CRUMB_EPACKER);
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(what_pack_writes_unpack_takes),
	        cmocka_unit_test(damaged_floats_are_refused),
	};
	return cmocka_run_group_tests_name("limits", tests, set_up, NULL);
}
