/* Invalid input is an error that changes nothing, with every codec: damaged and hostile frames, gradients
 * that are not finite, invalid arguments, damaged packers. No memory is touched outside the documented sizes.
 *
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* mmap */
#include <crumb_parallel.h>
#include "tests/laws.h"
#include "base/packer.h"
#include "frame.h"
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

/* A cut or flipped frame is an error that changes nothing. */
static void damage_is_an_error(void **state)
{
	(void)state;
	static const size_t length[] = {0, 1, 50, 333};
	for (size_t c = 0; c < codecs; c++)
		for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
			const size_t n = length[l];
			float g[333], acc[333];
			case_fill(g, n, CASE_GAUSS, 4);
			crumb_packer *p = case_packer(&codec[c], n, 1);
			size_t len;
			uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
			memset(acc, 0, sizeof acc);
			for (size_t cut = 0; cut < len; cut++) {
				/* one byte too long, never empty: a sanitizer reports longer reads */
				uint8_t *part = malloc(cut + 1);
				memcpy(part, frame, cut);
				assert_true(crumb_unpack_add(part, cut, 1, acc, n) < 0);
				free(part);
			}
			for (size_t bit = 0; bit<8 * len; bit += len> 256 ? 7 : 1) {
				frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
				if (crumb_unpack_add(frame, len, 1, acc, n) >= 0)
					fail_msg("%s, n = %zu: flipped bit %zu was taken", name(&codec[c]), n,
					         bit);
				frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
			}
			assert_int_equal(crumb_unpack_add(frame, len, 1, acc, n + 1), CRUMB_ELENGTH);
			for (size_t i = 0; i < n; i++)
				assert_true(acc[i] == 0);
			free(frame);
			free(p);
		}
}

/* A hostile payload with valid checksums is refused and changes nothing, or decodes to finite values. It
 * never causes a read or write out of bounds. */
static void hostile_payloads_do_no_harm(void **state)
{
	(void)state;
	uint64_t chance = 1;
	size_t refused = 0, taken = 0;
	FOR_EACH_ISA(i)
	{
		for (size_t c = 0; c < codecs; c++)
			for (int frames = 0; frames < (slow[c] ? 7 : 25); frames++) {
				const size_t n = 1 + case_random(&chance) % 300;
				float *g = malloc(n * sizeof *g), *acc = malloc(n * sizeof *acc);
				case_fill(g, n, CASE_GAUSS, 4);
				crumb_packer *p = case_packer(&codec[c], n, 1);
				size_t len;
				uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
				struct frame was;
				assert_true(crumb_frame_open(&was, frame, len) > 0);
				for (int trial = 0; trial < 8; trial++) {
					size_t size = was.size;
					if (trial % 4 == 0)
						size = case_random(&chance) % (was.size + 1);
					uint8_t *bad = malloc(CRUMB_HEADER_BYTES + size);
					memcpy(bad, frame, CRUMB_HEADER_BYTES + size);
					for (uint64_t k = 1 + case_random(&chance) % 4; size && k > 0; k--)
						bad[CRUMB_HEADER_BYTES +
						    case_random(&chance) %
						            (trial % 2 && size > 16 ? 16 : size)] =
						        (uint8_t)(case_random(&chance) >> 20);
					const uint16_t flags =
					        trial == 7 ? (uint16_t)case_random(&chance) : was.flags;
					crumb_frame_seal(bad, was.id, flags, n, size);
					memset(acc, 0, n * sizeof *acc);
					const int64_t got =
					        crumb_unpack_add(bad, CRUMB_HEADER_BYTES + size, 1, acc, n);
					refused += got < 0;
					taken += got >= 0;
					crumb_frame_info info;
					char spec[CRUMB_SPEC_MAX];
					if (got >= 0 && (crumb_peek(&info, bad, (size_t)got) != got ||
					                 crumb_print(&info.codec, spec, sizeof spec) < 0))
						fail_msg("%s: a frame of no valid codec", name(&codec[c]));
					for (size_t k = 0; k < n; k++)
						if (got < 0 ? acc[k] != 0 : !isfinite(acc[k]))
							fail_msg("%s: %s, but acc[%zu] = %g", name(&codec[c]),
							         got < 0 ? "refused" : "taken", k,
							         (double)acc[k]);
					free(bad);
				}
				free(frame);
				free(p);
				free(acc);
				free(g);
			}
	}
	assert_true(refused > 1000 && taken > 1000);
}

