/* The promises of crumb.h and crumb_parallel.h about arguments: lengths, NULL, and codecs that are not valid.
 *
 * SPDX-License-Identifier: MIT */
#include <crumb_parallel.h>
#include "tests/laws.h"
#include <math.h>

enum { N = 1300 };

static float grad[N + 1];

static void another_length_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	for (size_t c = 0; c < codecs; c++) {
		const size_t size = crumb_packer_size(&codec[c], N), bound = crumb_bound(&codec[c], N);
		crumb_packer *p = case_packer(&codec[c], N, 1);
		const size_t due = crumb_agree_count(p);
		float *stat = calloc(due + 1, sizeof *stat);
		uint8_t *before = malloc(size), *dst = malloc(bound);
		memcpy(before, p, size);
		for (size_t n = N - 1; n <= N + 1; n += 2) {
			assert_int_equal(crumb_pack(p, grad, n, CRUMB_F32, 0, dst, bound), CRUMB_ELENGTH);
			assert_int_equal(crumb_measure(p, grad, n, CRUMB_F32, stat),
			                 due ? CRUMB_ELENGTH : CRUMB_EINVAL);
		}
		assert_memory_equal(p, before, size);
		for (size_t k = 0; k <= due; k++)
			assert_true(stat[k] == 0);
		free(stat);
		free(before);
		free(dst);
		free(p);
	}
}

/* A frame's elements are counted before time is spent on its payload, which may be anything. */
static void a_header_tells_length_and_count(void **state)
{
	(void)state;
	for (size_t c = 0; c < codecs; c++) {
		size_t len;
		crumb_packer *p = case_packer(&codec[c], N, 1);
		uint8_t *frame = case_pack(p, grad, CRUMB_F32, &len);
		assert_int_equal(crumb_frame_length(frame, len), len);
		assert_int_equal(crumb_frame_length(frame, CRUMB_HEADER_BYTES), len);
		assert_int_equal(crumb_frame_length(frame, CRUMB_HEADER_BYTES - 1), CRUMB_ESHORT);
		frame[len - 1] ^= 1;
		assert_int_equal(crumb_frame_length(frame, len), len);
		assert_int_equal(crumb_frame_count(frame, CRUMB_HEADER_BYTES), N);
		assert_int_equal(crumb_frame_count(frame, CRUMB_HEADER_BYTES - 1), CRUMB_ESHORT);
		float acc[N] = {0};
		const crumb_span span = {frame, len};
		assert_int_equal(crumb_unpack_add(frame, len, 1, acc, N - 1), CRUMB_ELENGTH);
		assert_int_equal(crumb_unpack_add_all(&span, &(float){1}, 1, acc, N - 1), CRUMB_ELENGTH);
		assert_int_equal(crumb_unpack_add(frame, len, 1, acc, N), CRUMB_ECHECKSUM);
		for (size_t bit = 0; bit < 8 * CRUMB_HEADER_BYTES; bit++) {
			frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
			const int expected = bit < 32 ? CRUMB_EFRAME : CRUMB_ECHECKSUM;
			assert_int_equal(crumb_frame_length(frame, len), expected);
			assert_int_equal(crumb_frame_count(frame, len), expected);
			frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		free(frame);
		free(p);
	}
}

static void a_codec_tells_its_info_and_whether_it_agrees(void **state)
{
	(void)state;
	for (size_t c = 0; c < codecs; c++) {
		crumb_packer *p = case_packer(&codec[c], N, 1);
		assert_ptr_equal(crumb_codec_info_of(&codec[c]), crumb_list(codec[c].id - 1));
		assert_int_equal(crumb_agrees(&codec[c]), crumb_agree_count(p) > 0);
		free(p);
		crumb_codec wrong[] = {codec[c], codec[c], codec[c]};
		wrong[0].id = 200;
		wrong[1].reserved = 1;
		wrong[2].value[CRUMB_MAX_KEYS - 1] = NAN;
		for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
			assert_null(crumb_codec_info_of(&wrong[k]));
			assert_int_equal(crumb_agrees(&wrong[k]), 0);
		}
	}
}

static void learners_agree_once_on_what_was_measured(void **state)
{
	(void)state;
	for (size_t c = 0; c < codecs; c++) {
		crumb_packer *p = case_packer(&codec[c], N, 1);
		const size_t due = crumb_agree_count(p), size = crumb_packer_size(&codec[c], N);
		float *stat = calloc(due + 1, sizeof *stat);
		uint8_t *before = malloc(size);
		assert_int_equal(crumb_agree(p, stat, 1),
		                 CRUMB_EINVAL); /* nothing was measured, or nothing is due */
		assert_int_equal(crumb_measure(p, grad, N, CRUMB_F32, stat), due ? 0 : CRUMB_EINVAL);
		memcpy(before, p, size);
		assert_int_equal(crumb_agree(p, stat, 0), CRUMB_EINVAL);
		for (size_t k = 0; k < due; k++) {
			const float was = stat[k];
			stat[k] = k % 2 ? NAN : INFINITY;
			assert_int_equal(crumb_agree(p, stat, 1), CRUMB_ENONFINITE);
			stat[k] = was;
		}
		assert_memory_equal(p, before, size);
		assert_int_equal(crumb_agree(p, stat, 1), due ? 0 : CRUMB_EINVAL);
		free(before);
		free(stat);
		free(p);
	}
}

