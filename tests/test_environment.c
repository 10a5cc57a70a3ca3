/* States of the floating-point environment that a caller may have left: numbers below 2^-126 flushed to zero
 * or read as zero, and every rounding mode. In each of them no call writes or reads past its memory, and a
 * frame is taken by its own decoder. Rounding to nearest, all instruction sets write the same bytes.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "exchange/exchange.h"
#include "tests/laws.h"
#include <fenv.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LONG = 4101, STEPS = 3, LEARNERS = 2 };
static const size_t lengths[] = {1, 50, 331, LONG};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* ---- the environment ------------------------------------------------------------------------ */

enum { FLUSH = 1, READ_AS_ZERO = 2 }; /* results, operands */

static const struct environment {
	const char *name;
	int subnormals, rounding;
} environments[] = {
        {"as a program starts", 0, FE_TONEAREST},
        {"flush to zero", FLUSH, FE_TONEAREST},
        {"denormals are zeros", READ_AS_ZERO, FE_TONEAREST},
        {"both", FLUSH | READ_AS_ZERO, FE_TONEAREST},
        {"upward", 0, FE_UPWARD},
        {"downward", 0, FE_DOWNWARD},
        {"toward zero", 0, FE_TOWARDZERO},
        {"both, downward", FLUSH | READ_AS_ZERO, FE_DOWNWARD},
};
enum { ENVIRONMENTS = sizeof environments / sizeof *environments };

static void enter(const struct environment *e)
{
	assert_int_equal(fesetround(e->rounding), 0);
#ifdef __SSE2__
	const unsigned bits =
	        (e->subnormals & FLUSH ? 0x8000 : 0) | (e->subnormals & READ_AS_ZERO ? 0x40 : 0);
	__builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~0x8040u) | bits);
#elif defined(__aarch64__) /* one bit does both */
	uint64_t control;
	__asm__ volatile("mrs %0, fpcr" : "=r"(control));
	control = (control & ~(UINT64_C(1) << 24)) | (uint64_t)(e->subnormals != 0) << 24;
	__asm__ volatile("msr fpcr, %0" : : "r"(control));
#endif
}

static void leave(void) { enter(&environments[0]); }

/* ---- memory that ends at a guard ------------------------------------------------------------- */

struct area {
	uint8_t *end; /* no byte from here on may be touched */
	size_t room;
};

static struct area area_of(size_t room)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	room = (room + page - 1) / page * page;
	uint8_t *at = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(at != MAP_FAILED);
	assert_int_equal(mprotect(at + room, page, PROT_NONE), 0);
	return (struct area){at + room, room};
}

/* Returns the last size bytes before the guard. */
static uint8_t *last(const struct area *area, size_t size)
{
	assert_true(size <= area->room);
	return area->end - size;
}
/* Returns a packer of that size whose last bytes are before the guard, but for those that align it. */
static crumb_packer *last_packer(const struct area *area, size_t size)
{
	return (crumb_packer *)(void *)last(area, (size + CRUMB_PACKER_ALIGN - 1) / CRUMB_PACKER_ALIGN *
	                                                  CRUMB_PACKER_ALIGN);
}

static struct area packer_area, grad_area, acc_area, frame_area, sum_area, stat_area;

/* ---- gradients ------------------------------------------------------------------------------ */

static const char *const characters[] = {
        "ordinary",      "few are not zero",   "subnormal, and a few that are not",
        "all subnormal", "around f16's least", "large",
        "zeros"};
enum { CHARACTERS = sizeof characters / sizeof *characters };

/* The gradient of each step has a type of its own. */
static enum crumb_dtype type_of(size_t step) { return (enum crumb_dtype)(step % 3); }
static float gradient[CHARACTERS][STEPS][LONG]; /* of that type */