/* A frame whose one exact value is not finite is refused. Its last bytes are a bit, which ends a gap of 0,
 * and the value's bits. */
static void values_that_are_not_finite_are_refused(void **state)
{
	(void)state;
	static const char *const exact[] = {"chunk:bits=32", "dgc"};
	static const float value[] = {-2, INFINITY, -INFINITY, NAN};
	for (int c = 0; c < 2; c++)
		for (int v = 0; v < 4; v++) {
			const crumb_codec one = case_parse(exact[c]);
			const float g = 1;
			float acc = 0;
			crumb_packer *p = case_packer(&one, 1, 1);
			size_t len;
			uint8_t *frame = case_pack(p, &g, CRUMB_F32, &len), *bits = frame + len - 5;
			uint32_t code;
			memcpy(&code, &value[v], sizeof code);
			for (int at = 0; at < 32; at++) {
				uint8_t *byte = bits + (at + 1) / 8;
				const unsigned bit = 1u << (at + 1) % 8;
				*byte = (uint8_t)(code >> at & 1 ? *byte | bit : *byte & ~bit);
			}
			crumb_frame_seal(frame, one.id, 0, 1, len - CRUMB_HEADER_BYTES);
			const int64_t got = crumb_unpack_add(frame, len, 1, &acc, 1);
			assert_true(v ? got == CRUMB_EFRAME && acc == 0 : got > 0 && acc == value[v]);
			free(frame);
			free(p);
		}
}

/* Checking a frame, good or hostile, part by part gives the same result as checking it at once. */
static void parts_answer_as_the_whole(void **state)
{
	(void)state;
	enum { N = 150001, PART = 1 << 14, MOST = 256 };
	static const size_t parts[] = {1, 2, 3, 16, MOST};
	uint64_t chance = 1;
	size_t refused = 0, taken = 0;
	float *g = malloc(N * sizeof *g);
	crumb_part found[MOST];
	case_fill(g, N, CASE_GAUSS, 5);
	FOR_EACH_ISA(i)
	{
		for (size_t c = 0; c < codecs; c++) {
			crumb_packer *p = case_packer(&codec[c], N, 1);
			size_t len;
			uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
			struct frame was;
			assert_true(crumb_frame_open(&was, frame, len) > 0);
			for (int trial = 0; trial < 8; trial++) {
				/* A byte at random, or near a border between parts or the end. */
				const size_t any = case_random(&chance) % was.size,
				             near = any / PART * PART + case_random(&chance) % 8,
				             edge = trial % 3 == 1 ? near : was.size - 1 - any % 8,
				             at = CRUMB_HEADER_BYTES +
				                  (trial % 3 == 0 || edge >= was.size ? any : edge);
				const uint8_t byte = frame[at];
				if (trial)
					frame[at] ^= (uint8_t)(1 << case_random(&chance) % 8);
				if (trial % 4)
					crumb_frame_seal(frame, was.id, was.flags, N, was.size);
				crumb_checked whole = {0}, joined = {0};
				const int64_t expected = crumb_check(&whole, frame, len);
				refused += expected < 0;
				taken += expected >= 0;
				const size_t count =
				        parts[((size_t)trial + c) % (sizeof parts / sizeof *parts)];
				for (size_t j = 0; j < count; j++)
					assert_int_equal(crumb_check_part(&found[j], frame, len, j, count),
					                 0);
				const int64_t got = crumb_check_join(&joined, frame, len, found, count);
				if (got != expected)
					fail_msg("%s: %lld of %zu parts, %lld of all, byte %zu",
					         name(&codec[c]), (long long)got, count, (long long)expected,
					         at);
				assert_memory_equal(&joined, &whole, sizeof whole);
				frame[at] = byte;
				crumb_frame_seal(frame, was.id, was.flags, N, was.size);
			}
			free(frame);
			free(p);
		}
	}
	assert_true(refused > 1000 && taken > 1000);
	free(g);
}

/* Fails unless crumb_finite, crumb_measure and crumb_pack refuse the gradient, which has one unusable
 * element, and leave the packer unchanged. */
