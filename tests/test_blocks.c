/* Blocks of symbols: every instruction set writes the same bytes, reads back what was written, and refuses
 * the rest; sizes are held against the empirical entropy.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include "bench/coders.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool here(size_t c) { return crumb_set_isa(isa_coders[c].isa) == 0; }

/* ---- sources -------------------------------------------------------------------------------- */

/* Reads codes of so many bits, one after another. */
static void get_bits(const uint8_t *codes, size_t groups, uint8_t *symbol, unsigned bits)
{
	for (size_t i = 0; i < 16 * groups; i++) {
		const size_t byte = bits * i / 8, at = bits * i % 8;
		const unsigned x = codes[byte] | (at + bits > 8 ? codes[byte + 1] << 8 : 0);
		symbol[i] = (uint8_t)(x >> at & ((1u << bits) - 1));
	}
}
#define GET(bits)                                                                    \
	static void get_##bits(const uint8_t *codes, size_t groups, uint8_t *symbol) \
	{                                                                            \
		get_bits(codes, groups, symbol, bits);                               \
	}
GET(1)
GET(2)
GET(3)
GET(4)

/* Alphabets, and the factor by which each symbol is less likely than the one before. */
static const struct {
	unsigned count;
	double ratio;
} sources[] = {{2, 1},    {2, 0.05},  {3, 0.3},   {3, 0.02},  {3, 0},    {4, 1},  {4, 0.5},
               {8, 1},    {8, 0.7},   {8, 0.1},   {9, 0.45},  {15, 0.8}, {16, 1}, {16, 0.9},
               {16, 0.5}, {16, 0.25}, {16, 0.05}, {16, 1e-3}, {16, 0}};
enum { SOURCES = sizeof sources / sizeof *sources };

static const size_t lengths[] = {1,     2,     15,    16,    17,    31,    32,     33,     100,    4095,
                                 4096,  4097,  8200,  12300, 16383, 16384, 16385,  16401,  40000,  65535,
                                 65536, 65537, 81920, 81937, 83920, 98305, 131072, 131073, 200001, 300007};
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 1 << 20 };

static struct block_code code_of(unsigned count)
{
	return count <= 2   ? (struct block_code){count, 2, get_1, NULL}
	       : count <= 4 ? (struct block_code){count, 4, get_2, NULL}
	       : count <= 8 ? (struct block_code){count, 6, get_3, NULL}
	                    : (struct block_code){count, 8, get_4, NULL};
}

static void draw(uint8_t *symbol, size_t n, unsigned count, double ratio, uint64_t seed)
{
	double upto[BLOCKS_MOST], sum = 0;
	for (unsigned j = 0; j < count; j++)
		upto[j] = sum += j ? pow(ratio, j) : 1;
	for (size_t i = 0; i < n; i++) {
		const double u = case_uniform(&seed) * sum;
		symbol[i] = 0;
		while (symbol[i] + 1u < count && u >= upto[symbol[i]])
			symbol[i]++;
	}
}

static void write_codes(uint8_t *codes, const uint8_t *symbol, size_t n, const struct block_code *code)
{
	memset(codes, 0, blocks_fixed(code, n));
	const size_t bits = code->width / 2;
	for (size_t i = 0; i < n; i++) {
		const unsigned x = (unsigned)symbol[i] << bits * i % 8;
		codes[bits * i / 8] |= (uint8_t)x;
		if (x > 255)
			codes[bits * i / 8 + 1] |= (uint8_t)(x >> 8);
	}
}

/* The bits of n symbols at their empirical entropy, and in the best prefix code. */
struct ideal {
	double entropy, prefix;
};

