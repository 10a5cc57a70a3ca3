/* Golomb-Rice codes of gaps.
 *
 * SPDX-License-Identifier: MIT */
#include "coding/golomb_write.h"
#include "v16/prefetch.h"

enum { MOST_K = 31 };

/* The least k for which 2^k reaches ln(1.618) / -ln(1 - p), p = count / n: where one bit more of remainder no
 * longer shortens the quotients by as much. -1 / ln(1 - p) is n / count - 1/2, nearly; all products are
 * exact. */
static unsigned parameter(uint64_t n, uint64_t count)
{
	unsigned k = 0;
	while (k < MOST_K &&
	       25 * (double)count * (double)(UINT64_C(1) << k) < 6 * (2 * (double)n - (double)count))
		k++;
	return k;
}

/* ---- write ---------------------------------------------------------------------------------- */

struct gaps_writer crumb_golomb_begin(uint8_t *dst, size_t n, size_t count)
{
	const unsigned k = count ? parameter(n, count) : 0;
	uint8_t *at = put_u32(dst, (uint32_t)count);
	*at++ = (uint8_t)k;
	return (struct gaps_writer){at, 0, 0, 0, k};
}

size_t crumb_golomb_of_list(uint8_t *dst, const uint8_t *list, size_t n, size_t count)
{
	struct gaps_writer w = crumb_golomb_begin(dst, n, count);
	for (size_t i = 0; i < count; i++)
		gaps_put(&w, get_u32(list + 4 * i) >> 1, ~get_u32(list + 4 * i) & 1);
	return gaps_end(&w, dst);
}

size_t crumb_golomb_of_bins(uint8_t *dst, const uint8_t *symbols, size_t size, size_t width, size_t bin,
                            size_t n)
{
	const unsigned offset_bits = 8 * (unsigned)width - 2;
	const uint32_t nothing = (1u << offset_bits) - 1;
	size_t count = 0, first = 0;
	for (size_t i = 0; i < size; i += width)
		count += (get_u32(symbols + i) & nothing) != nothing;
	if (count > UINT32_MAX)
		return 0;
	struct gaps_writer w = crumb_golomb_begin(dst, n, count);
	for (size_t i = 0; i < size; i += width) {
		const uint32_t symbol = get_u32(symbols + i), offset = symbol & nothing;
		if (offset != nothing)
			gaps_put(&w, first + offset, symbol >> (offset_bits + 1) & 1);
		first += symbol >> offset_bits & 1 ? bin : 0;
	}
	return gaps_end(&w, dst);
}

/* ---- read ----------------------------------------------------------------------------------- */

bool crumb_golomb_open(struct golomb_reader *g, const uint8_t *src, size_t size, uint64_t n)
{
	if (size < GOLOMB_HEAD || src[4] > MOST_K)
		return false;
	*g = (struct golomb_reader){src + GOLOMB_HEAD, size - GOLOMB_HEAD, 0, n, 0, get_u32(src), src[4]};
	return true;
}

enum { WINDOW = 57 }; /* bits that are there wherever in a byte they begin */

/* The bits from the reader's on, WINDOW of them; zeros behind the last. */
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

/* The next element, whose code may be longer than a window; false if it is not well-formed. */
static bool next_long(struct golomb_reader *g, uint64_t *element)
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
	g->bit += g->k + 1;
	if (quotient > g->n >> g->k)
		return false;
	g->next += (quotient << g->k) + (x & ((UINT64_C(1) << g->k) - 1));
	*element = g->next << 1 | (x >> g->k & 1);
	return g->next++ < g->n;
}

/* To find the next window takes longer than to read a code, so a few are read of each. */
size_t crumb_golomb_next(struct golomb_reader *g, uint64_t element[GOLOMB_ROUND])
{
	enum { FEW = 3 };
	const size_t most = g->left < GOLOMB_ROUND ? g->left : GOLOMB_ROUND;
	size_t count = 0;
	while (count < most) {
		const size_t begun = count;
		uint64_t x = window(g);
		unsigned room = WINDOW;
		for (int code = 0; code < FEW && count < most; code++) {
			const unsigned zeros = (unsigned)__builtin_ctzll(x | UINT64_C(1) << 63),
			               bits = zeros + g->k + 2;
			if (bits > room)
				break;
			const uint64_t rest = x >> zeros >> 1;
			g->next += ((uint64_t)zeros << g->k) + (rest & ((UINT64_C(1) << g->k) - 1));
			element[count] = g->next << 1 | (rest >> g->k & 1);
			if (g->next++ >= g->n)
				return 0;
			count++;
			g->bit += bits;
			room -= bits;
			x >>= bits;
		}
		if (count == begun && !next_long(g, &element[count++]))
			return 0;
	}
	g->left -= (uint32_t)count;
	return count;
}

bool crumb_golomb_check(const uint8_t *src, size_t size, uint64_t n)
{
	uint64_t element[GOLOMB_ROUND];
	struct golomb_reader g;
	if (!crumb_golomb_open(&g, src, size, n))
		return false;
	while (g.left)
		if (!crumb_golomb_next(&g, element))
			return false;
	return divide_up(g.bit, 8) == g.size && (g.bit % 8 == 0 || g.bits[g.bit / 8] >> g.bit % 8 == 0);
}

void crumb_golomb_add(const uint8_t *src, size_t size, uint64_t n, float plus, float minus, float *acc,
                      size_t first, size_t end)
{
	const float value[2] = {plus, minus};
	uint64_t element[2][GOLOMB_ROUND];
	size_t count[2];
	struct golomb_reader g;
	int now = 0;
	if (!crumb_golomb_open(&g, src, size, n))
		return;
	do
		count[now] = crumb_golomb_next(&g, element[now]);
	while (count[now] && element[now][count[now] - 1] >> 1 < first);
	/* Memory brings what a round is added to while the next one is read. */
	for (; count[now]; now = !now) {
		for (size_t i = 0; i < count[now]; i++)
			prefetch(acc, sizeof *acc * (size_t)(element[now][i] >> 1));
		count[!now] = crumb_golomb_next(&g, element[!now]);
		for (size_t i = 0; i < count[now]; i++) {
			const uint64_t at = element[now][i] >> 1;
			if (at >= end)
				return;
			if (at >= first)
				acc[at] += value[element[now][i] & 1];
		}
	}
}