static void refuses(crumb_packer *p, size_t n, const void *bad, enum crumb_dtype type)
{
	const crumb_codec *of = crumb_packer_codec(p);
	const size_t size = crumb_packer_size(of, n), bound = crumb_bound(of, n), due = crumb_agree_count(p);
	uint8_t *was = malloc(size), *frame = malloc(bound);
	assert_int_equal(crumb_finite(bad, n, type), CRUMB_ENONFINITE);
	if (due) {
		float *stat = malloc(due * sizeof *stat), *good = calloc(n, sizeof *good);
		memcpy(was, p, size);
		assert_int_equal(crumb_measure(p, bad, n, type, stat), CRUMB_ENONFINITE);
		assert_memory_equal(p, was, size);
		assert_int_equal(crumb_measure(p, good, n, CRUMB_F32, stat), 0);
		assert_int_equal(crumb_agree(p, stat, 1), 0);
		free(stat);
		free(good);
	}
	memcpy(was, p, size);
	assert_int_equal(crumb_pack(p, bad, n, type, 0, frame, bound), CRUMB_ENONFINITE);
	assert_memory_equal(p, was, size);
	free(was);
	free(frame);
}

static void what_is_not_finite_changes_nothing(void **state)
{
	(void)state;
	enum { BADS = 6, TYPES = CRUMB_BF16 + 1 };
	/* Unusable elements: as f32, and as bits of f16 (infinities and NaNs only) and of bf16. */
	static const float bad[BADS] = {NAN, -NAN, INFINITY, -INFINITY, -0x1.8p127f, 0x1.000002p120f};
	static const uint16_t bits[TYPES][BADS] = {
	        [CRUMB_F16] = {0x7E00, 0xFC01, 0x7C00, 0xFC00, 0x7FFF, 0xFFFF},
	        [CRUMB_BF16] = {0x7FC0, 0xFF81, 0x7F80, 0xFF80, 0xFF00, 0x7B81},
	};
	FOR_EACH_ISA(i)
	{
		for (size_t c = 0; c < codecs; c++)
			for (size_t l = 1; l < case_lengths; l++) {
				const size_t n = case_length[l], at = n > 4096 ? n - 1 : (l * 7919) % n;
				const size_t all = (l * 5 + c) % (BADS * TYPES * 2), which = all % BADS;
				const enum crumb_dtype type = (enum crumb_dtype)(all / BADS % TYPES);
				float g[4099];
				uint8_t in_type[sizeof g];
				case_fill(g, n, all < BADS * TYPES ? CASE_GAUSS : CASE_ZERO, 6);
				case_convert(in_type, type, g, n);
				if (type == CRUMB_F32)
					memcpy(in_type + at * sizeof *bad, &bad[which], sizeof *bad);
				else
					memcpy(in_type + at * sizeof **bits, &bits[type][which],
					       sizeof **bits);
				crumb_packer *p = case_packer(&codec[c], n, 1);
				refuses(p, n, in_type, type);
				free(p);
			}
	}
}

/* Packs with a packer of a codec that is not valid. */
static void pack_refuses(crumb_packer *p, const float *g, size_t n)
{
	uint8_t frame[CRUMB_HEADER_BYTES];
	crumb_codec *of = (crumb_codec *)crumb_packer_codec(p);
	for (size_t k = 0; k < CRUMB_MAX_KEYS; k++)
		of->value[k] = NAN;
	assert_int_equal(crumb_pack(p, g, n, CRUMB_F32, 0, frame, sizeof frame), CRUMB_EPACKER);
}

/* A packer is a flat block: a copy packs the same frames as the original; damaged blocks are refused. */
static void a_packer_is_a_checkpoint(void **state)
{
	(void)state;
	const size_t n = 777;
	float g[777];
	case_fill(g, n, CASE_GAUSS, 1);
	for (size_t c = 0; c < codecs; c++) {
		const size_t size = crumb_packer_size(&codec[c], n);
		crumb_packer *p = case_packer(&codec[c], n, 1), *copy = malloc(size);
		size_t len, same;
		free(case_pack(p, g, CRUMB_F32, &len));
		memcpy(copy, p, size);
		assert_int_equal(crumb_packer_check(copy, size), 0);
		assert_int_equal(crumb_packer_step(copy), 1);
		uint8_t *one = case_pack(p, g, CRUMB_F32, &len), *two = case_pack(copy, g, CRUMB_F32, &same);
		assert_int_equal(len, same);
		assert_memory_equal(one, two, len);
		assert_int_equal(crumb_packer_check(copy, size - 1), CRUMB_EPACKER);
		if (crumb_packer_residual(copy)) {
			crumb_packer_residual(copy)[n / 2] = NAN;
			assert_int_equal(crumb_packer_check(copy, size), CRUMB_EPACKER);
		}
		pack_refuses(copy, g, n);
		memcpy(copy, p, size);
		copy->magic[sizeof copy->magic - 1] ^= 1;
		assert_int_equal(crumb_packer_check(copy, size), CRUMB_EVERSION);
		uint32_t *const flags[] = {&copy->agreed, &copy->measured, (uint32_t *)copy->reserved};
		for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
			memcpy(copy, p, size);
			*flags[f] = 2;
			assert_int_equal(crumb_packer_check(copy, size), CRUMB_EPACKER);
		}
		memset(copy, 'x', size);
		assert_int_equal(crumb_packer_check(copy, size), CRUMB_EPACKER);
		free(one);
		free(two);
		free(copy);
		free(p);
	}
}