static struct ideal ideal_of(const uint8_t *symbol, size_t n)
{
	double count[BLOCKS_MOST] = {0};
	struct ideal bits = {0, 0};
	for (size_t i = 0; i < n; i++)
		count[symbol[i]]++;
	for (int j = 0; j < BLOCKS_MOST; j++)
		bits.entropy -= count[j] > 0 ? count[j] * log2(count[j] / (double)n) : 0;
	for (;;) { /* the two rarest are joined, and cost a bit each */
		int a = -1, b = -1;
		for (int j = 0; j < BLOCKS_MOST; j++)
			if (count[j] > 0 && (a < 0 || count[j] < count[a])) {
				b = a;
				a = j;
			} else if (count[j] > 0 && (b < 0 || count[j] < count[b])) {
				b = j;
			}
		if (b < 0)
			break;
		bits.prefix += count[a] + count[b];
		count[a] += count[b];
		count[b] = 0;
	}
	bits.prefix = bits.prefix > 0 ? bits.prefix : (double)n;
	return bits;
}

/* A tensor and its coding, in memory of exactly that size, so that a sanitizer sees more. */
struct coded {
	struct block_code code;
	size_t n, size;
	uint8_t *symbol, *bytes;
};

static struct coded encode(const uint8_t *symbol, size_t n, unsigned count, enum blocks_coder coder, size_t c)
{
	struct coded x = {code_of(count), n, 0, NULL, NULL};
	const size_t bound = blocks_bound(&x.code, n);
	uint8_t *dst = malloc(bound), *codes = dst + blocks_marks(&x.code, n);
	write_codes(codes, symbol, n, &x.code);
	x.size = isa_coders[c].encode(dst, codes, n, &x.code, coder);
	assert_true(x.size <= bound);
	x.bytes = realloc(dst, x.size);
	return x;
}

struct seen {
	uint8_t *symbol;
	size_t n;
	bool run[LONGEST / BLOCKS_RUN + 1];
};

static void take(void *to, size_t first, const uint8_t *symbol, size_t count)
{
	struct seen *seen = to;
	assert_true(first % BLOCKS_RUN == 0 && count <= BLOCKS_ROUND);
	for (size_t r = first / BLOCKS_RUN; r < divide_up(first + count, BLOCKS_RUN); r++) {
		assert_false(seen->run[r]);
		seen->run[r] = true;
	}
	memcpy(seen->symbol + first, symbol, count);
	seen->n += count;
}

/* Returns true if all n symbols are decoded to out. */
static bool decode(uint8_t *out, const uint8_t *src, size_t size, size_t n, const struct block_code *code,
                   enum blocks_coder coder, size_t c)
{
	if (!isa_coders[c].decode(src, size, n, code, coder, NULL, NULL))
		return false;
	struct seen seen = {out, 0, {false}};
	assert_true(isa_coders[c].decode(src, size, n, code, coder, take, &seen));
	assert_int_equal(seen.n, n);
	return true;
}

static uint8_t want[LONGEST + 16], out[LONGEST + 16];

/* Returns true if all instruction sets decode to the same symbols, false if all refuse. */
static bool decode_alike(const uint8_t *src, size_t size, size_t n, const struct block_code *code,
                         enum blocks_coder coder)
{
	static uint8_t other[LONGEST];
	bool good = false;
	for (size_t c = 0; c < ISA_CODERS; c++) {
		if (!here(c))
			continue;
		const bool also = decode(c ? other : out, src, size, n, code, coder, c);
		good = c ? good : also;
		assert_int_equal(also, good);
		assert_true(!c || !good || !memcmp(out, other, n));
	}
	return good;
}

/* ---- laws ----------------------------------------------------------------------------------- */

/* Encodes n symbols of want with all instruction sets to the same bytes, and decodes them. */
static void encode_alike(size_t n, unsigned count, enum blocks_coder coder)
{
	struct coded first = {0};
	for (size_t c = 0; c < ISA_CODERS; c++) {
		if (!here(c))
			continue;
		const struct coded x = encode(want, n, count, coder, c);
		memset(out, 255, n);
		assert_true(decode(out, x.bytes, x.size, n, &x.code, coder, c));
		assert_memory_equal(out, want, n);
		if (c) {
			assert_int_equal(x.size, first.size);
			assert_memory_equal(x.bytes, first.bytes, x.size);
			free(x.bytes);
		} else {
			first = x;
		}
	}
	free(first.bytes);
}