static void fill_gradients(void)
{
	uint64_t state = 1;
	for (size_t character = 0; character < CHARACTERS; character++)
		for (size_t step = 0; step < STEPS; step++) {
			float g[LONG];
			for (size_t i = 0; i < LONG; i++) {
				const double x = case_gauss(&state);
				const uint64_t draw = case_random(&state);
				const double size[CHARACTERS] = {1,
				                                 draw % 64 == 0,
				                                 draw % 50 ? 0x1p-130 : 1e-3,
				                                 0x1p-132,
				                                 ldexp(1, -(int)(draw % 30)),
				                                 0x1p110,
				                                 0};
				g[i] = (float)(x * size[character]);
			}
			case_convert(gradient[character][step], type_of(step), g, LONG);
		}
}

/* ---- the law -------------------------------------------------------------------------------- */

/* The result of one instruction set: STEPS frames, the packer after them, and what they added up to. */
struct made {
	uint8_t *frame[STEPS], *packer;
	size_t length[STEPS];
	float *acc;
};

static void must(bool good, const char *what, int64_t answer, const crumb_codec *c, size_t n, int character,
                 const struct environment *e, const char *set)
{
	if (good)
		return;
	leave();
	fail_msg("%s: %s (%lld); n = %zu, %s; %s; %s", name(c), what, (long long)answer, n,
	         characters[character], e->name, set);
}
#define MUST(good, what, answer) must(good, what, answer, c, n, character, e, set)

/* Packs the gradients of STEPS steps in the environment, and adds their frames to acc. */
static void make(struct made *made, const crumb_codec *c, size_t n, int character,
                 const struct environment *e, const char *set)
{
	static const size_t run[] = {0, 100, 25};
	const size_t bound = crumb_bound(c, n), size = crumb_packer_size(c, n);
	crumb_packer *const p = last_packer(&packer_area, size);
	float *const acc = (float *)(void *)last(&acc_area, n * sizeof *acc);
	uint8_t *const frame = last(&frame_area, bound);
	assert_int_equal(crumb_packer_init(p, c, n, run[n % 3], 7), 0);
	memset(acc, 0, n * sizeof *acc);
	for (size_t step = 0; step < STEPS; step++) {
		const enum crumb_dtype type = type_of(step);
		const size_t bytes = n * case_width(type);
		void *const grad = memcpy(last(&grad_area, bytes), gradient[character][step], bytes);
		enter(e);
		const size_t due = crumb_agree_count(p);
		if (due) {
			float *const stat = (float *)(void *)last(&stat_area, LEARNERS * due * sizeof *stat);
			int error = crumb_measure(p, grad, n, type, stat);
			MUST(!error, "crumb_measure", error);
			memcpy(stat + due, stat, due * sizeof *stat);
			error = crumb_agree(p, stat, LEARNERS);
			MUST(!error, "crumb_agree", error);
		}
		const int64_t length = crumb_pack(p, grad, n, type, 0, frame, bound);
		MUST(length > 0 && (size_t)length <= bound, "crumb_pack", length);
		const size_t len = (size_t)length;
		uint8_t *const sent = memmove(last(&frame_area, len), frame, len);
		int64_t answer = crumb_unpack_add(sent, len, 0.5f, acc, n);
		MUST(answer == length, "crumb_unpack_add", answer);
		const crumb_span spans[] = {{sent, len}, {sent, len}};
		const size_t most = crumb_sum_bound(2, n);
		uint8_t *const sum = last(&sum_area, most);
		answer = crumb_sum(spans, 2, sum, most);
		MUST(answer > 0 || answer == CRUMB_EAGREE, "crumb_sum", answer);
		if (answer > 0) {
			answer = crumb_unpack_add(sum, (size_t)answer, 1, acc, n);
			MUST(answer > 0, "crumb_unpack_add of a sum", answer);
		}
		answer = crumb_packer_check(p, size);
		MUST(!answer, "crumb_packer_check", answer);
		leave();
		crumb_frame_info info;
		answer = crumb_peek(&info, sent, len);
		MUST(answer == length, "crumb_peek where nothing is flushed", answer);
		made->length[step] = len;
		made->frame[step] = memcpy(malloc(len), sent, len);
	}
	made->packer = memcpy(malloc(size), p, size);
	made->acc = memcpy(malloc(n * sizeof *acc), acc, n * sizeof *acc);
}

