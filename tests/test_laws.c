/* Laws that hold for every codec, instruction set, length and type.
 *
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* mmap */
#include "cases.h"
#include "frame.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static crumb_codec codec[CASE_CODECS];
static size_t codecs;
static const char *isa[CASE_ISAS];
static size_t isas;

static const char *name(const crumb_codec *c)
{
	static char text[CRUMB_SPEC_MAX];
	assert_true(crumb_print(c, text, sizeof text) > 0);
	return text;
}

static float *decode(const uint8_t *frame, size_t len, size_t n)
{
	float *out = calloc(n + 1, sizeof *out);
	assert_int_equal(crumb_unpack_add(frame, len, 1, out, n), len);
	return out;
}

/* What one set of instructions does with a gradient in three steps. */
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
	case_fill(r.acc, n, CASE_GAUSS, 99);
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

/* Solving for levels takes long, and is done by the same instructions on all sets. */
static bool solves(const crumb_codec *c)
{
	crumb_packer *p = case_packer(c, 1000, 1);
	const bool many = crumb_agree_count(p) > 100; /* numbers to agree on */
	free(p);
	return many;
}

/* Frames, packers and decoded values are those of the portable build, to the byte. */
static void same_bytes_on_every_isa(void **state)
{
	(void)state;
	for (size_t c = 0; c < codecs; c++)
		for (size_t l = 0; l < case_lengths; l++)
			for (int kind = 0; kind < CASE_KINDS; kind++)
				for (int type = CRUMB_F32; type <= CRUMB_BF16; type++) {
					if (type != CRUMB_F32 && kind != CASE_GAUSS && kind != CASE_EXTREME)
						continue; /* their loads are all that differs */
					if (solves(&codec[c]) && l % 4)
						continue;
					const size_t n = case_length[l];
					float *g = malloc((n + 1) * sizeof *g);
					void *grad = malloc((n + 1) * 4);
					case_fill(g, n, (enum case_kind)kind, 3);
					case_convert(grad, (enum crumb_dtype)type, g, n);
					struct run want =
					        run(isa[0], &codec[c], grad, (enum crumb_dtype)type, n);
					for (size_t i = 1; i < isas; i++) {
						struct run got = run(isa[i], &codec[c], grad,
						                     (enum crumb_dtype)type, n);
						bool same = !memcmp(got.acc, want.acc, n * sizeof(float)) &&
						            !memcmp(got.packer, want.packer,
						                    crumb_packer_size(&codec[c], n));
						for (int s = 0; s < 3; s++)
							same = same && got.len[s] == want.len[s] &&
							       !memcmp(got.frame[s], want.frame[s],
							               got.len[s]);
						if (!same)
							fail_msg("%s, %s, n = %zu, kind %d, type %d",
							         name(&codec[c]), isa[i], n, kind, type);
						end(&got);
					}
					end(&want);
					free(grad);
					free(g);
				}
	crumb_set_isa(NULL);
}

/* As above, at a length where blocks of all kinds are passed many times. */
static void same_bytes_of_a_long_tensor(void **state)
{
	(void)state;
	const size_t n = (1 << 19) + 3;
	float *g = malloc(n * sizeof *g);
	case_fill(g, n, CASE_GAUSS, 5);
	for (size_t c = 0; c < codecs; c++) {
		struct run want = run(isa[0], &codec[c], g, CRUMB_F32, n);
		for (size_t i = 1; i < isas; i++) {
			struct run got = run(isa[i], &codec[c], g, CRUMB_F32, n);
			for (int s = 0; s < 3; s++)
				if (got.len[s] != want.len[s] ||
				    memcmp(got.frame[s], want.frame[s], got.len[s]) != 0)
					fail_msg("%s, %s: frame %d differs", name(&codec[c]), isa[i], s);
			assert_memory_equal(got.packer, want.packer, crumb_packer_size(&codec[c], n));
			assert_memory_equal(got.acc, want.acc, n * sizeof(float));
			end(&got);
		}
		end(&want);
	}
	free(g);
	crumb_set_isa(NULL);
}

