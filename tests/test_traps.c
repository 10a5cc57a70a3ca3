/* The caller's floating-point environment changes nothing, and is there again after each call: one that traps
 * invalid operations, divisions by zero and overflows kills no caller; rounding and subnormal numbers are
 * those of the default environment.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* feenableexcept */
#include "base/float_env.h"
#include "exchange/exchange.h"
#include "tests/laws.h"
#include "frame.h"
#include <fenv.h>
#include <math.h>

enum { TRAPS = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW, STEPS = 3, LONGEST = 4099 };
enum { LIMIT = CASE_KINDS, LIMITS, SUBNORMAL, KINDS }; /* kinds of gradients beside those of cases.h */

static bool traps; /* this machine has them */

/* Environments of unusual callers. */
#ifdef __SSE__
enum { FLUSH = 0x8000, READ_AS_ZERO = 0x40 }; /* results and operands that are subnormal */
#else
enum { FLUSH = 1 << 24, READ_AS_ZERO = FLUSH }; /* of 64-bit ARM */
#endif
static const struct environment {
	int rounding, traps;
	uint64_t subnormals;
} environments[] = {{FE_UPWARD, TRAPS, FLUSH | READ_AS_ZERO},
                    {FE_DOWNWARD, 0, 0},
                    {FE_TOWARDZERO, 0, 0},
                    {FE_TONEAREST, 0, FLUSH},
                    {FE_TONEAREST, 0, READ_AS_ZERO},
                    {FE_TONEAREST, TRAPS, 0},
                    {FE_DOWNWARD, TRAPS, FLUSH | READ_AS_ZERO}}; /* seven: each gradient meets each */
enum { ENVIRONMENTS = sizeof environments / sizeof *environments };
static const struct environment *env; /* the one in use */
static uint64_t entered;

static void enter_env(size_t which)
{
	env = &environments[which % ENVIRONMENTS];
	feclearexcept(FE_ALL_EXCEPT);
	assert_int_equal(fesetround(env->rounding), 0);
	float_env_set(float_env_get() | env->subnormals);
	traps = feenableexcept(env->traps) >= 0;
	entered = float_env_get() & ~(uint64_t)FLOAT_ENV_FLAGS;
}
static bool is_env(void)
{
	return (float_env_get() & ~(uint64_t)FLOAT_ENV_FLAGS) == entered && fegetround() == env->rounding &&
	       (!traps || fegetexcept() == env->traps);
}

static void fill(float *g, size_t n, int kind)
{
	uint64_t chance = 1;
	if (kind < CASE_KINDS)
		case_fill(g, n, (enum case_kind)kind, 3);
	for (size_t i = 0; i < n && kind >= CASE_KINDS; i++)
		g[i] = (kind == LIMITS && case_random(&chance) % 2 ? -1.0f : 1.0f) *
		       (kind == SUBNORMAL ? (float)(i + 1) * 0x1p-149f : 0x1p120f);
}

/* Everything that the library makes of a gradient. */
struct result {
	crumb_packer *packer;
	uint8_t *frame[STEPS];
	size_t len[STEPS];
	int64_t answer[6];
	float acc[LONGEST];
};

/* Packs and decodes a gradient, a damaged frame, and one that is not finite. */
static void run(struct result *r, const crumb_codec *c, const void *grad, enum crumb_dtype type, size_t n)
{
	static uint8_t sum[1 << 16];
	float bad[LONGEST];
	crumb_frame_info info;
	const uint32_t signalling = 0x7FA00000;
	r->packer = case_packer(c, n, 7);
	memset(r->acc, 0, sizeof r->acc);
	for (int s = 0; s < STEPS; s++) {
		r->frame[s] = case_pack(r->packer, grad, type, &r->len[s]);
		r->answer[0] = crumb_unpack_add(r->frame[s], r->len[s], 0.3f, r->acc, n);
		assert_int_equal(r->answer[0], r->len[s]);
	}
	const crumb_span span[2] = {{r->frame[0], r->len[0]}, {r->frame[1], r->len[1]}};
	const float weight[2] = {0.1f, 0.7f};
	r->answer[0] = crumb_unpack_add_all(span, weight, 2, r->acc, n);
	r->answer[1] = crumb_peek(&info, r->frame[0], r->len[0]);
	r->answer[2] = crumb_sum(span, 2, sum, sizeof sum);
	if (r->answer[2] > 0)
		r->answer[2] = crumb_unpack_add(sum, (size_t)r->answer[2], 0.3f, r->acc, n);
	r->answer[3] = crumb_packer_check(r->packer, crumb_packer_size(c, n));
	for (size_t i = 0; i < n; i++)
		memcpy(bad + i, &signalling, sizeof signalling);
	r->answer[4] = crumb_finite(bad, n, type);

	struct frame was;
	uint8_t *damaged = malloc(r->len[0]);
	memcpy(damaged, r->frame[0], r->len[0]);
	assert_int_equal(crumb_frame_open(&was, damaged, r->len[0]), r->len[0]);
	r->answer[5] = 0;
	for (size_t i = 0; i + 4 <= was.size && i < 64; i += 4) {
		memcpy(damaged + CRUMB_HEADER_BYTES + i, &signalling, sizeof signalling);
		crumb_frame_seal(damaged, was.id, was.flags, n, was.size);
		r->answer[5] = 31 * (r->answer[5] % 1000000) + crumb_peek(&info, damaged, r->len[0]);
		memcpy(damaged, r->frame[0], r->len[0]);
	}
	free(damaged);
}

