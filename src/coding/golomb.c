/* Golomb-Rice codes of gaps: writing and reading.
 *
 * SPDX-License-Identifier: MIT */
#include "coding/golomb.h"
#include "v16/prefetch.h"
#include <math.h>
#include <string.h>

enum { MAX_K = 31 };

/* Returns the least k for which 2^k >= ln(1.618) / -ln(1 - p), where p = count / n: from there on another bit
 * of remainder costs more than it saves in quotients. n / count - 1/2 stands for -1 / ln(1 - p); all products
 * are exact. */
static unsigned parameter(uint64_t n, uint64_t count)
{
	unsigned k = 0;
	while (k < MAX_K &&
	       25 * (double)count * (double)(UINT64_C(1) << k) < 6 * (2 * (double)n - (double)count))
		k++;
	return k;
}

/* ---- write ---------------------------------------------------------------------------------- */

struct golomb_writer {
	uint8_t *at;
	uint64_t bits, next; /* bits not stored yet; the first element that the next gap may lead to */
	unsigned count, k;   /* number of these bits */
};

static struct golomb_writer golomb_begin(uint8_t *dst, size_t n, size_t count)
{
	const unsigned k = count ? parameter(n, count) : 0;
	uint8_t *at = put_u32(dst, (uint32_t)count);
	*at++ = (uint8_t)k;
	return (struct golomb_writer){at, 0, 0, 0, k};
}

/* Stores whole bytes, so that fewer than eight bits stay. Always writes eight bytes. */
static inline void golomb_flush(struct golomb_writer *w)
{
	memcpy(w->at, &w->bits, sizeof w->bits);
	w->at += w->count / 8;
	w->bits >>= w->count & ~7u;
	w->count %= 8;
}

/* Writes the gap's quotient in zeros, a one, k bits of remainder, and a code of width bits. */
static inline void golomb_put(struct golomb_writer *w, uint64_t element, uint64_t code, unsigned width)
{
	enum { MAX_ZEROS = 24 }; /* that fit the word together with the rest of a gap and a sign */
	const uint64_t gap = element - w->next, remainder = gap & ((UINT64_C(1) << w->k) - 1);
	uint64_t zeros = gap >> w->k;
	w->next = element + 1;
	for (; zeros >= MAX_ZEROS; zeros -= MAX_ZEROS) {
		w->count += MAX_ZEROS;
		golomb_flush(w);
	}
	w->bits |= (1 | remainder << 1) << zeros << w->count;
	w->count += (unsigned)zeros + w->k + 1;
	if (width > 1)
		golomb_flush(w);
	w->bits |= code << w->count;
	w->count += width;
	golomb_flush(w);
}

static size_t golomb_end(const struct golomb_writer *w, const uint8_t *dst)
{
	return (size_t)(w->at - dst) + (w->count != 0);
}

size_t crumb_golomb_of_map(uint8_t *dst, const uint8_t *map, size_t n, size_t count)
{
	struct golomb_writer w = golomb_begin(dst, n, count);
	for (size_t i = 0; i < n; i += 16, map += 4)
		for (uint32_t bits = get_u32(map); bits; bits &= bits - 1) {
			const unsigned at = (unsigned)__builtin_ctz(bits);
			golomb_put(&w, i + at / 2, at % 2, 1);
		}
	return golomb_end(&w, dst);
}

size_t crumb_golomb_of_list(uint8_t *dst, const uint8_t *list, size_t n, size_t count)
{
	struct golomb_writer w = golomb_begin(dst, n, count);
	for (size_t i = 0; i < count; i++)
		golomb_put(&w, get_u32(list + 4 * i) >> 1, ~get_u32(list + 4 * i) & 1, 1);
	return golomb_end(&w, dst);
}

