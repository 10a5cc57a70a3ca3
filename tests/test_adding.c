/* Frames of every codec: what is told of them is what decoding does, and many together, or in ranges, add
 * what one after another does.
 *
 * SPDX-License-Identifier: MIT */
#include <crumb_parallel.h>
#include "tests/laws.h"
#include <math.h>

/* peek tells what decoding does. */
static void peek_agrees_with_decoding(void **state)
{
	(void)state;
	for (size_t l = 0; l < case_lengths; l++) {
		const size_t n = case_length[l];
		float g[4099];
		case_fill(g, n, CASE_GAUSS, 8);
		FOR_EACH_ISA(i)
		for (size_t c = 0; c < codecs; c++) {
			if (slow[c] && l % 4)
				continue;
			crumb_packer *p = case_packer(&codec[c], n, 1);
			size_t len, shown = 0;
			uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
			float *sent = decode(frame, len, n);
			crumb_frame_info f;
			assert_int_equal(crumb_peek(&f, frame, len), len);
			assert_int_equal(f.codec.id, codec[c].id);
			assert_int_equal(f.n, n);
			assert_int_equal(f.bytes, len);
			for (size_t k = 0; k < n; k++)
				shown += sent[k] != 0;
			if (f.sent != shown)
				fail_msg("%s, n = %zu: %zu sent, %zu decoded", name(&codec[c]), n,
				         (size_t)f.sent, shown);
			assert_true(crumb_bound(&f.codec, n) > 0); /* what it carries is a valid codec */
			crumb_codec plain = case_parse(crumb_list(codec[c].id - 1)->name);
			if (!memcmp(&plain, &codec[c], sizeof plain)) /* so are the keys it lacks */
				assert_memory_equal(&f.codec, &plain, sizeof plain);
			free(sent);
			free(frame);
			free(p);
		}
	}
	crumb_set_isa(NULL);
}

/* Many frames at once add what one after another does, to the bit, of whatever codecs they are; and if one is
 * not a frame nothing is added. */
static void frames_add_together(void **state)
{
	(void)state;
	static const size_t length[] = {0, 1, 639, 1000, 31003};
	static const char *const between[] = {"topk", "raw", "sign"};
	enum { OWN = 3, FRAMES = OWN + 3, MOST = 11 };
	static const float weight[MOST] = {0.3f, -0.125f, 1e-3f, 7, 0.3f, -2, 0.5f, 0, -1e-5f, 3, 1};
	for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
		const size_t n = length[l];
		float *g[FRAMES], *before = malloc((n + 1) * sizeof *before),
		                  *want = malloc((n + 1) * sizeof *want),
		                  *acc = malloc((n + 1) * sizeof *acc);
		for (size_t f = 0; f < FRAMES; f++) {
			g[f] = malloc((n + 1) * sizeof **g);
			case_fill(g[f], n, CASE_GAUSS, f);
		}
		case_fill(before, n, CASE_GAUSS, 99);
		for (size_t c = 0; c < codecs; c++) {
			if (slow[c] && l % 4)
				continue;
			crumb_packer *own = case_packer(&codec[c], n, 1);
			crumb_span frame[FRAMES];
			for (size_t f = 0; f < FRAMES; f++) {
				crumb_codec other;
				crumb_packer *p = own;
				if (f % 2) {
					other = case_parse(between[f / 2]);
					p = case_packer(&other, n, f);
				}
				frame[f].data = case_pack(p, g[f], CRUMB_F32, &frame[f].len);
				if (p != own)
					free(p);
			}
			for (size_t i = 0; i<isas; i += isas> 1 ? isas - 1 : 1) {
				assert_int_equal(crumb_set_isa(isa[i]), 0);
				for (size_t first = 0; first < 2;
				     first++) { /* mixed; those of the codec alone */
					crumb_span some[MOST];
					const size_t count = first ? MOST : FRAMES;
					for (size_t f = 0; f < count; f++)
						some[f] = frame[f * (1 + first) % FRAMES];
					memcpy(want, before, n * sizeof *want);
					memcpy(acc, before, n * sizeof *acc);
					for (size_t f = 0; f < count; f++)
						crumb_unpack_add(some[f].data, some[f].len, weight[f], want,
						                 n);
					assert_int_equal(crumb_unpack_add_all(some, weight, count, acc, n),
					                 0);
					if (memcmp(acc, want, n * sizeof *acc) != 0)
						fail_msg("%s, %s, n = %zu", name(&codec[c]), isa[i], n);
				}
			}
			memcpy(acc, want, n * sizeof *acc);
			frame[FRAMES - 1].len--;
			assert_true(crumb_unpack_add_all(frame, weight, FRAMES, acc, n) < 0);
			frame[FRAMES - 1].len += 2;
			assert_int_equal(crumb_unpack_add_all(frame, weight, FRAMES, acc, n), CRUMB_EFRAME);
			frame[FRAMES - 1].len--;
			assert_int_equal(crumb_unpack_add_all(frame, weight, FRAMES, acc, n + 1),
			                 CRUMB_ELENGTH);
			assert_int_equal(crumb_unpack_add_all(frame, weight, 257, acc, n), CRUMB_EINVAL);
			assert_memory_equal(acc, want, n * sizeof *acc);
			for (size_t f = 0; f < FRAMES; f++)
				free((void *)frame[f].data);
			free(own);
		}
		for (size_t f = 0; f < FRAMES; f++)
			free(g[f]);
		free(acc);
		free(want);
		free(before);
	}
	crumb_set_isa(NULL);
}