/* NULL is CRUMB_EINVAL where an error can be returned, else 0 or NULL. */
static void null_is_refused(void **state)
{
	(void)state;
	crumb_codec raw = case_parse("raw");
	crumb_packer *p = case_packer(&raw, N, 0);
	size_t len;
	uint8_t *frame = case_pack(p, grad, CRUMB_F32, &len);
	const crumb_span spans[] = {{frame, len}, {NULL, len}};
	const float weights[] = {1, 1};
	float acc[N] = {0};
	crumb_checked checked[2];
	crumb_frame_info info;
	crumb_part part;
	assert_int_equal(crumb_check(checked, frame, len), len);
	assert_int_equal(crumb_check_part(&part, frame, len, 0, 1), 0);
	const int64_t results[] = {
	        crumb_parse(NULL, "raw", NULL),
	        crumb_parse(&raw, NULL, NULL),
	        crumb_print(NULL, (char *)acc, sizeof acc),
	        crumb_print(&raw, NULL, 100),
	        crumb_packer_init(NULL, &raw, N, 0, 0),
	        crumb_packer_init(p, NULL, N, 0, 0),
	        crumb_packer_check(NULL, crumb_packer_size(&raw, N)),
	        crumb_measure(NULL, grad, N, CRUMB_F32, acc),
	        crumb_agree(NULL, acc, 1),
	        crumb_pack(NULL, grad, N, CRUMB_F32, 0, frame, len),
	        crumb_pack(p, NULL, N, CRUMB_F32, 0, frame, len),
	        crumb_pack(p, grad, N, CRUMB_F32, 0, NULL, len),
	        crumb_unpack_add(NULL, len, 1, acc, N),
	        crumb_unpack_add(frame, len, 1, NULL, N),
	        crumb_unpack_add_all(NULL, weights, 1, acc, N),
	        crumb_unpack_add_all(spans, NULL, 1, acc, N),
	        crumb_unpack_add_all(spans, weights, 1, NULL, N),
	        crumb_unpack_add_all(spans, weights, 2, acc, N),
	        crumb_frame_length(NULL, len),
	        crumb_frame_count(NULL, len),
	        crumb_peek(NULL, frame, len),
	        crumb_peek(&info, NULL, len),
	        crumb_sum(NULL, 1, frame, len),
	        crumb_sum(spans, 1, NULL, len),
	        crumb_sum(spans + 1, 1, acc, sizeof acc),
	        crumb_finite(NULL, N, CRUMB_F32),
	        crumb_check(NULL, frame, len),
	        crumb_check(checked + 1, NULL, len),
	        crumb_check_part(NULL, frame, len, 0, 1),
	        crumb_check_part(&part, NULL, len, 0, 1),
	        crumb_check_join(NULL, frame, len, &part, 1),
	        crumb_check_join(checked + 1, NULL, len, &part, 1),
	        crumb_check_join(checked + 1, frame, len, NULL, 1),
	        crumb_add_range(NULL, weights, 1, acc, N, 0, N),
	        crumb_add_range(checked, NULL, 1, acc, N, 0, N),
	        crumb_add_range(checked, weights, 1, NULL, N, 0, N),
	};
	for (size_t i = 0; i < sizeof results / sizeof *results; i++)
		if (results[i] != CRUMB_EINVAL)
			fail_msg("call %zu answers %d", i, (int)results[i]);
	assert_int_equal(crumb_packer_size(NULL, N), 0);
	assert_int_equal(crumb_bound(NULL, N), 0);
	assert_null(crumb_codec_info_of(NULL));
	assert_int_equal(crumb_agrees(NULL), 0);
	assert_int_equal(crumb_agree_count(NULL), 0);
	assert_null(crumb_packer_codec(NULL));
	assert_int_equal(crumb_packer_count(NULL), 0);
	assert_int_equal(crumb_packer_step(NULL), 0);
	assert_null(crumb_packer_residual(NULL));
	assert_null(crumb_packer_velocity(NULL));
	for (size_t i = 0; i < N; i++)
		assert_true(acc[i] == 0);
	free(frame);
	free(p);
}