/* Levels that are not -1, ..., 1 in order, and multipliers whose powers are not, would make frames that
 * nobody can decode. */
static void levels_of_a_packer_are_checked(void **state)
{
	enum { N = 100 };
	const struct {
		uint32_t agreed;
		uint64_t step;
		float level[4];
		bool alq, amq; /* may go on with them */
	} cases[] = {
	        {0, 0, {0, 0, 0, 0}, true, true},           {0, 0, {5, 5, 5, 5}, false, false},
	        {0, 0, {-1, -0.5f, 0.5f, 1}, false, false}, {1, 0, {-1, -0.5f, 0.5f, 1}, true, true},
	        {0, 7, {-1, -0.5f, 0.5f, 1}, true, true},   {1, 0, {-1, 0.5f, -0.5f, 1}, false, false},
	        {1, 0, {0, 0, 0, 0}, false, false},         {0, 7, {-1, -0.9f, -0.5f, 1}, true, false},
	        {0, 7, {-1, 0.5f, 0.5f, 1}, false, false},  {0, 7, {-2, -0.5f, 0.5f, 1}, false, false},
	};
	(void)state;
	FOR_EACH_ISA(i)
	{
		for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
			for (int amq = 0; amq < 2; amq++) {
				crumb_codec own;
				assert_int_equal(crumb_parse(&own, amq ? "amq:bits=2" : "alq:bits=2", NULL),
				                 0);
				crumb_packer *p = case_packer(&own, N, 1);
				p->agreed = cases[k].agreed;
				p->step = cases[k].step;
				memcpy(p + 1, cases[k].level, sizeof cases[k].level);
				const int expected = (amq ? cases[k].amq : cases[k].alq) ? 0 : CRUMB_EPACKER;
				if (crumb_packer_check(p, crumb_packer_size(&own, N)) != expected)
					fail_msg("%s, case %zu", name(&own), k);
				free(p);
			}
	}
}

/* A frame's value may be out of the key's range: it is then described as a codec with the default. */
static void what_is_peeked_is_a_codec(void **state)
{
	(void)state;
	for (int i = -120; i <= 120; i += 10) {
		const float one = 1, t = ldexpf(1, i);
		crumb_codec own;
		crumb_frame_info info;
		size_t len;
		char spec[CRUMB_SPEC_MAX];
		assert_int_equal(crumb_parse(&own, "twobit:threshold=1", NULL), 0);
		crumb_packer *p = case_packer(&own, 1, 1);
		uint8_t *frame = case_pack(p, &one, CRUMB_F32, &len);
		struct frame was;
		assert_true(crumb_frame_open(&was, frame, len) > 0);
		memcpy(frame + CRUMB_HEADER_BYTES, &t, sizeof t);
		crumb_frame_seal(frame, was.id, was.flags, was.n, was.size);
		assert_int_equal(crumb_peek(&info, frame, len), len);
		assert_true(crumb_print(&info.codec, spec, sizeof spec) > 0);
		assert_true(info.fact[0].value == (double)t);
		assert_true(info.codec.value[0] == (abs(i) <= 100 ? t : 0.5f));
		free(frame);
		free(p);
	}
}

/* Memory of exactly `size` bytes: the page after it traps, and the rest of the page before it holds 0xA5. */
struct fenced {
	uint8_t *pages, *data;
	size_t length;
};

static struct fenced fence(size_t size, size_t alignment)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct fenced f = {.length = (size / page + 2) * page};
	f.pages = mmap(NULL, f.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(f.pages != MAP_FAILED);
	assert_int_equal(mprotect(f.pages + f.length - page, page, PROT_NONE), 0);
	memset(f.pages, 0xA5, f.length - page);
	f.data = f.pages + (f.length - page - size) / alignment * alignment;
	return f;
}