/* owed + gradient == sent + owed', but for the two roundings of each element. */
static void nothing_is_lost(void **state)
{
	(void)state;
	for (size_t c = 0; c < codecs; c++)
		for (size_t l = 0; l < case_lengths; l++)
			for (int kind = 0; kind < CASE_KINDS; kind++) {
				const size_t n = case_length[l];
				crumb_packer *p = case_packer(&codec[c], n, 1);
				float *owed = crumb_packer_residual(p);
				float *g = malloc((n + 1) * sizeof *g),
				      *before = calloc(n + 1, sizeof *before);
				for (uint64_t step = 0; owed && step < 4; step++) {
					case_fill(g, n, (enum case_kind)kind, step);
					memcpy(before, owed, n * sizeof *before);
					size_t len;
					uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
					float *sent = decode(frame, len, n);
					for (size_t i = 0; i < n; i++) {
						const double in = (double)before[i] + (double)g[i];
						const double out = (double)sent[i] + (double)owed[i];
						const double most =
						        fmax(fmax(fabs(in), fabs(sent[i])), fabs(owed[i]));
						if (!(fabs(in - out) <= most * 0x1p-23 + 0x1p-149))
							fail_msg(
							        "%s, n = %zu, kind %d, step %d, element %zu: %a in, %a out",
							        name(&codec[c]), n, kind, (int)step, i, in,
							        out);
					}
					free(sent);
					free(frame);
				}
				free(before);
				free(g);
				free(p);
			}
}

/* A codec without residual and without chance sends what it can represent: packing it again changes nothing.
 */
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
			if (!(info->flags & (CRUMB_RESIDUAL | CRUMB_RANDOM))) {
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

/* A frame in f16 or bf16 is the frame of the same numbers in f32. */
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
				uint8_t *part = malloc(
				        cut + 1); /* exact but for one byte, so that reading on is found */
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

/* A hostile payload, its checksums in order, is refused or decoded; it reads and writes nothing else, and
 * what is refused changes nothing. What is decoded is finite. */
static void hostile_payloads_do_no_harm(void **state)
{
	(void)state;
	uint64_t chance = 1;
	size_t refused = 0, taken = 0;
	for (size_t i = 0; i < isas; i++) {
		assert_int_equal(crumb_set_isa(isa[i]), 0);
		for (size_t c = 0; c < codecs; c++)
			for (int trial = 0; trial < (solves(&codec[c]) ? 50 : 200); trial++) {
				const size_t n = 1 + case_random(&chance) % 300;
				float *g = malloc(n * sizeof *g), *acc = calloc(n, sizeof *acc);
				case_fill(g, n, CASE_GAUSS, 4);
				crumb_packer *p = case_packer(&codec[c], n, 1);
				size_t len;
				uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
				struct frame was;
				assert_true(crumb_frame_open(&was, frame, len) > 0);
				size_t size = was.size;
				if (trial % 4 == 0)
					size = case_random(&chance) % (was.size + 1);
				uint8_t *bad = malloc(CRUMB_HEADER_BYTES + size);
				memcpy(bad, frame, CRUMB_HEADER_BYTES + size);
				for (uint64_t k = 1 + case_random(&chance) % 4; size && k > 0; k--)
					bad[CRUMB_HEADER_BYTES +
					    case_random(&chance) % (trial % 2 && size > 16 ? 16 : size)] =
					        (uint8_t)(case_random(&chance) >> 20);
				const uint16_t flags =
				        trial % 8 == 7 ? (uint16_t)case_random(&chance) : was.flags;
				crumb_frame_seal(bad, was.id, flags, n, size);
				const int64_t got =
				        crumb_unpack_add(bad, CRUMB_HEADER_BYTES + size, 1, acc, n);
				refused += got < 0;
				taken += got >= 0;
				for (size_t k = 0; k < n; k++)
					if (got < 0 ? acc[k] != 0 : !isfinite(acc[k]))
						fail_msg("%s: %s, but acc[%zu] = %g", name(&codec[c]),
						         got < 0 ? "refused" : "taken", k, (double)acc[k]);
				free(bad);
				free(frame);
				free(p);
				free(acc);
				free(g);
			}
	}
	assert_true(refused > 1000 && taken > 1000);
	crumb_set_isa(NULL);
}

/* A gradient in which one element is not finite, or too great, among zeros or others, is refused by
 * crumb_finite, crumb_measure and crumb_pack, and the packer stays what it was. */
static void refuses(crumb_packer *p, size_t n, const float *g, enum crumb_dtype type)
{
	const crumb_codec *of = crumb_packer_codec(p);
	const size_t size = crumb_packer_size(of, n), bound = crumb_bound(of, n), due = crumb_agree_count(p);
	uint8_t *was = malloc(size), *frame = malloc(bound), *bad = malloc(n * case_width(type));
	case_convert(bad, type, g, n);
	assert_int_equal(crumb_finite(bad, n, type), CRUMB_ENONFINITE);
	if (due) {
		float *stat = malloc(due * sizeof *stat), *good = calloc(n, sizeof *good);
		memcpy(was, p, size);
		assert_int_equal(crumb_measure(p, bad, type, stat), CRUMB_ENONFINITE);
		assert_memory_equal(p, was, size);
		assert_int_equal(crumb_measure(p, good, CRUMB_F32, stat), 0);
		assert_int_equal(crumb_agree(p, stat, 1), 0);
		free(stat);
		free(good);
	}
	memcpy(was, p, size);
	assert_int_equal(crumb_pack(p, bad, type, 0, frame, bound), CRUMB_ENONFINITE);
	assert_memory_equal(p, was, size);
	free(was);
	free(frame);
	free(bad);
}

static void what_is_not_finite_changes_nothing(void **state)
{
	(void)state;
	static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY, -0x1.8p127f, 0x1.000002p120f};
	for (size_t i = 0; i < isas; i++) {
		assert_int_equal(crumb_set_isa(isa[i]), 0);
		for (size_t c = 0; c < codecs; c++)
			for (size_t l = 1; l < case_lengths; l++) {
				const size_t n = case_length[l], at = (l * 7919) % n;
				float g[4099];
				case_fill(g, n, l % 2 ? CASE_GAUSS : CASE_ZERO, 6);
				const size_t which = (l / 2 + c) % 6;
				const bool narrow =
				        which < 5 && (l + c / 6) % 2; /* the last is f32's alone */
				g[at] = bad[which];
				crumb_packer *p = case_packer(&codec[c], n, 1);
				refuses(p, n, g, narrow ? CRUMB_BF16 : CRUMB_F32);
				free(p);
			}
	}
	crumb_set_isa(NULL);
}