static void a_sum_is_of_1_to_256_frames(void **state)
{
	(void)state;
	static crumb_span frames[CRUMB_MAX_FRAMES + 1];
	crumb_codec shared;
	size_t len;
	shared = case_parse("terngrad:shared=1");
	crumb_packer *p = case_packer(&shared, N, 1);
	uint8_t *frame = case_pack(p, grad, CRUMB_F32, &len);
	for (size_t f = 0; f <= CRUMB_MAX_FRAMES; f++)
		frames[f] = (crumb_span){frame, len};
	static const size_t lengths[] = {0, 1, N, (size_t)1 << 30};
	for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
		assert_int_equal(crumb_sum_bound(0, lengths[l]), 0);
		assert_int_equal(crumb_sum_bound(CRUMB_MAX_FRAMES + 1, lengths[l]), 0);
		assert_true(crumb_sum_bound(1, lengths[l]) >= CRUMB_HEADER_BYTES + lengths[l] / 4);
		assert_true(crumb_sum_bound(CRUMB_MAX_FRAMES, lengths[l]) >= CRUMB_HEADER_BYTES + lengths[l]);
	}
	const size_t cap = crumb_sum_bound(CRUMB_MAX_FRAMES, N);
	uint8_t *dst = malloc(cap);
	assert_int_equal(crumb_sum(frames, 0, dst, cap), CRUMB_EINVAL);
	assert_true(crumb_sum(frames, 1, dst, cap) > 0);
	assert_true(crumb_sum(frames, CRUMB_MAX_FRAMES, dst, cap) > 0);
	assert_int_equal(crumb_sum(frames, CRUMB_MAX_FRAMES + 1, dst, cap), CRUMB_EINVAL);
	/* Elements are counted before payloads, which are damaged here, take time. */
	size_t shorter_len;
	crumb_packer *shorter_packer = case_packer(&shared, N - 1, 1);
	uint8_t *shorter = case_pack(shorter_packer, grad, CRUMB_F32, &shorter_len);
	shorter[shorter_len - 1] ^= 1;
	frames[1] = (crumb_span){shorter, shorter_len};
	assert_int_equal(crumb_sum(frames, 2, dst, cap), CRUMB_ELENGTH);
	frame[len - 1] ^= 1;
	assert_int_equal(crumb_sum(frames, 1, dst, crumb_sum_bound(1, N) - 1), CRUMB_ESPACE);
	assert_int_equal(crumb_sum(frames, 1, dst, cap), CRUMB_ECHECKSUM);
	free(shorter);
	free(shorter_packer);
	free(dst);
	free(frame);
	free(p);
}

/* crumb_check_part refuses what is not a part, and crumb_add_range what crumb_check cannot have written. */
static void what_no_check_wrote_is_refused(void **state)
{
	(void)state;
	crumb_codec raw;
	size_t len;
	raw = case_parse("raw");
	crumb_packer *p = case_packer(&raw, N, 0);
	uint8_t *frame = case_pack(p, grad, CRUMB_F32, &len);
	static float acc[N];
	crumb_part part[CRUMB_MAX_PARTS + 1];
	crumb_checked good;
	assert_int_equal(crumb_check_part(part, frame, len, 1, 1), CRUMB_EINVAL);
	assert_int_equal(crumb_check_part(part, frame, len, 0, CRUMB_MAX_PARTS + 1), CRUMB_EINVAL);
	assert_int_equal(crumb_check_join(&good, frame, len, part, 0), CRUMB_EINVAL);
	assert_int_equal(crumb_check_join(&good, frame, len, part, CRUMB_MAX_PARTS + 1), CRUMB_EINVAL);
	for (size_t i = 0; i < CRUMB_MAX_PARTS; i++)
		assert_int_equal(crumb_check_part(&part[i], frame, len, i, CRUMB_MAX_PARTS), 0);
	assert_int_equal(crumb_check_join(&good, frame, len, part, CRUMB_MAX_PARTS), len);

	crumb_checked wrong[] = {{0}, good, good, good, good};
	wrong[1].id = 0;
	wrong[2].id = 200;
	wrong[3].payload = NULL;
	wrong[4].n = N - 1;
	for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
		const crumb_checked frames[] = {good, wrong[w]};
		const float weights[] = {1, 1};
		assert_int_equal(crumb_add_range(frames, weights, 2, acc, N, 0, N),
		                 w == 4 ? CRUMB_ELENGTH : CRUMB_EINVAL);
	}
	for (size_t i = 0; i < N; i++)
		assert_true(acc[i] == 0);
	free(frame);
	free(p);
}

static int set_up_gradient(void **state)
{
	case_fill(grad, N + 1, CASE_GAUSS, 1);
	return set_up(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(another_length_is_refused_and_changes_nothing),
	        cmocka_unit_test(a_header_tells_length_and_count),
	        cmocka_unit_test(a_codec_tells_its_info_and_whether_it_agrees),
	        cmocka_unit_test(learners_agree_once_on_what_was_measured),
	        cmocka_unit_test(null_is_refused),
	        cmocka_unit_test(a_sum_is_of_1_to_256_frames),
	        cmocka_unit_test(what_no_check_wrote_is_refused),
	};
	return cmocka_run_group_tests_name("api", tests, set_up_gradient, NULL);
}