static void unfence(struct fenced *f)
{
	for (const uint8_t *byte = f->pages; byte < f->data; byte++)
		assert_int_equal(*byte, 0xA5);
	munmap(f->pages, f->length);
}

/* Packing touches the packer and the frame, decoding the frame and the accumulator, and no other memory
 * (tests/house/symbols.sh: the library cannot allocate); the gradient is only read. */
static void memory_is_what_was_said(void **state)
{
	(void)state;
	static const size_t length[] = {1, 333, 4099};
	FOR_EACH_ISA(i)
	{
		for (size_t c = 0; c < codecs; c++)
			for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
				const size_t n = length[l], size = crumb_packer_size(&codec[c], n),
				             bound = crumb_bound(&codec[c], n);
				const enum crumb_dtype type = (enum crumb_dtype)((i + c + l) % 3);
				struct fenced p = fence(size, 16), frame = fence(bound, 1),
				              g = fence(n * case_width(type), case_width(type)),
				              acc = fence(n * sizeof(float), 4);
				float wide[4099];
				crumb_packer *packer = (crumb_packer *)p.data;
				assert_int_equal(crumb_packer_init(packer, &codec[c], n, 0, 1), 0);
				memset(acc.data, 0, n * sizeof(float));
				for (uint64_t step = 0; step < 2; step++) {
					case_fill(wide, n, CASE_GAUSS, step);
					case_convert(g.data, type, wide, n);
					const size_t due = crumb_agree_count(packer);
					float *stat = malloc((due + 1) * sizeof *stat);
					if (due) {
						assert_int_equal(crumb_measure(packer, g.data, n, type, stat),
						                 0);
						assert_int_equal(crumb_agree(packer, stat, 1), 0);
					}
					free(stat);
					const int64_t len =
					        crumb_pack(packer, g.data, n, type, 0, frame.data, bound);
					assert_true(len >= CRUMB_HEADER_BYTES && (size_t)len <= bound);
					/* moved to where reading past it traps */
					uint8_t *const last = frame.data + bound - len;
					memmove(last, frame.data, (size_t)len);
					assert_int_equal(
					        crumb_unpack_add(last, (size_t)len, 1, (float *)acc.data, n),
					        len);
				}
				unfence(&p);
				unfence(&frame);
				unfence(&g);
				unfence(&acc);
			}
	}
}

/* Invalid arguments are errors, and so is a buffer one byte shorter than the bound. */
static void wrong_arguments_are_errors(void **state)
{
	(void)state;
	float g[100] = {1}, acc[100];
	uint8_t frame[4000];
	for (size_t c = 0; c < codecs; c++) {
		crumb_packer *p = case_packer(&codec[c], 100, 1), *was = case_packer(&codec[c], 100, 1);
		const size_t bound = crumb_bound(&codec[c], 100);
		assert_true(bound <= sizeof frame);
		assert_int_equal(crumb_pack(p, g, 100, CRUMB_F32, 0, frame, bound - 1), CRUMB_ESPACE);
		assert_int_equal(crumb_pack(p, g, 100, (enum crumb_dtype)7, 0, frame, bound), CRUMB_EINVAL);
		assert_int_equal(crumb_pack(p, g, 100, CRUMB_F32, 2, frame, bound), CRUMB_EINVAL);
		if (crumb_agree_count(p))
			assert_int_equal(crumb_pack(p, g, 100, CRUMB_F32, 0, frame, bound), CRUMB_EAGREE);
		assert_memory_equal(p, was, crumb_packer_size(&codec[c], 100));
		size_t len;
		uint8_t *good = case_pack(p, g, CRUMB_F32, &len);
		assert_int_equal(crumb_unpack_add(good, len, NAN, acc, 100), CRUMB_EINVAL);
		free(good);
		free(was);
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(damage_is_an_error),
	        cmocka_unit_test(hostile_payloads_do_no_harm),
	        cmocka_unit_test(values_that_are_not_finite_are_refused),
	        cmocka_unit_test(parts_answer_as_the_whole),
	        cmocka_unit_test(what_is_not_finite_changes_nothing),
	        cmocka_unit_test(a_packer_is_a_checkpoint),
	        cmocka_unit_test(levels_of_a_packer_are_checked),
	        cmocka_unit_test(what_is_peeked_is_a_codec),
	        cmocka_unit_test(memory_is_what_was_said),
	        cmocka_unit_test(wrong_arguments_are_errors),
	};
	return cmocka_run_group_tests_name("harm", tests, set_up, NULL);
}