static void symbols_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < SOURCES; i++)
		for (size_t l = 0; l < LENGTHS; l++)
			for (enum blocks_coder coder = BLOCKS_ENTROPY; coder <= BLOCKS_HUFFMAN; coder++) {
				draw(want, lengths[l], sources[i].count, sources[i].ratio, lengths[l]);
				encode_alike(lengths[l], sources[i].count, coder);
			}
	crumb_set_isa(NULL);
}

static void sizes_are_near_the_entropy(void **state)
{
	(void)state;
	const size_t n = LONGEST;
	for (size_t i = 0; i < SOURCES; i++) {
		draw(want, n, sources[i].count, sources[i].ratio, 7);
		const struct ideal ideal = ideal_of(want, n);
		for (enum blocks_coder coder = BLOCKS_ENTROPY; coder <= BLOCKS_HUFFMAN; coder++) {
			const struct coded x = encode(want, n, sources[i].count, coder, 0);
			const double bits = 8 * (double)x.size;
			if (coder == BLOCKS_HUFFMAN)
				assert_true(bits <= 1.005 * ideal.prefix);
			else if (ideal.entropy / (double)n >= 0.1)
				assert_true(bits <= 1.01 * ideal.entropy);
			else /* states, frequencies and marks weigh more */
				assert_true(bits <= 1.05 * ideal.entropy + 8 * 200);
			free(x.bytes);
		}
	}
}

/* Blocks of few bits share frequencies and states; others do not. */
static void blocks_are_joined(void **state)
{
	(void)state;
	enum { BLOCK = 1 << 16, BLOCKS = 5 };
	const size_t n = BLOCKS * BLOCK - 100;
	draw(want, n, 16, 0.05, 3);
	struct coded x = encode(want, n, 16, BLOCKS_ENTROPY, 0);
	assert_int_equal(get_u16(x.bytes), 0x8000 + BLOCKS);
	assert_int_equal(get_u16(x.bytes + 2), x.size - 4);
	assert_true(decode(out, x.bytes, x.size, n, &x.code, BLOCKS_ENTROPY, 0));
	assert_false(decode(out, x.bytes, x.size, n, &x.code, BLOCKS_HUFFMAN, 0));
	assert_false(decode(out, x.bytes, x.size, n - BLOCK, &x.code, BLOCKS_ENTROPY, 0));
	assert_false(decode(out, x.bytes, 3, n, &x.code, BLOCKS_ENTROPY, 0));
	static const unsigned marks[] = {0x8000, 0x8001, 0x8000 + BLOCKS - 1, 0x8000 + BLOCKS + 1, 0x8041};
	for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
		put_u16(x.bytes, (uint16_t)marks[k]);
		assert_false(decode(out, x.bytes, x.size, n, &x.code, BLOCKS_ENTROPY, 0));
	}
	free(x.bytes);

	static uint8_t single[BLOCK];
	draw(single, BLOCK, 16, 0.5, 4);
	memcpy(want + 2 * BLOCK, single, sizeof single); /* in between, of another kind */
	x = encode(want, n, 16, BLOCKS_ENTROPY, 0);
	assert_int_equal(get_u16(x.bytes), 0x8002);
	assert_true(get_u16(x.bytes + 4 + get_u16(x.bytes + 2)) < 0x8000);
	assert_true(decode(out, x.bytes, x.size, n, &x.code, BLOCKS_ENTROPY, 0));
	assert_memory_equal(out, want, n);
	free(x.bytes);
}

/* Joined, single and stored blocks follow each other in any order, and any symbol is the most frequent: all
 * instruction sets write the same, however many blocks they encode in parallel. */