static void end(struct result *r)
{
	for (int s = 0; s < STEPS; s++)
		free(r->frame[s]);
	free(r->packer);
}

static void assert_same(const struct result *got, const struct result *want, const crumb_codec *c, size_t n)
{
	bool same = !memcmp(got->packer, want->packer, crumb_packer_size(c, n)) &&
	            !memcmp(got->acc, want->acc, n * sizeof *got->acc) &&
	            !memcmp(got->answer, want->answer, sizeof got->answer);
	for (int s = 0; s < STEPS; s++)
		same = same && got->len[s] == want->len[s] &&
		       !memcmp(got->frame[s], want->frame[s], got->len[s]);
	if (!same)
		fail_msg("%s, %s, n = %zu: other bytes", name(c), crumb_isa(), n);
}

static void the_environment_changes_nothing(void **state)
{
	(void)state;
	static const size_t length[] = {1, 17, 1000, LONGEST};
	static float g[LONGEST], grad[LONGEST];
	static struct result want, got;
	size_t turn = 0;
	FOR_EACH_ISA(i)
	{
		for (size_t c = 0; c < codecs; c++)
			for (size_t l = slow[c] ? 2 : 0; l < sizeof length / sizeof *length; l++)
				for (int kind = 0; kind < 3 * KINDS; kind++) {
					const enum crumb_dtype type = (enum crumb_dtype)(kind / KINDS);
					const size_t n = length[l];
					if (type != CRUMB_F32 && (n != 17 || kind % KINDS == CASE_GAUSS))
						continue;
					fill(g, n, kind % KINDS);
					case_convert(grad, type, g, n);
					feclearexcept(FE_ALL_EXCEPT);
					run(&want, &codec[c], grad, type, n);
					if (fetestexcept(FE_DIVBYZERO))
						fail_msg("%s: divides by zero", name(&codec[c]));
					enter_env(turn++);
					run(&got, &codec[c], grad, type, n);
					if (!is_env())
						fail_msg("%s: the environment has changed", name(&codec[c]));
					fesetenv(FE_DFL_ENV);
					assert_same(&got, &want, &codec[c], n);
					end(&got);
					end(&want);
				}
	}
}

/* Specs, too, are numbers. */
static void text_is_read_alike(void **state)
{
	(void)state;
	static const char *const spec[] = {"twobit:threshold=0.1", "twobit:threshold=1e-30",
	                                   "onebit:threshold=1e400", "topk:fraction=0.3"};
	for (size_t i = 0; i < ENVIRONMENTS * sizeof spec / sizeof *spec; i++) {
		crumb_codec codec[2] = {0};
		char text[2][CRUMB_SPEC_MAX] = {{0}};
		int error[2];
		for (int strict = 0; strict < 2; strict++) {
			if (strict)
				enter_env(i);
			error[strict] = crumb_parse(&codec[strict], spec[i / ENVIRONMENTS], NULL);
			if (!error[strict])
				crumb_print(&codec[strict], text[strict], CRUMB_SPEC_MAX);
			assert_true(!strict || is_env());
			fesetenv(FE_DFL_ENV);
		}
		assert_int_equal(error[0], error[1]);
		assert_memory_equal(&codec[0], &codec[1], sizeof *codec);
		assert_string_equal(text[0], text[1]);
	}
}

/* Elements of 16 bits are read and written alike, whether subnormal numbers are flushed or not. */
static void every_f16(void **state)
{
	(void)state;
	enum { FINITE = 0x7C00, N = 2 * FINITE };
	static uint16_t g[N];
	static float acc[N];
	for (size_t i = 0; i < N; i++)
		g[i] = (uint16_t)(i < FINITE ? i : i - FINITE + 0x8000);
	const crumb_codec half = case_parse("half:type=f16");
	FOR_EACH_ISA(s)
	for (size_t e = 0; e < ENVIRONMENTS; e++) {
		size_t length;
		crumb_packer *p = case_packer(&half, N, 0);
		memset(acc, 0, sizeof acc);
		enter_env(e);
		uint8_t *frame = case_pack(p, g, CRUMB_F16, &length);
		crumb_unpack_add(frame, length, 1, acc, N);
		fesetenv(FE_DFL_ENV);
		assert_memory_equal(frame + CRUMB_HEADER_BYTES, g, sizeof g);
		for (size_t i = 0; i < N; i++)
			assert_true(acc[i] == case_element(g, CRUMB_F16, i));
		free(frame);
		free(p);
	}
}

/* The self-check is about the build alone. An exchange makes it. */
static void self_check(void **state)
{
	(void)state;
	const struct crumb_exchange_config config = {.learners = 1};
	FOR_EACH_ISA(s)
	for (size_t e = 0; e < ENVIRONMENTS; e++) {
		struct crumb_exchange *exchange = NULL;
		char why[100];
		enter_env(e);
		const int answer = crumb_self_check();
		const int opened = crumb_exchange_start(&exchange, &config, why, sizeof why);
		fesetenv(FE_DFL_ENV);
		assert_int_equal(answer, 0);
		assert_int_equal(opened, 0);
		crumb_exchange_close(exchange);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_environment_changes_nothing),
	        cmocka_unit_test(text_is_read_alike),
	        cmocka_unit_test(every_f16),
	        cmocka_unit_test(self_check),
	};
	return cmocka_run_group_tests_name("traps", tests, set_up, NULL);
}
