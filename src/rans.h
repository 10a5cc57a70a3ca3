/* rANS: a block of symbols at its entropy (Duda's asymmetric numeral systems), in sixteen lanes.
 *
 * There are 32 states: element i belongs to state i mod 32, so that groups of sixteen alternate between two
 * registers. A state x lies in [2^15, 2^31). Coding a symbol of frequency f, of 4096, that begins at c, makes
 * it
 *
 *     x / f * 4096 + x mod f + c
 *
 * after its lower 16 bits have gone out as a word, should x be f * 2^19 or more. Decoding runs the other way:
 * the encoder walks from the last group to the first and puts its words one before another.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RANS_H
#define RANS_H

#include "symbols.h"
#include "v16.h"

enum { RANS_BITS = 12, RANS_TOTAL = 1 << RANS_BITS, RANS_STATES = 32, RANS_STATE_BYTES = 4 * RANS_STATES };
#define RANS_LOW (1u << 15)

/* Frequencies of all symbols add up to RANS_TOTAL; one that occurs has at least 1. */
struct rans_model {
	uint32_t frequency[SYMBOLS_MOST];
};
struct rans_model crumb_rans_model(const uint32_t count[SYMBOLS_MOST]);

/* The bits of the words of so many symbols, in units of 2^-RANS_COST_BITS. */
enum { RANS_COST_BITS = 12 };
uint64_t crumb_rans_cost(const uint32_t count[SYMBOLS_MOST]);

/* An entry of a table of 32-bit numbers, which v16 holds as floats. */
V16_FN v16i rans_entry(v16t table, v16i at) { return v16_bits_of(v16_lookup(table, at)); }

/* ---- encode --------------------------------------------------------------------------------- */

/* x / f is the upper half of x * reciprocal, shifted; reciprocal = ceil(2^(32 + shift) / f) with 2^(shift +
 * 1) >= f is exact for x < 2^31. Then the coded x is x + x / f * (4096 - f) + c. For f = 1 the reciprocal is
 * 2^32 - 1, which gives x - 1, and so 4095 are missing. */
struct rans_encoder {
	float reciprocal[V16]; /* its bits */
	float rest[V16]; /* the bits of 4096 - f in 0 to 11, of c and what is missing in 12 to 27, of shift
	                    from 28 */
};

static inline struct rans_encoder rans_encoder_of(const struct rans_model *m)
{
	struct rans_encoder e = {{0}, {0}};
	for (uint32_t j = 0, c = 0; j < SYMBOLS_MOST; c += m->frequency[j++]) {
		const uint32_t f = m->frequency[j];
		if (!f)
			continue;
		const uint32_t shift = f > 1 ? 31 - (uint32_t)__builtin_clz(f - 1) : 0;
		const uint32_t reciprocal =
		        f > 1 ? (uint32_t)(((UINT64_C(1) << (32 + shift)) + f - 1) / f) : UINT32_MAX;
		const uint32_t missing = f > 1 ? 0 : RANS_TOTAL - 1;
		const uint32_t rest = (RANS_TOTAL - f) | (c + missing) << 12 | shift << 28;
		memcpy(&e.reciprocal[j], &reciprocal, sizeof reciprocal);
		memcpy(&e.rest[j], &rest, sizeof rest);
	}
	return e;
}

/* Codes a group, but for the lower sixteen bits of the lanes that it returns, whose words go out first. */
V16_FN v16m rans_put(v16i *state, v16t reciprocals, v16t rests, v16i symbol)
{
	const v16i rest = rans_entry(rests, symbol);
	const v16i g = v16_andi(rest, v16_seti(RANS_TOTAL - 1)), shift = v16_shr(rest, 28);
	const v16i c = v16_andi(v16_shr(rest, 12), v16_seti(0xFFFF));
	const v16i most = v16_subi(v16_seti((1u << 31) - 1), v16_shl(g, 19)); /* f * 2^19 - 1 */
	const v16m full = v16_lti(most, *state);
	const v16i x = v16_bits_of(v16_pick(full, v16_of_bits(v16_shr(*state, 16)), v16_of_bits(*state)));
	const v16i q = v16_shrv(v16_mulhi(x, rans_entry(reciprocals, symbol)), shift);
	*state = v16_addi(v16_addi(x, c), v16_muli(q, g));
	return full;
}

/* Codes the groups of a block: frequencies, words, states. Returns the size, which is below most, or 0 if it
 * would not be. */
