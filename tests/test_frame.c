/* The envelope, against the format document.
 *
 * SPDX-License-Identifier: MIT */
#include <crumb_parallel.h>
#include "tests/cases.h"
#include "check/crc32c.h"
#include "frame.h"
#include "isa.h"
#include <stdlib.h>
#include <string.h>

/* Returns the CRC-32C, bit by bit, as the document defines it. */
static uint32_t crc(const uint8_t *data, size_t size)
{
	uint32_t c = 0xFFFFFFFF;
	for (size_t i = 0; i < size; i++)
		for (int bit = 0; bit < 8; bit++) {
			const uint32_t out = (c ^ (uint32_t)data[i] >> bit) & 1;
			c = c >> 1 ^ (out ? 0x82F63B78u : 0);
		}
	return ~c;
}

static uint32_t checksum(const uint8_t *data, size_t size)
{
	uint8_t *list = malloc(4 * (size / 4096 + 1));
	size_t blocks = 0;
	for (size_t i = 0; i < size; i += 4096, blocks++) {
		const uint32_t c = crc(data + i, size - i < 4096 ? size - i : 4096);
		memcpy(list + 4 * blocks, &c, 4);
	}
	const uint32_t all = crc(list, 4 * blocks);
	free(list);
	return all;
}

static void checksums_are_the_documents(void **state)
{
	(void)state;
	assert_int_equal(crc((const uint8_t *)"123456789", 9), 0xE3069283u);
	static const size_t size[] = {0,   1,    9,    28,   63,   64,    65,    130,   255,  256,
	                              600, 4095, 4096, 4097, 8190, 16383, 16384, 16385, 54152};
	uint8_t *data = malloc(60000);
	uint64_t chance = 1;
	for (size_t i = 0; i < 60000; i++)
		data[i] = (uint8_t)(case_random(&chance) >> 30);
	FOR_EACH_ISA(i)
	{
		for (size_t s = 0; s < sizeof size / sizeof *size; s++)
			for (size_t at = 0; at < 3; at++) { /* any alignment, at once or in two parts */
				const uint32_t right = checksum(data + at, size[s]);
				const size_t first = size[s] / 2 / 4096 * 4096;
				const struct isa *now = crumb_isa_now();
				assert_int_equal(now->crc(data + at, size[s]), crc(data + at, size[s]));
				assert_int_equal(now->checksum(0, data + at, size[s]), right);
				assert_int_equal(now->checksum(now->checksum(0, data + at, first),
				                               data + at + first, size[s] - first),
				                 right);
			}
	}
	crumb_set_isa(NULL);
	free(data);
}

static size_t raw_frame(uint8_t *dst, size_t n)
{
	crumb_codec raw = case_parse("raw");
	float g[64] = {1, 2, 3};
	crumb_packer *p = case_packer(&raw, n, 0);
	const int64_t len = crumb_pack(p, g, n, CRUMB_F32, 0, dst, 1000);
	assert_int_equal(len, CRUMB_HEADER_BYTES + 4 * n);
	free(p);
	return (size_t)len;
}

static void header_is_the_documents(void **state)
{
	(void)state;
	uint8_t frame[1000];
	raw_frame(frame, 3);
	static const uint8_t head[24] = {0x43, 0x52, 0x4D, 0x42, 1, 1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 12};
	assert_memory_equal(frame, head, sizeof head);
	uint32_t sum[2];
	memcpy(sum, frame + 24, 8);
	assert_int_equal(sum[0], checksum(frame + 32, 12));
	assert_int_equal(sum[1], crc(frame, 28));
}

/* Each refusal has its own error. */
static void refusals(void **state)
{
	(void)state;
	uint8_t frame[1000];
	float acc[3] = {0};
	static const struct {
		size_t at;
		uint8_t value;
		int error;
	} wrong[] = {{0, 'X', CRUMB_EFRAME},   {4, 2, CRUMB_EVERSION}, {5, 0, CRUMB_EVERSION},
	             {5, 255, CRUMB_EVERSION}, {6, 1, CRUMB_EFRAME},   {7, 1, CRUMB_EFRAME},
	             {8, 4, CRUMB_ELENGTH},    {15, 1, CRUMB_EFRAME},  {16, 11, CRUMB_ECHECKSUM},
	             {16, 13, CRUMB_ESHORT},   {23, 1, CRUMB_EFRAME},  {24, 0, CRUMB_ECHECKSUM}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const size_t len = raw_frame(frame, 3);
		frame[wrong[i].at] = wrong[i].value;
		const uint32_t sum = crc(frame, 28); /* the header is in order but for that byte */
		memcpy(frame + 28, &sum, 4);
		const int64_t got = crumb_unpack_add(frame, len, 1, acc, 3);
		if (got != wrong[i].error)
			fail_msg("byte %zu = %d: %s", wrong[i].at, wrong[i].value, crumb_strerror((int)got));
	}
	raw_frame(frame, 3);
	frame[28] ^= 1;
	assert_int_equal(crumb_unpack_add(frame, 44, 1, acc, 3), CRUMB_ECHECKSUM);
	assert_int_equal(crumb_unpack_add(frame, 10, 1, acc, 3), CRUMB_ESHORT);
	for (size_t len = 0; len < 8; len++) {
		assert_int_equal(crumb_frame_length(frame, len), CRUMB_ESHORT);
		assert_int_equal(crumb_frame_length("XYZWXYZW", len), len ? CRUMB_EFRAME : CRUMB_ESHORT);
	}
	assert_int_equal(crumb_unpack_add("not a frame at all, but long enough", 35, 1, acc, 3),
	                 CRUMB_EFRAME);
	assert_true(acc[0] == 0 && acc[1] == 0 && acc[2] == 0);
}

