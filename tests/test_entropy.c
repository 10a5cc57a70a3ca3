/* Entropy coders: every instruction set writes the same bytes, reads back what was written, and refuses the
 * rest; sizes are held against the empirical entropy.
 *
 * SPDX-License-Identifier: MIT */
#include "cases.h"
#include "symbols.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(isa)                                                                                    \
	size_t crumb_symbols_encode_##isa(uint8_t *, size_t, const struct symbols *, enum symbols_coder); \
	bool crumb_symbols_decode_##isa(const uint8_t *, size_t, size_t, const struct symbols *,          \
	                                enum symbols_coder, symbols_put *, void *);
FUNCTIONS(sse2)
FUNCTIONS(avx2)
FUNCTIONS(avx512)
FUNCTIONS(neon)

/* The portable one first. */
static const struct {
	const char *isa;
	size_t (*encode)(uint8_t *, size_t, const struct symbols *, enum symbols_coder);
	bool (*decode)(const uint8_t *, size_t, size_t, const struct symbols *, enum symbols_coder,
	               symbols_put *, void *);
} coders[] = {
#define CODER(isa) {#isa, crumb_symbols_encode_##isa, crumb_symbols_decode_##isa},
        CODER(portable)
#ifdef CRUMB_HAVE_SSE2
                CODER(sse2)
#endif
#ifdef CRUMB_HAVE_AVX2
                        CODER(avx2)
#endif
#ifdef CRUMB_HAVE_AVX512
                                CODER(avx512)
#endif
#ifdef CRUMB_HAVE_NEON
                                        CODER(neon)
#endif
};
enum { CODERS = sizeof coders / sizeof *coders };

static bool here(size_t c) { return crumb_set_isa(coders[c].isa) == 0; }

/* ---- symbols -------------------------------------------------------------------------------- */

static void get_nibbles(const uint8_t *codes, size_t groups, uint8_t *symbol)
{
	for (size_t i = 0; i < 16 * groups; i++)
		symbol[i] = codes[i / 2] >> 4 * (i % 2) & 15;
}

static void get_pairs(const uint8_t *codes, size_t groups, uint8_t *symbol)
{
	for (size_t i = 0; i < 16 * groups; i++)
		symbol[i] = codes[i / 4] >> 2 * (i % 4) & 3;
}

/* What is coded: alphabets, and how fast the symbols' probabilities fall, each by this factor. */
static const struct {
	unsigned count;
	double ratio;
} sources[] = {{2, 1},    {2, 0.05}, {3, 0.3},   {3, 0.02},  {3, 0},     {4, 1},
               {4, 0.5},  {8, 0.7},  {8, 0.1},   {9, 0.45},  {15, 0.8},  {16, 1},
               {16, 0.9}, {16, 0.5}, {16, 0.25}, {16, 0.05}, {16, 1e-4}, {16, 0}};
enum { SOURCES = sizeof sources / sizeof *sources };

static const size_t lengths[] = {1,     2,     15,    16,    17,    31,     32,     33,     100,   4095,
                                 4096,  4097,  8200,  12300, 16383, 16384,  16385,  16401,  40000, 65535,
                                 65536, 65537, 81920, 81937, 98305, 131072, 131073, 200001, 300007};
enum { LENGTHS = sizeof lengths / sizeof *lengths };
enum { LONGEST = 1 << 20 };

static struct symbols symbols_of(unsigned count)
{
	return count <= 4 ? (struct symbols){count, 4, get_pairs} : (struct symbols){count, 8, get_nibbles};
}

static void draw(uint8_t *symbol, size_t n, unsigned count, double ratio, uint64_t seed)
{
	double upto[SYMBOLS_MOST], sum = 0;
	for (unsigned j = 0; j < count; j++)
		upto[j] = sum += j ? pow(ratio, j) : 1;
	for (size_t i = 0; i < n; i++) {
		const double u = case_uniform(&seed) * sum;
		symbol[i] = 0;
		while (symbol[i] + 1u < count && u >= upto[symbol[i]])
			symbol[i]++;
	}
}

static void write_codes(uint8_t *codes, const uint8_t *symbol, size_t n, const struct symbols *s)
{
	memset(codes, 0, symbols_fixed(s, n));
	const size_t per_byte = s->width == 4 ? 4 : 2;
	for (size_t i = 0; i < n; i++)
		codes[i / per_byte] |= (uint8_t)(symbol[i] << 8 / per_byte * (i % per_byte));
}

/* Bits of n symbols at their empirical entropy, and in the best prefix code, of which only lengths are asked.
 */
struct ideal {
	double entropy, prefix;
};

