/* Laws of packing that hold for every codec, length and type.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/laws.h"
#include <math.h>

/* Returns the factor by which the codec's residual decays. */
static float decay(const crumb_codec *c)
{
	const crumb_codec_info *info = crumb_list(c->id - 1);
	const size_t last = info->keys - 1;
	assert_string_equal(info->key[last].name, "decay");
	return c->value[last];
}

/* Sets before to what a packer that owes it will have gathered when the gradient has come: decay * residual,
 * and the gradient or, with momentum, the velocity that it makes. */
static void gather(crumb_packer *p, const crumb_codec *c, const float *g, float *owed, float *added)
{
	const size_t n = crumb_packer_count(p);
	const float *velocity = crumb_packer_velocity(p), keeps = decay(c);
	for (size_t i = 0; i < n; i++) {
		owed[i] = keeps * crumb_packer_residual(p)[i];
		added[i] = velocity ? c->value[0] * velocity[i] : 0;
		added[i] = fmaxf(-0x1p120f, fminf(added[i] + g[i], 0x1p120f));
	}
}

/* decay * residual + gradient == sent + new residual, up to the two roundings of each element; with momentum
 * the velocity stands in the gradient's place, and is 0 where the element is sent. */
static void nothing_is_lost(void **state)
{
	(void)state;
	enum { STEPS = 4 };
	static float gradient[STEPS][4099];
	for (size_t l = 0; l < case_lengths; l++)
		for (int kind = 0; kind < CASE_KINDS; kind++) {
			const size_t n = case_length[l];
			for (uint64_t step = 0; step < STEPS; step++)
				case_fill(gradient[step], n, (enum case_kind)kind, step);
			for (size_t c = 0; c < codecs; c++) {
				crumb_packer *p = case_packer(&codec[c], n, 1);
				const float *residual = crumb_packer_residual(p),
				            *velocity = crumb_packer_velocity(p);
				float *owed = calloc(n + 1, sizeof *owed),
				      *added = calloc(n + 1, sizeof *added);
				for (uint64_t step = 0; residual && step < STEPS; step++) {
					const float *g = gradient[step];
					gather(p, &codec[c], g, owed, added);
					size_t len;
					uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
					float *sent = decode(frame, len, n);
					for (size_t i = 0; i < n; i++) {
						const double in = (double)owed[i] + (double)added[i];
						const double out = (double)sent[i] + (double)residual[i];
						const double most = fmax(fmax(fabs(in), fabs(sent[i])),
						                         fabs(residual[i]));
						if (!(fabs(in - out) <= most * 0x1p-23 + 0x1p-149))
							fail_msg("%s, n = %zu, kind %d, step %d, "
							         "element %zu: %a in, %a out",
							         name(&codec[c]), n, kind, (int)step, i, in,
							         out);
						if (velocity && velocity[i] != (sent[i] != 0 ? 0 : added[i]))
							fail_msg("%s, n = %zu, element %zu: velocity %a",
							         name(&codec[c]), n, i, (double)velocity[i]);
					}
					free(sent);
					free(frame);
				}
				free(owed);
				free(added);
				free(p);
			}
		}
}

/* A codec without residual and random rounding is idempotent: packing decoded values changes nothing. */
static void plain_codecs_are_idempotent(void **state)
{
	(void)state;
	for (size_t c = 0; c < codecs; c++)
		for (size_t l = 0; l < case_lengths; l++) {
			const size_t n = case_length[l];
			size_t len, again;
			float *g = malloc((n + 1) * sizeof *g);
			case_fill(g, n, CASE_GAUSS, 11);
			crumb_packer *p = case_packer(&codec[c], n, 1);
			const crumb_codec_info *info = crumb_list(codec[c].id - 1);
			if (!(info->flags & (CRUMB_CODEC_RESIDUAL | CRUMB_CODEC_RANDOM))) {
				uint8_t *one = case_pack(p, g, CRUMB_F32, &len);
				float *sent = decode(one, len, n);
				for (size_t i = 0; i < n; i++)
					if (fabsf(sent[i] - g[i]) > fabsf(g[i]) * 0x1p-8f)
						fail_msg("%s: %a became %a", name(&codec[c]), (double)g[i],
						         (double)sent[i]);
				uint8_t *two = case_pack(p, sent, CRUMB_F32, &again);
				assert_int_equal(len, again);
				assert_memory_equal(one, two, len);
				free(one);
				free(two);
				free(sent);
			}
			free(p);
			free(g);
		}
}

/* Packing f16 or bf16 gives the same frame as packing the same numbers in f32. */
static void types_agree(void **state)
{
	(void)state;
	const size_t n = 4099;
	float g[4099], wide[4099];
	uint16_t narrow[4099];
	case_fill(g, n, CASE_GAUSS, 2);
	for (size_t c = 0; c < codecs; c++)
		for (int type = CRUMB_F16; type <= CRUMB_BF16; type++) {
			case_convert(narrow, (enum crumb_dtype)type, g, n);
			for (size_t i = 0; i < n; i++)
				wide[i] = case_element(narrow, (enum crumb_dtype)type, i);
			crumb_packer *p = case_packer(&codec[c], n, 1), *q = case_packer(&codec[c], n, 1);
			size_t len, same;
			uint8_t *one = case_pack(p, narrow, (enum crumb_dtype)type, &len);
			uint8_t *two = case_pack(q, wide, CRUMB_F32, &same);
			assert_int_equal(len, same);
			assert_memory_equal(one, two, len);
			free(one);
			free(two);
			free(p);
			free(q);
		}
}

/* The length of a frame of codecs that say so depends on n and run only, at the default coding. */
static void lengths_are_fixed(void **state)
{
	(void)state;
	size_t fixed = 0;
	for (size_t c = 0; c < codecs; c++) {
		const crumb_codec_info *info = crumb_codec_info_of(&codec[c]);
		bool as_said = info->flags & CRUMB_CODEC_FIXED;
		for (size_t k = 0; k < info->keys; k++)
			if (!strcmp(info->key[k].name, "coding"))
				as_said = as_said && codec[c].value[k] == info->key[k].default_value;
		fixed += as_said;
		for (size_t l = 0; l < case_lengths && as_said; l += slow[c] ? 4 : 1) {
			const size_t n = case_length[l];
			float *g = malloc((n + 1) * sizeof *g);
			size_t first = 0, len;
			for (int kind = 0; kind < CASE_KINDS; kind++) {
				crumb_packer *p = case_packer(&codec[c], n, 1);
				case_fill(g, n, (enum case_kind)kind, 1);
				free(case_pack(p, g, CRUMB_F32, &len));
				first = first ? first : len;
				if (len != first)
					fail_msg("%s, n = %zu, kind %d: %zu bytes and %zu", name(&codec[c]),
					         n, kind, first, len);
				free(p);
			}
			free(g);
		}
	}
	assert_true(fixed > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(nothing_is_lost),
	        cmocka_unit_test(plain_codecs_are_idempotent),
	        cmocka_unit_test(types_agree),
	        cmocka_unit_test(lengths_are_fixed),
	};
	return cmocka_run_group_tests_name("laws", tests, set_up, NULL);
}