/* Frames can be concatenated: each call says how far it went. */
static void frames_follow_each_other(void **state)
{
	(void)state;
	uint8_t frames[1000];
	float acc[3] = {0};
	size_t len = raw_frame(frames, 3);
	len += raw_frame(frames + len, 3);
	memset(frames + len, 0xAA, 5);
	const int64_t one = crumb_unpack_add(frames, len + 5, 2, acc, 3);
	assert_int_equal(one, 44);
	assert_int_equal(crumb_unpack_add(frames + one, len + 5 - (size_t)one, 1, acc, 3), 44);
	assert_true(acc[0] == 3 && acc[1] == 6 && acc[2] == 9);
}

/* Asserts that a frame is refused whose payload has these bits of one byte flipped, and its checksums made
 * anew. byte: from the payload's first on or, negative, from the frame's end. */
static void is_refused(const char *spec, ptrdiff_t byte, unsigned mask)
{
	enum { COUNT = 21 };
	float grad[COUNT], acc[COUNT] = {0};
	case_fill(grad, COUNT, CASE_GAUSS, 1);
	crumb_codec codec = case_parse(spec);
	FOR_EACH_ISA(i)
	{
		crumb_packer *p = case_packer(&codec, COUNT, 0);
		size_t len;
		uint8_t *frame = case_pack(p, grad, CRUMB_F32, &len);
		assert_true(crumb_unpack_add(frame, len, 1, acc, COUNT) > 0);
		frame[byte < 0 ? (ptrdiff_t)len + byte : CRUMB_HEADER_BYTES + byte] ^= (uint8_t)mask;
		crumb_frame_seal(frame, frame[5], frame[6], COUNT, len - CRUMB_HEADER_BYTES);
		assert_int_equal(crumb_unpack_add(frame, len, 1, acc, COUNT), CRUMB_EFRAME);
		free(frame);
		free(p);
	}
	crumb_set_isa(NULL);
}

/* These frames end in a bit an element, in groups of sixteen; bits past the 21st element are 0. onebit's
 * first bit is the highest of a byte. */
static void bits_past_the_end_are_refused(void **state)
{
	(void)state;
	for (ptrdiff_t bit = 21; bit < 32; bit++) {
		is_refused("sign", bit / 8 - 4, 1u << bit % 8);
		is_refused("seide", bit / 8 - 4, 1u << bit % 8);
		is_refused("onebit", bit / 8 - 4, 128u >> bit % 8);
	}
}

/* 01 is a reserved code of twobit. */
static void a_reserved_code_is_refused(void **state)
{
	(void)state;
	for (ptrdiff_t element = 0; element < 21; element++)
		is_refused("twobit:threshold=100", 4 + element / 4,
		           0x40u >> 2 * (element % 4)); /* all were 00 */
}