static struct ideal ideal_of(const uint8_t *symbol, size_t n)
{
	double count[SYMBOLS_MOST] = {0};
	struct ideal bits = {0, 0};
	for (size_t i = 0; i < n; i++)
		count[symbol[i]]++;
	for (int j = 0; j < SYMBOLS_MOST; j++)
		bits.entropy -= count[j] > 0 ? count[j] * log2(count[j] / (double)n) : 0;
	for (;;) { /* the two least are joined, and cost a bit each */
		int a = -1, b = -1;
		for (int j = 0; j < SYMBOLS_MOST; j++)
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

/* A tensor, its codes and what they become; blocks of exactly their size, so that a sanitizer sees more. */
struct coded {
	struct symbols s;
	size_t n, size;
	uint8_t *symbol, *bytes;
};

static struct coded code(const uint8_t *symbol, size_t n, unsigned count, enum symbols_coder coder, size_t c)
{
	struct coded x = {symbols_of(count), n, 0, NULL, NULL};
	const size_t bound = symbols_bound(&x.s, n);
	uint8_t *dst = malloc(bound);
	write_codes(dst + symbols_marks(&x.s, n), symbol, n, &x.s);
	x.size = coders[c].encode(dst, n, &x.s, coder);
	assert_true(x.size <= bound);
	x.bytes = realloc(dst, x.size);
	return x;
}

struct seen {
	uint8_t *symbol;
	size_t n;
};

static void take(void *to, size_t first, const uint8_t *symbol, size_t count)
{
	struct seen *seen = to;
	assert_int_equal(first, seen->n);
	assert_true(first % SYMBOLS_ROUND == 0 && count <= SYMBOLS_ROUND);
	memcpy(seen->symbol + first, symbol, count);
	seen->n += count;
}

/* Whether all of the n symbols come out; they stand in out then. */
static bool decode(uint8_t *out, const uint8_t *src, size_t size, size_t n, const struct symbols *s,
                   enum symbols_coder coder, size_t c)
{
	if (!coders[c].decode(src, size, n, s, coder, NULL, NULL))
		return false;
	struct seen seen = {out, 0};
	assert_true(coders[c].decode(src, size, n, s, coder, take, &seen));
	assert_int_equal(seen.n, n);
	return true;
}

static uint8_t want[LONGEST + 16], out[LONGEST + 16];

static void symbols_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < SOURCES; i++)
		for (size_t l = 0; l < LENGTHS; l++)
			for (enum symbols_coder coder = SYMBOLS_ENTROPY; coder <= SYMBOLS_HUFFMAN; coder++) {
				const size_t n = lengths[l];
				draw(want, n, sources[i].count, sources[i].ratio, n);
				struct coded first = {0};
				for (size_t c = 0; c < CODERS; c++) {
					if (!here(c))
						continue;
					const struct coded x = code(want, n, sources[i].count, coder, c);
					memset(out, 255, n);
					assert_true(decode(out, x.bytes, x.size, n, &x.s, coder, c));
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
	crumb_set_isa(NULL);
}

static void sizes_are_near_the_entropy(void **state)
{
	(void)state;
	const size_t n = LONGEST;
	for (size_t i = 0; i < SOURCES; i++) {
		draw(want, n, sources[i].count, sources[i].ratio, 7);
		const struct ideal ideal = ideal_of(want, n);
		const double flags = 8 * (double)n / 65536 * 170; /* states, frequencies and marks */
		for (enum symbols_coder coder = SYMBOLS_ENTROPY; coder <= SYMBOLS_HUFFMAN; coder++) {
			const struct coded x = code(want, n, sources[i].count, coder, 0);
			const double bits = 8 * (double)x.size;
			if (coder == SYMBOLS_HUFFMAN)
				assert_true(bits <= 1.005 * ideal.prefix);
			else if (ideal.entropy / (double)n >= (sources[i].count > 8 ? 0.36 : 0.25))
				assert_true(bits <= 1.05 * ideal.entropy);
			else
				assert_true(bits <= 1.05 * ideal.entropy + flags);
			free(x.bytes);
		}
	}
}

/* What is cut, longer, or damaged is refused or is something else; but by all instruction sets alike. */
static void damage_is_seen_alike(void **state)
{
	(void)state;
	uint64_t random = 3;
	static uint8_t other[LONGEST];
	size_t refused = 0, all = 0;
	for (size_t i = 0; i < SOURCES; i++)
		for (int trial = 0; trial < 400; trial++) {
			const enum symbols_coder coder = trial % 2 ? SYMBOLS_HUFFMAN : SYMBOLS_ENTROPY;
			const size_t n = 1 + case_random(&random) % (trial % 40 ? 3000 : 90000);
			draw(want, n, sources[i].count, sources[i].ratio, n);
			const struct coded x = code(want, n, sources[i].count, coder, 0);
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
			bool good[CODERS];
			for (size_t c = 0; c < CODERS; c++) {
				if (!here(c))
					continue;
				good[c] = decode(c ? other : out, bytes, size, n, &x.s, coder, c);
				assert_int_equal(good[c], good[0]);
				assert_true(!c || !good[0] || !memcmp(out, other, n));
			}
			assert_true(size == x.size || !good[0]);
			refused += !good[0];
			all++;
			free(bytes);
			free(x.bytes);
		}
	crumb_set_isa(NULL);
	assert_true(refused > all / 3 && refused < all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(symbols_come_back),
	                                   cmocka_unit_test(sizes_are_near_the_entropy),
	                                   cmocka_unit_test(damage_is_seen_alike)};
	return cmocka_run_group_tests_name("entropy", tests, NULL, NULL);
}