/* peek tells what decoding does. */
static void peek_agrees_with_decoding(void **state)
{
	(void)state;
	for (size_t i = 0; i < isas; i++) {
		assert_int_equal(crumb_set_isa(isa[i]), 0);
		for (size_t c = 0; c < codecs; c++)
			for (size_t l = 0; l < case_lengths; l++) {
				const size_t n = case_length[l];
				float g[4099];
				case_fill(g, n, CASE_GAUSS, 8);
				crumb_packer *p = case_packer(&codec[c], n, 1);
				size_t len, shown = 0;
				uint8_t *frame = case_pack(p, g, CRUMB_F32, &len);
				float *sent = decode(frame, len, n);
				crumb_frame f;
				assert_int_equal(crumb_peek(&f, frame, len), len);
				assert_int_equal(f.codec.id, codec[c].id);
				assert_int_equal(f.n, n);
				assert_int_equal(f.bytes, len);
				for (size_t k = 0; k < n; k++)
					shown += sent[k] != 0;
				if (f.sent != shown)
					fail_msg("%s, n = %zu: %zu sent, %zu decoded", name(&codec[c]), n,
					         (size_t)f.sent, shown);
				assert_true(crumb_bound(&f.codec, n) >
				            0); /* what it carries is a valid codec */
				crumb_codec plain;
				assert_int_equal(crumb_parse(&plain, crumb_list(codec[c].id - 1)->name, NULL),
				                 0);
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
	for (size_t c = 0; c < codecs; c++)
		for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
			const size_t n = length[l];
			if (solves(&codec[c]) && l % 4)
				continue;
			float *g = malloc((n + 1) * sizeof *g), *want = malloc((n + 1) * sizeof *want),
			      *acc = malloc((n + 1) * sizeof *acc);
			crumb_packer *own = case_packer(&codec[c], n, 1);
			crumb_span frame[FRAMES];
			for (size_t f = 0; f < FRAMES; f++) {
				crumb_codec other;
				crumb_packer *p = own;
				if (f % 2) {
					assert_int_equal(crumb_parse(&other, between[f / 2], NULL), 0);
					p = case_packer(&other, n, f);
				}
				case_fill(g, n, CASE_GAUSS, f);
				frame[f].data = case_pack(p, g, CRUMB_F32, &frame[f].len);
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
					case_fill(want, n, CASE_GAUSS, 99);
					memcpy(acc, want, n * sizeof *acc);
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
			free(acc);
			free(want);
			free(g);
		}
	crumb_set_isa(NULL);
}

/* Frames whose elements are added range by range, in whatever order, add what they add at once, to the bit; a
 * range that is none changes nothing. */
static void ranges_make_up_the_whole(void **state)
{
	(void)state;
	static const size_t length[] = {0, 1, 640, 1000, 31003, 140003};
	enum { FRAMES = 3, RANGES = 4 };
	static const float weight[FRAMES] = {0.3f, -0.125f, 7}, bad[FRAMES] = {1, 1, NAN};
	uint64_t chance = 1;
	for (size_t c = 0; c < codecs; c++)
		for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
			const size_t n = length[l], blocks = n / CRUMB_RANGE;
			if (solves(&codec[c]) && l != 3)
				continue;
			float *g = malloc((n + 1) * sizeof *g), *want = malloc((n + 1) * sizeof *want),
			      *acc = malloc((n + 1) * sizeof *acc);
			crumb_packer *p = case_packer(&codec[c], n, 1);
			crumb_span frame[FRAMES];
			crumb_checked checked[FRAMES];
			for (size_t f = 0; f < FRAMES; f++) {
				case_fill(g, n, f == 1 ? CASE_SPARSE : CASE_GAUSS, f);
				frame[f].data = case_pack(p, g, CRUMB_F32, &frame[f].len);
				assert_int_equal(crumb_check(&checked[f], frame[f].data, frame[f].len),
				                 frame[f].len);
			}
			for (size_t i = 0; i<isas; i += isas> 1 ? isas - 1 : 1) {
				assert_int_equal(crumb_set_isa(isa[i]), 0);
				case_fill(want, n, CASE_GAUSS, 99);
				memcpy(acc, want, n * sizeof *acc);
				assert_int_equal(crumb_unpack_add_all(frame, weight, FRAMES, want, n), 0);
				size_t end = n;
				for (int range = RANGES; range > 0; range--) {
					const size_t left = end / CRUMB_RANGE + 1;
					const size_t first =
					        range > 1 ? case_random(&chance) % left * CRUMB_RANGE : 0;
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
				                                 blocks * CRUMB_RANGE),
				                 CRUMB_EINVAL);
			}
			assert_int_equal(crumb_check(&checked[0], frame[0].data, frame[0].len - 1),
			                 CRUMB_ESHORT);
			assert_int_equal(crumb_check(NULL, frame[0].data, frame[0].len), CRUMB_EINVAL);
			assert_memory_equal(acc, want, n * sizeof *acc);
			for (size_t f = 0; f < FRAMES; f++)
				free((void *)frame[f].data);
			free(p);
			free(acc);
			free(want);
			free(g);
		}
	crumb_set_isa(NULL);
}