/* A reserved code is found in any of the 16 KiB chunks in which payloads are read. */
static void a_reserved_code_is_found_anywhere(void **state)
{
	(void)state;
	enum { COUNT = 200000, PART = 16384 };
	static const struct {
		const char *spec;
		int byte; /* of a NaN, or of a reserved code */
	} wrong[] = {{"raw", 0xFF},
	             {"half", 0xFF},
	             {"twobit", 0x40},
	             {"terngrad", 1}, /* no five trits are this byte */
	             {"terngrad:coding=bits", 0xC0},
	             {"terngrad:coding=bits,bucket=16", 0xFF}, /* its scalers fill three parts */
	             {"qsgd", 0xF0},
	             {"nuqsgd", 0x0F},
	             {"qsgd:bits=2", 0x0C},
	             {"qsgd:bits=3", 0xFF},
	             {"strom:threshold=0.0001", 0x30}};
	float *grad = malloc(COUNT * sizeof *grad), *acc = calloc(COUNT, sizeof *acc);
	const char *isa[CASE_ISAS];
	const size_t isas = case_isas(isa);
	case_fill(grad, COUNT, CASE_GAUSS, 1);
	for (size_t i = 0; i < isas; i++)
		for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
			assert_int_equal(crumb_set_isa(isa[i]), 0);
			crumb_codec codec = case_parse(wrong[w].spec);
			crumb_packer *p = case_packer(&codec, COUNT, 0);
			size_t len;
			uint8_t *frame = case_pack(p, grad, CRUMB_F32, &len),
			        *payload = frame + CRUMB_HEADER_BYTES;
			const size_t size = len - CRUMB_HEADER_BYTES, end = size / 4 * 4,
			             border = (end - 64) / PART * PART;
			const size_t at[] = {PART - 4, PART, border - 4, border, end - 64};
			assert_true(border > PART);
			assert_int_equal(crumb_check(&(crumb_checked){0}, frame, len), len);
			for (size_t a = 0; a < 2 * sizeof at / sizeof *at; a++) {
				uint8_t *const word = payload + at[a / 2], was[4];
				memcpy(was, word, 4);
				if (wrong[w].byte == 0xFF)
					memset(word, 0xFF, 4);
				else
					word[3 * (a % 2)] = (uint8_t)wrong[w].byte;
				crumb_frame_seal(frame, frame[5], (uint16_t)(frame[6] | frame[7] << 8), COUNT,
				                 size);
				if (crumb_unpack_add(frame, len, 1, acc, COUNT) != CRUMB_EFRAME)
					fail_msg("%s, %s: not found at byte %zu", isa[i], wrong[w].spec,
					         at[a / 2]);
				memcpy(word, was, 4);
			}
			free(frame);
			free(p);
		}
	for (size_t k = 0; k < COUNT; k++)
		assert_true(acc[k] == 0);
	crumb_set_isa(NULL);
	free(grad);
	free(acc);
}

/* By the document they are neither negative nor -0. */
static void negative_scales_are_refused(void **state)
{
	(void)state;
	enum { SIGN = 0x80 };
	is_refused("sign", 3, SIGN);
	is_refused("adacomp", 3, SIGN);
	is_refused("local", 3, SIGN);
	is_refused("terngrad", 7, SIGN);
	is_refused("terngrad:bucket=16", 11, SIGN);
}

/* Frames of 2^26 elements and more are read on 64-bit hosts, if their payload is right; on 32-bit hosts,
 * where the bytes of such payloads may be more than a size_t counts, they are refused. */
static void frames_may_be_longer_than_memory(void **state)
{
	(void)state;
	size_t taken = 0;
	static const uint64_t n[] = {1u << 26,   429496730,         3817748704,        UINT32_MAX,
	                             1ull << 32, (1ull << 32) + 64, (1ull << 33) + 17, (1ull << 47) + 1};
	uint8_t frame[CRUMB_HEADER_BYTES + 64] = {0};
	FOR_EACH_ISA(isa)
	{
		for (size_t c = 0; crumb_list(c); c++)
			for (size_t i = 0; i < sizeof n / sizeof *n; i++)
				for (size_t size = 0; size <= 64; size += 4) {
					crumb_frame_info info;
					/* seide's column: 1, or as many as there are elements modulo 2^32 */
					const uint32_t column =
					        n[i] >> 32 && (uint32_t)n[i] ? (uint32_t)n[i] : 1;
					memcpy(frame + CRUMB_HEADER_BYTES, &column, sizeof column);
					memcpy(frame + CRUMB_HEADER_BYTES + 4, &(uint32_t){1}, sizeof column);
					const int64_t length =
					        crumb_frame_seal(frame, crumb_list(c)->id, 0, n[i], size);
					const int64_t got = crumb_peek(&info, frame, (size_t)length);
					taken += got >= 0;
					if (got >= 0 ? SIZE_MAX == UINT32_MAX || info.n != n[i]
					             : got != CRUMB_EFRAME)
						fail_msg("%s: %zu bytes", crumb_list(c)->name, size);
				}
	}
	assert_int_equal(taken > 0, SIZE_MAX > UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(frames_may_be_longer_than_memory),
	        cmocka_unit_test(checksums_are_the_documents),
	        cmocka_unit_test(header_is_the_documents),
	        cmocka_unit_test(refusals),
	        cmocka_unit_test(frames_follow_each_other),
	        cmocka_unit_test(bits_past_the_end_are_refused),
	        cmocka_unit_test(a_reserved_code_is_refused),
	        cmocka_unit_test(a_reserved_code_is_found_anywhere),
	        cmocka_unit_test(negative_scales_are_refused),
	};
	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