/* Frames whose elements are added range by range, in whatever order, add what they add at once, to the bit; a
 * range that is none changes nothing. */
static void ranges_make_up_the_whole(void **state)
{
	(void)state;
	static const size_t length[] = {0, 1, 640, 1000, 31003, 400003};
	enum { FRAMES = 3, RANGES = 4 };
	static const float weight[FRAMES] = {0.3f, -0.125f, 7}, bad[FRAMES] = {1, 1, NAN};
	uint64_t chance = 1;
	for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
		const size_t n = length[l], blocks = n / CRUMB_RANGE_STEP;
		float *g[FRAMES], *before = malloc((n + 1) * sizeof *before),
		                  *want = malloc((n + 1) * sizeof *want),
		                  *acc = malloc((n + 1) * sizeof *acc);
		for (size_t f = 0; f < FRAMES; f++) {
			g[f] = malloc((n + 1) * sizeof **g);
			case_fill(g[f], n, f == 1 ? CASE_SPARSE : CASE_GAUSS, f);
		}
		case_fill(before, n, CASE_GAUSS, 99);
		for (size_t c = 0; c < codecs; c++) {
			if (slow[c] && l != 3)
				continue;
			if (n > 100000 && !strstr(name(&codec[c]), "coding="))
				continue; /* that length is for blocks, which are decoded several at once */
			crumb_packer *p = case_packer(&codec[c], n, 1);
			crumb_span frame[FRAMES];
			crumb_checked checked[FRAMES];
			for (size_t f = 0; f < FRAMES; f++) {
				frame[f].data = case_pack(p, g[f], CRUMB_F32, &frame[f].len);
				assert_int_equal(crumb_check(&checked[f], frame[f].data, frame[f].len),
				                 frame[f].len);
			}
			for (size_t i = 0; i<isas; i += isas> 1 ? isas - 1 : 1) {
				assert_int_equal(crumb_set_isa(isa[i]), 0);
				memcpy(want, before, n * sizeof *want);
				memcpy(acc, before, n * sizeof *acc);
				assert_int_equal(crumb_unpack_add_all(frame, weight, FRAMES, want, n), 0);
				size_t end = n;
				for (int range = RANGES; range > 0; range--) {
					const size_t left = end / CRUMB_RANGE_STEP + 1;
					const size_t first =
					        range > 1 ? case_random(&chance) % left * CRUMB_RANGE_STEP
					                  : 0;
					assert_int_equal(
					        crumb_add_range(checked, weight, FRAMES, acc, n, first, end),
					        0);
					end = first;
				}
				if (memcmp(acc, want, n * sizeof *acc) != 0)
					fail_msg("%s, %s, n = %zu", name(&codec[c]), isa[i], n);
			}
			assert_int_equal(crumb_add_range(checked, weight, FRAMES, acc, n + 1, 0, n + 1),
			                 CRUMB_ELENGTH);
			assert_int_equal(crumb_add_range(checked, weight, FRAMES, acc, n, 0, n + 1),
			                 CRUMB_EINVAL);
			assert_int_equal(crumb_add_range(checked, weight, FRAMES, acc, n, n + 1, n),
			                 CRUMB_EINVAL);
			assert_int_equal(crumb_add_range(checked, bad, FRAMES, acc, n, 0, n), CRUMB_EINVAL);
			assert_int_equal(crumb_add_range(checked, weight, 257, acc, n, 0, n), CRUMB_EINVAL);
			if (blocks > 0) {
				assert_int_equal(crumb_add_range(checked, weight, FRAMES, acc, n, 0, 639),
				                 CRUMB_EINVAL);
				assert_int_equal(crumb_add_range(checked, weight, FRAMES, acc, n, 16,
				                                 blocks * CRUMB_RANGE_STEP),
				                 CRUMB_EINVAL);
			}
			assert_int_equal(crumb_check(&checked[0], frame[0].data, frame[0].len - 1),
			                 CRUMB_ESHORT);
			crumb_part part;
			assert_int_equal(crumb_check_part(&part, frame[0].data, frame[0].len - 1, 0, 2),
			                 CRUMB_ESHORT);
			assert_int_equal(
			        crumb_check_join(&checked[0], frame[0].data, frame[0].len - 1, &part, 1),
			        CRUMB_ESHORT);
			assert_memory_equal(acc, want, n * sizeof *acc);
			for (size_t f = 0; f < FRAMES; f++)
				free((void *)frame[f].data);
			free(p);
		}
		for (size_t f = 0; f < FRAMES; f++)
			free(g[f]);
		free(acc);
		free(want);
		free(before);
	}
	crumb_set_isa(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(peek_agrees_with_decoding),
	        cmocka_unit_test(frames_add_together),
	        cmocka_unit_test(ranges_make_up_the_whole),
	};
	return cmocka_run_group_tests_name("adding", tests, set_up, NULL);
}