/* A packer is a flat block: a copy goes on as the original; what is not a packer is refused. */
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
		memset(copy, 'x', size);
		assert_int_equal(crumb_packer_check(copy, size), CRUMB_EPACKER);
		free(one);
		free(two);
		free(copy);
		free(p);
	}
}

/* size bytes, and not one more: memory behind them cannot be touched, and what is left of a page before them
 * holds 0xA5. */
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

/* Packing takes the packer's size and the frame's bound and no other memory (tests/house/symbols.sh: there is
 * no other it could have), adding the frame and the accumulator; the gradient is only read. */
static void memory_is_what_was_said(void **state)
{
	(void)state;
	static const size_t length[] = {1, 333, 4099};
	for (size_t i = 0; i < isas; i++) {
		assert_int_equal(crumb_set_isa(isa[i]), 0);
		for (size_t c = 0; c < codecs; c++)
			for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
				if (solves(&codec[c]) && l + i > 0)
					continue;
				const size_t n = length[l], size = crumb_packer_size(&codec[c], n),
				             bound = crumb_bound(&codec[c], n);
				struct fenced p = fence(size, 16), frame = fence(bound, 1),
				              g = fence(n * sizeof(float), 4),
				              acc = fence(n * sizeof(float), 4);
				crumb_packer *packer = (crumb_packer *)p.data;
				assert_int_equal(crumb_packer_init(packer, &codec[c], n, 0, 1), 0);
				memset(acc.data, 0, n * sizeof(float));
				for (uint64_t step = 0; step < 2; step++) {
					case_fill((float *)g.data, n, CASE_GAUSS, step);
					const size_t due = crumb_agree_count(packer);
					float *stat = malloc((due + 1) * sizeof *stat);
					if (due) {
						assert_int_equal(
						        crumb_measure(packer, g.data, CRUMB_F32, stat), 0);
						assert_int_equal(crumb_agree(packer, stat, 1), 0);
					}
					free(stat);
					const int64_t len =
					        crumb_pack(packer, g.data, CRUMB_F32, 0, frame.data, bound);
					assert_true(len >= CRUMB_HEADER_BYTES && (size_t)len <= bound);
					/* To the end of the frame's memory, so that no more is read. */
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
	crumb_set_isa(NULL);
}

/* Arguments that make no sense are errors, and the bound is wanted whole. */
static void wrong_arguments_are_errors(void **state)
{
	(void)state;
	float g[100] = {1}, acc[100];
	uint8_t frame[1000];
	for (size_t c = 0; c < codecs; c++) {
		crumb_packer *p = case_packer(&codec[c], 100, 1);
		const size_t bound = crumb_bound(&codec[c], 100);
		assert_true(bound <= sizeof frame);
		assert_int_equal(crumb_pack(p, g, CRUMB_F32, 0, frame, bound - 1), CRUMB_ESPACE);
		assert_int_equal(crumb_pack(p, NULL, CRUMB_F32, 0, frame, bound), CRUMB_EINVAL);
		assert_int_equal(crumb_pack(p, g, (enum crumb_dtype)7, 0, frame, bound), CRUMB_EINVAL);
		assert_int_equal(crumb_pack(p, g, CRUMB_F32, 2, frame, bound), CRUMB_EINVAL);
		if (crumb_agree_count(p))
			assert_int_equal(crumb_pack(p, g, CRUMB_F32, 0, frame, bound), CRUMB_EAGREE);
		size_t len;
		uint8_t *good = case_pack(p, g, CRUMB_F32, &len);
		assert_int_equal(crumb_unpack_add(good, len, NAN, acc, 100), CRUMB_EINVAL);
		assert_int_equal(crumb_unpack_add(NULL, len, 1, acc, 100), CRUMB_EINVAL);
		free(good);
		free(p);
	}
}

static int set_up(void **state)
{
	(void)state;
	codecs = case_codecs(codec, CASE_CODECS);
	isas = case_isas(isa);
	printf("%zu codecs in all settings; instruction sets:", codecs);
	for (size_t i = 0; i < isas; i++)
		printf(" %s", isa[i]);
	printf("\n");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(same_bytes_on_every_isa),
	        cmocka_unit_test(same_bytes_of_a_long_tensor),
	        cmocka_unit_test(nothing_is_lost),
	        cmocka_unit_test(plain_codecs_are_idempotent),
	        cmocka_unit_test(types_agree),
	        cmocka_unit_test(damage_is_an_error),
	        cmocka_unit_test(hostile_payloads_do_no_harm),
	        cmocka_unit_test(what_is_not_finite_changes_nothing),
	        cmocka_unit_test(peek_agrees_with_decoding),
	        cmocka_unit_test(frames_add_together),
	        cmocka_unit_test(ranges_make_up_the_whole),
	        cmocka_unit_test(a_packer_is_a_checkpoint),
	        cmocka_unit_test(memory_is_what_was_said),
	        cmocka_unit_test(wrong_arguments_are_errors),
	};
	return cmocka_run_group_tests_name("laws", tests, set_up, NULL);
}