static inline size_t rans_encode(uint8_t *dst, size_t most, const uint8_t *codes, size_t groups,
                                 const struct symbols *s, const uint32_t count[SYMBOLS_MOST])
{
	enum { BELOW = 6 * V16 }; /* so far may a pair of groups go below the least */
	uint8_t words[BELOW + SYMBOLS_BLOCK_BYTES], symbol[SYMBOLS_RUN];
	uint8_t *const end = words + sizeof words, *at = end;
	const size_t around = 2 * s->count + RANS_STATE_BYTES;
	if (most <= around)
		return 0;
	const uint8_t *const least = end - (most - around - 1);
	const struct rans_model m = crumb_rans_model(count);
	const struct rans_encoder e = rans_encoder_of(&m);
	const v16t reciprocals = v16_table(e.reciprocal), rests = v16_table(e.rest);
	v16i even = v16_seti(RANS_LOW), odd = even;
	for (size_t left = groups; left;) {
		size_t g = (left - 1) % (SYMBOLS_RUN / V16) + 1;
		left -= g;
		s->get(codes + s->width * left, g, symbol);
		while (g && at >= least) {
			const v16i a = even, b = odd;
			v16m odd_out = v16_mask(0);
			if (g % 2 == 0)
				odd_out = rans_put(&odd, reciprocals, rests, v16_load_u8(symbol + V16 * --g));
			const v16m even_out =
			        rans_put(&even, reciprocals, rests, v16_load_u8(symbol + V16 * --g));
			at = v16_compress_both_u16(at, even_out, a, odd_out, b);
		}
		if (at < least)
			return 0;
	}
	for (unsigned j = 0; j < s->count; j++)
		dst = put_u16(dst, (uint16_t)m.frequency[j]);
	memcpy(dst, at, (size_t)(end - at));
	dst += end - at;
	uint32_t state[RANS_STATES];
	v16_storei(state, even);
	v16_storei(state + V16, odd);
	memcpy(dst, state, RANS_STATE_BYTES);
	return around + (size_t)(end - at);
}

/* ---- decode --------------------------------------------------------------------------------- */

/* Tables are by how many of the fifteen starts of symbols 1 to 15 a slot of 4096 is before: by 15 - symbol.
 */
struct rans_decoder {
	uint32_t quarter[3]; /* where symbols 4, 8 and 12 begin */
	float inner[3][V16]; /* the bits of where symbols 13 - 4q, 14 - 4q and 15 - 4q begin, by q < 4 */
	float frequency[V16], start[V16];
	bool few;                /* at most four symbols */
	const uint8_t *at, *end; /* of the words */
	v16i even, odd;
};

struct rans_tables {
	v16i quarter[3], low[3]; /* low: inner of q = 3 */
	v16t inner[3], frequency, start;
};

static inline struct rans_tables rans_tables_of(const struct rans_decoder *d)
{
	struct rans_tables t;
	for (int k = 0; k < 3; k++) {
		t.quarter[k] = v16_seti(d->quarter[k]);
		t.inner[k] = v16_table(d->inner[k]);
		t.low[k] = v16_bits_of(v16_lookup8(t.inner[k], v16_seti(3)));
	}
	t.frequency = v16_table(d->frequency);
	t.start = v16_table(d->start);
	return t;
}

/* 1 where slot < start, else 0; both below 2^31. */
V16_FN v16i rans_before(v16i slot, v16i start) { return v16_shr(v16_subi(slot, start), 31); }

/* start + how many of the three the slot is before. */
V16_FN v16i rans_before_three(v16i start, v16i slot, const v16i three[3])
{
	return v16_addi(v16_addi(start, rans_before(slot, three[0])),
	                v16_addi(rans_before(slot, three[1]), rans_before(slot, three[2])));
}

/* Decodes a group; its words begin at at. */
V16_FN const uint8_t *rans_get(const uint8_t *at, v16i *state, const struct rans_tables *t, const bool few,
                               uint8_t *symbol)
{
	const v16i slot = v16_andi(*state, v16_seti(RANS_TOTAL - 1));
	v16i place = v16_seti(12); /* 15 - symbol */
	if (few) {
		place = rans_before_three(place, slot, t->low);
	} else {
		const v16i q = rans_before_three(v16_seti(0), slot, t->quarter);
		v16i inner[3];
		for (int k = 0; k < 3; k++)
			inner[k] = v16_bits_of(v16_lookup8(t->inner[k], q));
		place = rans_before_three(v16_shl(q, 2), slot, inner);
	}
	v16_store_u8(symbol, v16_subi(v16_seti(15), place));
	const v16i f = rans_entry(t->frequency, place), within = v16_subi(slot, rans_entry(t->start, place));
	const v16i x = v16_addi(v16_muli(f, v16_shr(*state, RANS_BITS)), within);
	const v16m low = v16_lti(x, v16_seti(RANS_LOW));
	v16i word;
	at = v16_expand_u16(at, low, &word);
	const v16f shifted = v16_pick(low, v16_of_bits(v16_shl(x, 16)), v16_of_bits(x));
	*state = v16_ori(v16_bits_of(shifted), word);
	return at;
}