static void discard(struct made *made)
{
	for (size_t step = 0; step < STEPS; step++)
		free(made->frame[step]);
	free(made->packer);
	free(made->acc);
}

static void compare(const struct made *a, const struct made *b, const crumb_codec *c, size_t n, int character,
                    const struct environment *e, const char *set)
{
	for (size_t step = 0; step < STEPS; step++)
		MUST(a->length[step] == b->length[step] &&
		             !memcmp(a->frame[step], b->frame[step], a->length[step]),
		     "not the portable frame of step", (int64_t)step);
	MUST(!memcmp(a->packer, b->packer, crumb_packer_size(c, n)), "not the portable residual", 0);
	MUST(!memcmp(a->acc, b->acc, n * sizeof *a->acc), "not the portable sum", 0);
}

static void in_every_environment(void **state)
{
	(void)state;
	for (size_t c = 0; c < codecs; c++) {
		const bool slow = solves(&codec[c]);
		const size_t next = slow && isas > 1 ? isas - 1 : 1; /* slow: the portable set and the best */
		for (size_t l = 0; l < (slow ? 3 : LENGTHS); l++)
			for (int character = 0; character < CHARACTERS; character++)
				for (size_t e = 0; e < ENVIRONMENTS; e++) {
					struct made first = {0}, made;
					for (size_t s = 0; s < isas; s += next) {
						crumb_set_isa(isa[s]);
						make(s ? &made : &first, &codec[c], lengths[l], character,
						     &environments[e], isa[s]);
						if (!s)
							continue;
						if (environments[e].rounding == FE_TONEAREST)
							compare(&first, &made, &codec[c], lengths[l],
							        character, &environments[e], isa[s]);
						discard(&made);
					}
					discard(&first);
				}
	}
	crumb_set_isa(NULL);
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
		enter(&environments[e]);
		uint8_t *frame = case_pack(p, g, CRUMB_F16, &length);
		crumb_unpack_add(frame, length, 1, acc, N);
		leave();
		assert_memory_equal(frame + CRUMB_HEADER_BYTES, g, sizeof g);
		for (size_t i = 0; i < N; i++)
			assert_true(acc[i] == case_element(g, CRUMB_F16, i));
		free(frame);
		free(p);
	}
}

/* The self-check is about the build alone, on every instruction set. An exchange makes it. */
static void self_check(void **state)
{
	(void)state;
	const struct crumb_exchange_config config = {.learners = 1};
	FOR_EACH_ISA(s)
	for (size_t e = 0; e < ENVIRONMENTS; e++) {
		struct crumb_exchange *exchange = NULL;
		char why[100];
		enter(&environments[e]);
		const int answer = crumb_self_check();
		const int opened = crumb_exchange_start(&exchange, &config, why, sizeof why);
		leave();
		assert_int_equal(answer, 0);
		assert_int_equal(opened, 0);
		crumb_exchange_close(exchange);
	}
}

static int set_up_areas(void **state)
{
	set_up(state);
	fill_gradients();
	size_t bound = 0, size = 0, floats = 0;
	for (size_t c = 0; c < codecs; c++) {
		const size_t b = crumb_bound(&codec[c], LONG), s = crumb_packer_size(&codec[c], LONG);
		crumb_packer *p = case_packer(&codec[c], LONG, 1);
		const size_t due = crumb_agree_count(p);
		free(p);
		bound = b > bound ? b : bound;
		size = s > size ? s : size;
		floats = due > floats ? due : floats;
	}
	packer_area = area_of(size);
	grad_area = area_of(LONG * sizeof(float));
	acc_area = area_of(LONG * sizeof(float));
	frame_area = area_of(bound);
	sum_area = area_of(crumb_sum_bound(2, LONG));
	stat_area = area_of(LEARNERS * floats * sizeof(float));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_every_environment),
	                                   cmocka_unit_test(every_f16), cmocka_unit_test(self_check)};
	return cmocka_run_group_tests_name("environment", tests, set_up_areas, NULL);
}
