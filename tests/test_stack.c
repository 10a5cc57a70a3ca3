/* Every call does with CRUMB_STACK bytes of stack: each runs in a thread that has no more, above a guard.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <crumb_parallel.h>
#include "tests/laws.h"
#include <pthread.h>
#include <sys/mman.h>

enum { GUARD = 1 << 20, LONG = 300000, SHORT = 4100 };

/* One packer's work, and the first call that failed. */
struct work {
	crumb_packer *packer;
	const void *grad;
	enum crumb_dtype dtype;
	size_t n, bound, sum_bound;
	float *stat, *acc;
	uint8_t *frame, *sum;
	crumb_span span[CRUMB_MAX_FRAMES];
	float weight[CRUMB_MAX_FRAMES];
	crumb_part part;
	crumb_checked checked;
	crumb_frame_info info;
	char text[CRUMB_SPEC_MAX];
	int64_t error;
	const char *failed;
};

static void expect(struct work *w, bool good, const char *call, int64_t result)
{
	if (!good && !w->failed) {
		w->failed = call;
		w->error = result;
	}
}
#define DO(w, call)                                    \
	do {                                           \
		const int64_t result = (call);         \
		expect(w, result >= 0, #call, result); \
	} while (0)

/* Packs a frame, reads it in every way, and adds up and sums as many as there may be. */
static void *run(void *arg)
{
	struct work *w = arg;
	crumb_codec codec = *crumb_packer_codec(w->packer);
	DO(w, crumb_print(&codec, w->text, sizeof w->text));
	DO(w, crumb_self_check());
	DO(w, crumb_parse(&codec, w->text, NULL));
	DO(w, crumb_finite(w->grad, w->n, w->dtype));
	if (crumb_agree_count(w->packer)) {
		DO(w, crumb_measure(w->packer, w->grad, w->n, w->dtype, w->stat));
		DO(w, crumb_agree(w->packer, w->stat, 1));
	}
	const int64_t len = crumb_pack(w->packer, w->grad, w->n, w->dtype, 0, w->frame, w->bound);
	expect(w, len > 0, "crumb_pack", len);
	if (len <= 0)
		return NULL;
	const size_t size = (size_t)len, most = w->n == SHORT && w->dtype == CRUMB_F32 ? CRUMB_MAX_FRAMES : 1;
	for (size_t f = 0; f < most; f++) {
		w->span[f] = (crumb_span){w->frame, size};
		w->weight[f] = 0.5f;
	}
	DO(w, crumb_packer_check(w->packer, crumb_packer_size(&codec, w->n)));
	DO(w, crumb_frame_length(w->frame, size));
	DO(w, crumb_peek(&w->info, w->frame, size));
	DO(w, crumb_unpack_add(w->frame, size, 1, w->acc, w->n));
	DO(w, crumb_unpack_add_all(w->span, w->weight, most, w->acc, w->n));
	DO(w, crumb_check_part(&w->part, w->frame, size, 0, 1));
	DO(w, crumb_check_join(&w->checked, w->frame, size, &w->part, 1));
	DO(w, crumb_add_range(&w->checked, w->weight, 1, w->acc, w->n, CRUMB_RANGE_STEP, w->n));
	const int64_t sum = crumb_sum(w->span, most, w->sum, w->sum_bound);
	expect(w, sum > 0 || sum == CRUMB_EAGREE, "crumb_sum", sum);
	if (sum > 0)
		DO(w, crumb_unpack_add(w->sum, (size_t)sum, 1, w->acc, w->n));
	return NULL;
}

/* Runs the work in a thread with CRUMB_STACK bytes of stack, the C library's share included. */
static void run_in_thread(struct work *w, uint8_t *stack)
{
	pthread_attr_t attr;
	pthread_t thread;
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstack(&attr, stack, CRUMB_STACK), 0);
	assert_int_equal(pthread_create(&thread, &attr, run, w), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attr);
}

static void work_of(const crumb_codec *c, size_t n, enum crumb_dtype dtype, const void *grad, uint8_t *stack)
{
	struct work *w = calloc(1, sizeof *w);
	w->packer = case_packer(c, n, 1);
	w->grad = grad;
	w->dtype = dtype;
	w->n = n;
	w->bound = crumb_bound(c, n);
	w->sum_bound = crumb_sum_bound(CRUMB_MAX_FRAMES, n);
	w->stat = calloc(crumb_agree_count(w->packer) + 1, sizeof *w->stat);
	w->acc = calloc(n, sizeof *w->acc);
	w->frame = malloc(w->bound);
	w->sum = malloc(w->sum_bound);
	run_in_thread(w, stack);
	if (w->failed)
		fail_msg("%s, %s, %zu elements: %s answers %d", crumb_isa(), name(c), n, w->failed,
		         (int)w->error);
	free(w->sum);
	free(w->frame);
	free(w->acc);
	free(w->stat);
	free(w->packer);
	free(w);
}

static void every_call_does_with_its_stack(void **state)
{
	(void)state;
	float *grad = malloc(LONG * sizeof *grad);
	uint16_t *half = malloc(SHORT * sizeof *half);
	uint8_t *memory =
	        mmap(NULL, GUARD + CRUMB_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(mprotect(memory, GUARD, PROT_NONE), 0);
	case_fill(grad, LONG, CASE_GAUSS, 1);
	for (size_t i = 0; i < isas; i++)
		for (size_t c = 0; c < codecs; c++) {
			assert_int_equal(crumb_set_isa(isa[i]), 0);
			for (enum crumb_dtype dtype = CRUMB_F16; dtype <= CRUMB_BF16; dtype++) {
				case_convert(half, dtype, grad, SHORT);
				work_of(&codec[c], SHORT, dtype, half, memory + GUARD);
			}
			work_of(&codec[c], SHORT, CRUMB_F32, grad, memory + GUARD);
			if (crumb_bound(&codec[c], LONG))
				work_of(&codec[c], LONG, CRUMB_F32, grad, memory + GUARD);
		}
	crumb_set_isa(NULL);
	munmap(memory, GUARD + CRUMB_STACK);
	free(half);
	free(grad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_does_with_its_stack)};
	return cmocka_run_group_tests_name("stack", tests, set_up, NULL);
}