/* Opens a coded block: frequencies of count symbols, words, states. */
static inline bool rans_open(struct rans_decoder *d, const uint8_t *src, size_t size, unsigned count)
{
	uint32_t begin[SYMBOLS_MOST + 1] = {0}, state[RANS_STATES];
	if (size < 2 * count + RANS_STATE_BYTES || size % 2)
		return false;
	for (unsigned j = 0; j < SYMBOLS_MOST; j++) {
		const uint32_t f = j < count ? get_u16(src + 2 * j) : 0;
		memcpy(&d->frequency[SYMBOLS_MOST - 1 - j], &f, sizeof f);
		memcpy(&d->start[SYMBOLS_MOST - 1 - j], &begin[j], sizeof *begin);
		begin[j + 1] = begin[j] + f;
	}
	for (int k = 0; k < 3; k++)
		for (int q = 0; q < 4; q++)
			memcpy(&d->inner[k][q], &begin[13 - 4 * q + k], sizeof *begin);
	for (int k = 0; k < 3; k++)
		d->quarter[k] = begin[4 * k + 4];
	d->few = count <= 4;
	d->at = src + 2 * count;
	d->end = src + size - RANS_STATE_BYTES;
	memcpy(state, d->end, sizeof state);
	bool good = begin[SYMBOLS_MOST] == RANS_TOTAL;
	for (int i = 0; i < RANS_STATES; i++)
		good = good && state[i] >= RANS_LOW && state[i] < 1u << 31;
	d->even = v16_loadi(state);
	d->odd = v16_loadi(state + V16);
	return good;
}

/* A decoder's state follows from the one before, so that most of its time is waiting: as many as this go side
 * by side, where registers hold them. */
enum { RANS_SIDE = V16_LANES == 16 ? 2 : 1 };

/* The loop of rans_next. Before a pair of groups is decoded no more words were taken than there are: it reads
 * at most 64 bytes of the states behind them. */
V16_FN bool rans_groups(struct rans_decoder *const d[], const size_t side, const bool few,
                        uint8_t *const symbol[], size_t groups)
{
	struct rans_tables t[RANS_SIDE];
	const uint8_t *at[RANS_SIDE];
	v16i even[RANS_SIDE], odd[RANS_SIDE];
	bool good = true;
	for (size_t k = 0; k < side; k++) {
		t[k] = rans_tables_of(d[k]);
		at[k] = d[k]->at;
		even[k] = d[k]->even;
		odd[k] = d[k]->odd;
	}
	for (size_t g = 0; g < groups && good; g += 2) {
		for (size_t k = 0; k < side; k++)
			at[k] = rans_get(at[k], &even[k], &t[k], few, symbol[k] + V16 * g);
		for (size_t k = 0; k < side && g + 1 < groups; k++)
			at[k] = rans_get(at[k], &odd[k], &t[k], few, symbol[k] + V16 * (g + 1));
		for (size_t k = 0; k < side; k++)
			good &= at[k] <= d[k]->end;
	}
	for (size_t k = 0; k < side; k++) {
		d[k]->at = at[k];
		d[k]->even = even[k];
		d[k]->odd = odd[k];
	}
	return good;
}

/* Decodes the next groups, an even number of them unless they are the last, of one block, or of RANS_SIDE
 * blocks of one alphabet. */
static inline bool rans_next(struct rans_decoder *d, uint8_t *symbol, size_t groups)
{
	return d->few ? rans_groups(&d, 1, true, &symbol, groups)
	              : rans_groups(&d, 1, false, &symbol, groups);
}
static inline bool rans_next_beside(struct rans_decoder *const d[], uint8_t *const symbol[], size_t groups)
{
	return d[0]->few ? rans_groups(d, RANS_SIDE, true, symbol, groups)
	                 : rans_groups(d, RANS_SIDE, false, symbol, groups);
}

/* Whether all words were taken and the states are those that the encoder began with. */
static inline bool rans_close(const struct rans_decoder *d)
{
	const v16f low = v16_float_of(v16_seti(RANS_LOW));
	const v16m more = v16_either(v16_ne(v16_float_of(d->even), low), v16_ne(v16_float_of(d->odd), low));
	return d->at == d->end && !v16_bits(more);
}

#endif