size_t crumb_golomb_of_bins(uint8_t *dst, const uint8_t *symbols, size_t size, size_t width, size_t bin,
                            size_t n)
{
	const unsigned offset_bits = 8 * (unsigned)width - 2;
	const uint32_t nothing = (1u << offset_bits) - 1; /* the offset of a bin that sends no element */
	size_t count = 0, first = 0;
	for (size_t i = 0; i < size; i += width)
		count += (get_u32(symbols + i) & nothing) != nothing;
	if (count > UINT32_MAX)
		return 0;
	struct golomb_writer w = golomb_begin(dst, n, count);
	for (size_t i = 0; i < size; i += width) {
		const uint32_t symbol = get_u32(symbols + i), offset = symbol & nothing;
		if (offset != nothing)
			golomb_put(&w, first + offset, symbol >> (offset_bits + 1) & 1, 1);
		first += symbol >> offset_bits & 1 ? bin : 0;
	}
	return golomb_end(&w, dst);
}

size_t crumb_golomb_of_codes(uint8_t *dst, const uint8_t *elements, const uint8_t *codes, unsigned width,
                             size_t n, size_t count)
{
	struct golomb_writer w = golomb_begin(dst, n, count);
	for (size_t i = 0; i < count; i++)
		golomb_put(&w, get_u32(elements + 4 * i), get_u32(codes + 4 * i), width);
	return golomb_end(&w, dst);
}

/* By the choice of k the quotients of c elements add up to less than 2.6 c + 2 bits, and half as many
 * elements have one bit more of remainder each. */
size_t crumb_golomb_codes_room(size_t n, size_t count, unsigned width)
{
	return GOLOMB_HEAD + divide_up(count * (parameter(n, count) + width + 5), 8) + 16;
}

/* ---- read ----------------------------------------------------------------------------------- */

bool crumb_golomb_open(struct golomb_reader *g, const uint8_t *src, size_t size, uint64_t n)
{
	if (size < GOLOMB_HEAD || src[4] > MAX_K)
		return false;
	*g = (struct golomb_reader){src + GOLOMB_HEAD, size - GOLOMB_HEAD, 0, n, 0, get_u32(src), src[4]};
	return true;
}

enum { WINDOW = 57 }; /* bits of a 64-bit load that are valid at any bit offset within a byte */

/* Returns the next WINDOW bits, zeros after the last. */
static inline uint64_t window(const struct golomb_reader *g)
{
	const size_t byte = g->bit / 8;
	uint64_t x = 0;
	if (byte + sizeof x <= g->size)
		memcpy(&x, g->bits + byte, sizeof x);
	else if (byte < g->size)
		memcpy(&x, g->bits + byte, g->size - byte);
	return x >> g->bit % 8;
}

static inline uint64_t lowest(uint64_t x, unsigned bits) { return x & ((UINT64_C(1) << bits) - 1); }

/* Reads an element whose gap and code may be longer than a window. Returns false if it is not well-formed. */
static bool next_long(struct golomb_reader *g, unsigned width, uint64_t *element)
{
	const uint64_t any = (UINT64_C(1) << WINDOW) - 1;
	uint64_t x = window(g), quotient = 0;
	while (!(x & any)) {
		quotient += WINDOW;
		g->bit += WINDOW;
		if (g->bit >= 8 * g->size)
			return false;
		x = window(g);
	}
	const unsigned zeros = (unsigned)__builtin_ctzll(x);
	quotient += zeros;
	g->bit += zeros + 1;
	x = window(g);
	g->bit += g->k;
	if (quotient > g->n >> g->k)
		return false;
	g->next += (quotient << g->k) + lowest(x, g->k);
	*element = g->next << width | lowest(window(g), width);
	g->bit += width;
	return g->next++ < g->n;
}

/* Reads elements as 2^width times the number, plus the code, as crumb_golomb_next does. Loading a window has
 * a longer latency than decoding a code, so that up to three codes share a window. */