static void mix_blocks(unsigned count, uint64_t *random)
{
	static const double ratios[] = {1, 0.95, 0.5, 0.05, 1e-3, 0};
	const struct block_code code = code_of(count);
	const size_t block = blocks_block(&code), n = LONGEST - case_random(random) % (2 * block);
	for (size_t i = 0; i < n; i += block) {
		const size_t end = n - i < block ? n : i + block;
		const unsigned turn = case_random(random) % count;
		draw(want + i, end - i, count, ratios[case_random(random) % (sizeof ratios / sizeof *ratios)],
		     i);
		for (size_t k = i; k < end; k++)
			want[k] = (uint8_t)((want[k] + turn) % count);
	}
	encode_alike(n, count, BLOCKS_ENTROPY);
}
static void blocks_of_all_kinds_are_written_alike(void **state)
{
	(void)state;
	static const unsigned counts[] = {16, 16, 16, 16, 16, 9, 8, 5, 4, 4, 3, 2};
	uint64_t random = 9;
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
		mix_blocks(counts[k], &random);
	crumb_set_isa(NULL);
}

/* Frequencies by hand, whose sums are right or not, are refused, whatever they make of the words. */
static void other_frequencies_are_refused(void **state)
{
	(void)state;
	static const uint16_t tables[][16] = {{4095},
	                                      {4096},
	                                      {4097},
	                                      {[15] = 4096},
	                                      {[15] = 4095},
	                                      {[7] = 4096},
	                                      {[4] = 1, [11] = 4095},
	                                      {[0] = 4095, [15] = 1},
	                                      {[3] = 2048, [12] = 2048},
	                                      {65535, 4097}};
	const size_t n = 5 * (1 << 16) - 30;
	draw(want, n, 16, 0.9, 6);
	const struct coded x = encode(want, n, 16, BLOCKS_ENTROPY, 0);
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
		for (unsigned j = 0; j < 16; j++)
			put_u16(x.bytes + 2 + 2 * j, tables[t][j]);
		assert_false(decode_alike(x.bytes, x.size, n, &x.code, BLOCKS_ENTROPY));
	}
	free(x.bytes);
	crumb_set_isa(NULL);
}

/* A coding that is cut, longer or damaged is refused, or is something else, by all instruction sets alike. */
static void damage_is_seen_alike(void **state)
{
	(void)state;
	uint64_t random = 3;
	size_t refused = 0, all = 0;
	for (size_t i = 0; i < SOURCES; i++)
		for (int trial = 0; trial < 400; trial++) {
			const enum blocks_coder coder = trial % 2 ? BLOCKS_HUFFMAN : BLOCKS_ENTROPY;
			const size_t n = 1 + case_random(&random) % (trial % 41 ? 3000 : 200000);
			draw(want, n, sources[i].count, sources[i].ratio, n);
			const struct coded x = encode(want, n, sources[i].count, coder, 0);
			const size_t size = trial % 5 == 1   ? case_random(&random) % x.size
			                    : trial % 5 == 2 ? x.size + 1 + case_random(&random) % 4
			                                     : x.size;
			uint8_t *bytes = calloc(size + !size, 1);
			memcpy(bytes, x.bytes, size < x.size ? size : x.size);
			for (int k = trial % 5 > 2 ? trial % 3 : -1; k >= 0; k--)
				bytes[case_random(&random) % (k           ? size
				                              : size < 60 ? size
				                                          : 60)] ^=
				        (uint8_t)(1u << case_random(&random) % 8);
			const bool good = decode_alike(bytes, size, n, &x.code, coder);
			assert_true(size == x.size || !good);
			refused += !good;
			all++;
			free(bytes);
			free(x.bytes);
		}
	crumb_set_isa(NULL);
	assert_true(refused > all / 3 && refused < all);
}

/* Long blocks, some of which are decoded in parallel: one has a bit flipped, a word too many or too few, or
 * frequencies that do not add up. */
