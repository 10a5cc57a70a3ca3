/* Frames, packers and decoded values have the same bytes on every instruction set.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/laws.h"

/* Frames, packer and accumulator after packing and decoding a gradient three times on one instruction set. */
struct run {
	uint8_t *frame[3];
	size_t len[3];
	crumb_packer *packer;
	float *acc;
};

static struct run run(const char *with, const crumb_codec *c, const void *grad, enum crumb_dtype type,
                      size_t n)
{
	assert_int_equal(crumb_set_isa(with), 0);
	struct run r = {.packer = case_packer(c, n, 7), .acc = malloc((n + 1) * sizeof(float))};
	for (size_t i = 0; i < n; i++)
		r.acc[i] = (float)(i % 7) / 3 - 1;
	for (int s = 0; s < 3; s++) {
		r.frame[s] = case_pack(r.packer, grad, type, &r.len[s]);
		assert_int_equal(crumb_unpack_add(r.frame[s], r.len[s], 0.3f, r.acc, n), r.len[s]);
	}
	return r;
}

static void end(struct run *r)
{
	for (int s = 0; s < 3; s++)
		free(r->frame[s]);
	free(r->packer);
	free(r->acc);
}

/* Fails unless frames, packers and decoded values are those of the portable build, to the byte. */
static void compare_isas(const crumb_codec *c, const void *grad, enum crumb_dtype type, size_t n,
                         enum case_kind kind)
{
	struct run want = run(isa[0], c, grad, type, n);
	for (size_t i = 1; i < isas; i++) {
		struct run got = run(isa[i], c, grad, type, n);
		bool same = !memcmp(got.acc, want.acc, n * sizeof(float)) &&
		            !memcmp(got.packer, want.packer, crumb_packer_size(c, n));
		for (int s = 0; s < 3; s++)
			same = same && got.len[s] == want.len[s] &&
			       !memcmp(got.frame[s], want.frame[s], got.len[s]);
		if (!same)
			fail_msg("%s, %s, n = %zu, kind %d, type %d", name(c), isa[i], n, (int)kind,
			         (int)type);
		end(&got);
	}
	end(&want);
}

static void same_bytes_on_every_isa(void **state)
{
	(void)state;
	for (size_t l = 0; l < case_lengths; l++)
		for (int kind = 0; kind < CASE_KINDS; kind++)
			for (int type = CRUMB_F32; type <= CRUMB_BF16; type++) {
				const size_t n = case_length[l];
				/* other types differ from f32 in how they are loaded, whatever the length */
				if (type != CRUMB_F32 &&
				    ((kind != CASE_GAUSS && kind != CASE_EXTREME) || n > 1000))
					continue;
				float *g = malloc((n + 1) * sizeof *g);
				void *grad = malloc((n + 1) * 4);
				case_fill(g, n, (enum case_kind)kind, 3);
				case_convert(grad, (enum crumb_dtype)type, g, n);
				for (size_t c = 0; c < codecs; c++)
					if (l % 4 == 0 || !slow[c])
						compare_isas(&codec[c], grad, (enum crumb_dtype)type, n,
						             (enum case_kind)kind);
				free(grad);
				free(g);
			}
	crumb_set_isa(NULL);
}

static void same_bytes_of(size_t n)
{
	float *g = malloc(n * sizeof *g);
	case_fill(g, n, CASE_GAUSS, 5);
	for (size_t c = 0; c < codecs; c++)
		compare_isas(&codec[c], g, CRUMB_F32, n, CASE_GAUSS);
	free(g);
	crumb_set_isa(NULL);
}

/* Tensors of several and of many blocks of every kind; the second takes 512 KiB, of which top-k looks at a
 * sample. */
static void same_bytes_of_a_long_tensor(void **state)
{
	(void)state;
	same_bytes_of(3 * 4096 + 13);
	same_bytes_of((1 << 17) + 3);
}

static void the_best_is_the_default(void **state)
{
	(void)state;
	assert_int_equal(crumb_set_isa(isa[0]), 0);
	assert_string_equal(crumb_isa(), "portable");
	assert_int_equal(crumb_set_isa(NULL), 0);
	assert_string_equal(crumb_isa(), isa[isas - 1]);
}

static void others_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = {"vax", "", "AVX2", "avx"};
	FOR_EACH_ISA(isa)
	{
		const char *in_use = crumb_isa();
		for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
			assert_int_equal(crumb_set_isa(wrong[i]), CRUMB_EISA);
			assert_string_equal(crumb_isa(), in_use);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(same_bytes_on_every_isa),
	        cmocka_unit_test(same_bytes_of_a_long_tensor),
	        cmocka_unit_test(the_best_is_the_default),
	        cmocka_unit_test(others_are_refused),
	};
	return cmocka_run_group_tests_name("instruction sets", tests, set_up, NULL);
}