static inline size_t next(struct golomb_reader *g, unsigned width, uint64_t element[GOLOMB_ROUND])
{
	enum { CODES = 3 };
	const size_t most = g->left < GOLOMB_ROUND ? g->left : GOLOMB_ROUND;
	size_t count = 0;
	while (count < most) {
		const size_t before = count;
		uint64_t x = window(g);
		unsigned room = WINDOW;
		for (int code = 0; code < CODES && count < most; code++) {
			const unsigned zeros = (unsigned)__builtin_ctzll(x | UINT64_C(1) << 63),
			               bits = zeros + g->k + 1 + width;
			if (bits > room)
				break;
			const uint64_t rest = x >> zeros >> 1;
			g->next += ((uint64_t)zeros << g->k) + lowest(rest, g->k);
			element[count] = g->next << width | lowest(rest >> g->k, width);
			if (g->next++ >= g->n)
				return 0;
			count++;
			g->bit += bits;
			room -= bits;
			x >>= bits;
		}
		if (count == before && !next_long(g, width, &element[count++]))
			return 0;
	}
	g->left -= (uint32_t)count;
	return count;
}

size_t crumb_golomb_next(struct golomb_reader *g, uint64_t element[GOLOMB_ROUND])
{
	return next(g, 1, element);
}

bool crumb_golomb_ended(const struct golomb_reader *g)
{
	return divide_up(g->bit, 8) == g->size && (g->bit % 8 == 0 || g->bits[g->bit / 8] >> g->bit % 8 == 0);
}

/* ---- values --------------------------------------------------------------------------------- */

static inline uint32_t code_of(uint64_t element, unsigned width) { return (uint32_t)lowest(element, width); }

static inline float value_of(uint64_t element, unsigned width, const float *level, float weight)
{
	const uint32_t code = code_of(element, width);
	return width == GOLOMB_EXACT ? weight * float_of_bits(code) : level[code];
}

static inline bool check(const struct golomb_values *v, const unsigned width)
{
	uint64_t element[GOLOMB_ROUND];
	struct golomb_reader g;
	bool good = crumb_golomb_open(&g, v->src, v->size, v->n);
	while (good && g.left) {
		const size_t count = next(&g, width, element);
		good = count > 0;
		for (size_t i = 0; i < count && width == GOLOMB_EXACT; i++)
			good = good && isfinite(float_of_bits(code_of(element[i], width)));
	}
	return good && crumb_golomb_ended(&g);
}

bool crumb_golomb_check_values(const struct golomb_values *v)
{
	return v->width == 1 ? check(v, 1) : check(v, v->width);
}

/* acc at a round's elements is prefetched while the next round is decoded. */
static inline void add(const struct golomb_values *v, const unsigned width, const float *level, float weight,
                       float *acc, size_t first, size_t end)
{
	uint64_t element[2][GOLOMB_ROUND];
	size_t count[2];
	struct golomb_reader g;
	int now = 0;
	if (!crumb_golomb_open(&g, v->src, v->size, v->n))
		return;
	do
		count[now] = next(&g, width, element[now]);
	while (count[now] && element[now][count[now] - 1] >> width < first);
	for (; count[now]; now = !now) {
		for (size_t i = 0; i < count[now]; i++)
			prefetch(acc, sizeof *acc * (size_t)(element[now][i] >> width));
		count[!now] = next(&g, width, element[!now]);
		for (size_t i = 0; i < count[now]; i++) {
			const uint64_t at = element[now][i] >> width;
			if (at >= end)
				return;
			if (at >= first)
				acc[at] += value_of(element[now][i], width, level, weight);
		}
	}
}

void crumb_golomb_add_values(const struct golomb_values *v, const float *level, float weight, float *acc,
                             size_t first, size_t end)
{
	if (v->width == 1)
		add(v, 1, level, weight, acc, first, end);
	else
		add(v, v->width, level, weight, acc, first, end);
}

uint64_t crumb_golomb_sent_values(const struct golomb_values *v, const float *level)
{
	uint64_t element[GOLOMB_ROUND], sent = 0;
	struct golomb_reader g;
	if (!crumb_golomb_open(&g, v->src, v->size, v->n))
		return 0;
	for (size_t count; (count = next(&g, v->width, element));)
		for (size_t i = 0; i < count; i++)
			sent += value_of(element[i], v->width, level, 1) != 0;
	return sent;
}