static void damage_blocks(size_t blocks)
{
	enum { BLOCK = 1 << 16, HEAD = 2 + 2 * 16, MOST = 7 };
	const size_t n = blocks * BLOCK - 100;
	uint64_t random = 5;
	draw(want, n, 16, 0.9, 5);
	const struct coded x = encode(want, n, 16, BLOCKS_ENTROPY, 0);
	size_t begin[MOST + 1] = {0};
	for (size_t k = 0; k < blocks; k++) {
		assert_true(get_u16(x.bytes + begin[k]) < 0x8000);
		begin[k + 1] = begin[k] + 2 + get_u16(x.bytes + begin[k]);
	}
	assert_int_equal(begin[blocks], x.size);
	size_t refused = 0;
	for (int trial = 0; trial < 90; trial++) {
		const size_t from = begin[(size_t)trial % blocks], to = begin[(size_t)trial % blocks + 1];
		uint8_t *bytes = malloc(x.size), *block = bytes + from;
		memcpy(bytes, x.bytes, x.size);
		const size_t bit = 8 * HEAD + case_random(&random) % (8 * (to - from - HEAD));
		if (trial % 3 == 0)
			block[bit / 8] ^= (uint8_t)(1u << bit % 8);
		else if (trial % 3 == 1)
			put_u16(block, (uint16_t)(get_u16(block) + (case_random(&random) % 2 ? 2 : -2)));
		else
			block[2] ^= 1;
		refused += !decode_alike(bytes, x.size, n, &x.code, BLOCKS_ENTROPY);
		free(bytes);
	}
	free(x.bytes);
	crumb_set_isa(NULL);
	assert_true(refused > 80);
}
static void damage_of_long_blocks_is_seen_alike(void **state)
{
	(void)state;
	damage_blocks(4); /* in parallel */
	damage_blocks(7); /* four in parallel and three alone */
}

/* After a flipped bit in a block of rANS the states do not end where they began, unless it only changes one
 * of the last elements. */
static void a_flipped_bit_is_refused(void **state)
{
	(void)state;
	const size_t n = 4096;
	draw(want, n, 16, 0.8, 1);
	const struct coded x = encode(want, n, 16, BLOCKS_ENTROPY, 0);
	assert_int_equal(get_u16(x.bytes), x.size - 2);
	for (size_t c = 0; c < ISA_CODERS; c++) {
		size_t taken = 0;
		for (size_t bit = 16; here(c) && bit < 8 * x.size; bit++) {
			x.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			taken += decode(out, x.bytes, x.size, n, &x.code, BLOCKS_ENTROPY, c);
			x.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		assert_true(taken < 8 * x.size / 100);
	}
	crumb_set_isa(NULL);
	free(x.bytes);
}

/* A group of fifteen elements has a sixteenth symbol that is not 0. */
static void symbols_past_the_last_are_refused(void **state)
{
	(void)state;
	for (size_t n = 16; n <= 4096; n *= 256)
		for (unsigned count = 3; count <= 16; count += 13)
			for (enum blocks_coder coder = BLOCKS_ENTROPY; coder <= BLOCKS_HUFFMAN; coder++) {
				draw(want, n, count, 0.2, 1);
				want[n - 1] = 1;
				const struct coded x = encode(want, n, count, coder, 0);
				assert_true(decode_alike(x.bytes, x.size, n, &x.code, coder));
				assert_false(decode_alike(x.bytes, x.size, n - 1, &x.code, coder));
				free(x.bytes);
			}
	crumb_set_isa(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(symbols_come_back),
	        cmocka_unit_test(sizes_are_near_the_entropy),
	        cmocka_unit_test(blocks_are_joined),
	        cmocka_unit_test(blocks_of_all_kinds_are_written_alike),
	        cmocka_unit_test(other_frequencies_are_refused),
	        cmocka_unit_test(damage_is_seen_alike),
	        cmocka_unit_test(damage_of_long_blocks_is_seen_alike),
	        cmocka_unit_test(a_flipped_bit_is_refused),
	        cmocka_unit_test(symbols_past_the_last_are_refused),
	};
	return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
