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

/* A group's code is inline where it is short: where sixteen lanes are one register, or two. */
#if V16_LANES >= 8
#define RANS_FN V16_FN
#else
#define RANS_FN __attribute__((noinline)) static
#endif

/* An entry of a table of 32-bit numbers, which v16 holds as floats. */
V16_FN v16i rans_entry(v16t table, v16i at) { return v16_bits_of(v16_lookup(table, at)); }

/* ---- encode --------------------------------------------------------------------------------- */

/* x / f is the upper half of x * reciprocal, shifted; reciprocal = ceil(2^(32 + shift) / f) with 2^(shift +
 * 1) >= f is exact for x < 2^31. Then the coded x is x + x / f * (4096 - f) + c. For f = 1 the reciprocal is
 * 2^32 - 1, which gives x - 1, and so 4095 are missing. */
struct rans_encode_tables {
	float reciprocal[V16]; /* its bits */
	float limit[V16]; /* the bits of 4096 - f in the lower half, of the upper half of f * 2^19 - 1 in the
	                     upper */
	float rest[V16];  /* the bits of shift in the lower half, of c and what is missing in the upper */
};

struct rans_encode_tables crumb_rans_encode_tables(const struct rans_model *m);

struct rans_encode_registers {
	v16t reciprocal, limit, rest;
};

static inline struct rans_encode_registers rans_encode_registers_of(const struct rans_encode_tables *t)
{
	return (struct rans_encode_registers){v16_table(t->reciprocal), v16_table(t->limit),
	                                      v16_table(t->rest)};
}

/* Codes a group, but for the lower sixteen bits of the lanes that it returns, whose words go out first. */
RANS_FN v16m rans_put(v16i *state, const struct rans_encode_registers *r, v16i symbol)
{
	const v16i half = v16_seti(0xFFFF), limit = rans_entry(r->limit, symbol),
	           rest = rans_entry(r->rest, symbol);
	const v16m full = v16_lti(v16_ori(limit, half), *state);
	const v16i x = v16_bits_of(v16_pick(full, v16_of_bits(v16_upper(*state)), v16_of_bits(*state)));
	const v16i q = v16_shrv_low(v16_mulhi(x, rans_entry(r->reciprocal, symbol)), rest);
	*state = v16_addi(v16_addi(x, v16_upper(rest)), v16_muli(q, v16_andi(limit, half)));
	return full;
}

/* Codes a group whose words end at at; returns where they begin. */
V16_FN uint8_t *rans_put_one(uint8_t *at, v16i *even, const struct rans_encode_registers *r,
                             const uint8_t *symbol)
{
	const v16i a = *even;
	return v16_compress_u16(at, rans_put(even, r, v16_load_u8(symbol)), a);
}

/* The same of two. */
V16_FN uint8_t *rans_put_pair(uint8_t *at, v16i *even, v16i *odd, const struct rans_encode_registers *r,
                              const uint8_t *symbol)
{
	const v16i a = *even, b = *odd;
	const v16m first = rans_put(even, r, v16_load_u8(symbol)),
	           second = rans_put(odd, r, v16_load_u8(symbol + V16));
	return v16_compress_both_u16(at, first, a, second, b);
}

/* A state follows from the one before, so that most of the time is waiting: as many blocks as this go side by
 * side, where registers hold them. */
enum { RANS_SIDE = V16_LANES == 16 ? 2 : 1 };

/* A block on its way: the groups whose codes are left, which go from the last to the first, and the words of
 * the others. */
struct rans_encoder {
	const uint8_t *codes;
	size_t left, around, most; /* groups; bytes beside the words, and what they may come to together */
	struct rans_model model;
	struct rans_encode_tables tables;
	v16i even, odd;
	uint8_t *at;
	uint8_t words[SYMBOLS_BLOCK_BYTES + 2 * SYMBOLS_RUN + 4 * V16]; /* a run may go beyond the most */
};

static inline size_t rans_size(const struct rans_encoder *e)
{
	return e->around + (size_t)(e->words + sizeof e->words - e->at);
}

/* Begins a block, which is not to be coded to its end unless its size is below most. */
static inline void rans_begin(struct rans_encoder *e, size_t most, const uint8_t *codes, size_t groups,
                              const struct symbols *s, const uint32_t count[SYMBOLS_MOST])
{
	e->codes = codes;
	e->around = 2 * s->count + RANS_STATE_BYTES;
	e->most = most;
	e->model = crumb_rans_model(count);
	e->tables = crumb_rans_encode_tables(&e->model);
	e->even = e->odd = v16_seti(RANS_LOW);
	e->at = e->words + sizeof e->words;
	e->left = rans_size(e) < most ? groups : 0;
}

/* Codes the last run that is left of as many blocks, which have equally many groups left. */
V16_FN void rans_put_run(struct rans_encoder *e, const size_t side, const struct symbols *s)
{
	uint8_t symbol[RANS_SIDE][SYMBOLS_RUN], *at[RANS_SIDE];
	struct rans_encode_registers registers[RANS_SIDE];
	v16i even[RANS_SIDE], odd[RANS_SIDE];
	size_t g = (e->left - 1) % (SYMBOLS_RUN / V16) + 1;
	for (size_t k = 0; k < side; k++) {
		e[k].left -= g;
		s->get(e[k].codes + s->width * e[k].left, g, symbol[k]);
		registers[k] = rans_encode_registers_of(&e[k].tables);
		even[k] = e[k].even;
		odd[k] = e[k].odd;
		at[k] = e[k].at;
	}
	for (; g % 2; g--)
		for (size_t k = 0; k < side; k++)
			at[k] = rans_put_one(at[k], &even[k], &registers[k], symbol[k] + V16 * (g - 1));
	for (; g; g -= 2)
		for (size_t k = 0; k < side; k++)
			at[k] = rans_put_pair(at[k], &even[k], &odd[k], &registers[k],
			                      symbol[k] + V16 * (g - 2));
	for (size_t k = 0; k < side; k++) {
		e[k].even = even[k];
		e[k].odd = odd[k];
		e[k].at = at[k];
		if (rans_size(&e[k]) >= e[k].most)
			e[k].left = 0;
	}
}

/* Codes a block, or RANS_SIDE of them: the longer one alone, and the rest side by side. */
static inline void rans_encode(struct rans_encoder *e, size_t count, const struct symbols *s)
{
	struct rans_encoder *const last = &e[count - 1];
	while (e->left || last->left)
		if (RANS_SIDE == 1 || count == 1 || e->left != last->left)
			rans_put_run(e->left > last->left ? e : last, 1, s);
		else
			rans_put_run(e, RANS_SIDE, s);
}

/* Writes a block: frequencies, words, states. Returns its size, or 0 if that is not below most. */
static inline size_t rans_write(uint8_t *dst, const struct rans_encoder *e, const struct symbols *s)
{
	const size_t size = rans_size(e);
	if (size >= e->most)
		return 0;
	for (unsigned j = 0; j < s->count; j++)
		dst = put_u16(dst, (uint16_t)e->model.frequency[j]);
	memcpy(dst, e->at, size - e->around);
	dst += size - e->around;
	uint32_t state[RANS_STATES];
	v16_storei(state, e->even);
	v16_storei(state + V16, e->odd);
	memcpy(dst, state, RANS_STATE_BYTES);
	return size;
}

/* ---- decode --------------------------------------------------------------------------------- */

/* Tables are by how many of the fifteen starts of symbols 1 to 15 a slot of 4096 is before: by 15 - symbol.
 */
struct rans_decode_tables {
	uint32_t quarter[3]; /* where symbols 4, 8 and 12 begin */
	float inner[3][V16]; /* the bits of where symbols 13 - 4q, 14 - 4q and 15 - 4q begin, by q < 4 */
	float frequency[V16], start[V16];
	bool few; /* at most four symbols */
};

/* Of count frequencies, 2 bytes each; false if they do not add up. */
bool crumb_rans_decode_tables(struct rans_decode_tables *t, const uint8_t *frequencies, unsigned count);

struct rans_decode_registers {
	v16i quarter[3], low[3]; /* low: inner of q = 3 */
	v16t inner[3], frequency, start;
};

static inline struct rans_decode_registers rans_decode_registers_of(const struct rans_decode_tables *t)
{
	struct rans_decode_registers r;
	for (int k = 0; k < 3; k++) {
		r.quarter[k] = v16_seti(t->quarter[k]);
		r.inner[k] = v16_table(t->inner[k]);
		r.low[k] = v16_bits_of(v16_lookup8(r.inner[k], v16_seti(3)));
	}
	r.frequency = v16_table(t->frequency);
	r.start = v16_table(t->start);
	return r;
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
RANS_FN const uint8_t *rans_get(const uint8_t *at, v16i *state, const struct rans_decode_registers *t,
                                const bool few, uint8_t *symbol)
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

/* A block on its way. */
struct rans_decoder {
	struct rans_decode_tables tables;
	const uint8_t *at, *end; /* of the words */
	v16i even, odd;
};

/* Opens a coded block: frequencies of count symbols, words, states. */
static inline bool rans_open(struct rans_decoder *d, const uint8_t *src, size_t size, unsigned count)
{
	uint32_t state[RANS_STATES];
	if (size < 2 * count + RANS_STATE_BYTES || size % 2)
		return false;
	d->at = src + 2 * count;
	d->end = src + size - RANS_STATE_BYTES;
	memcpy(state, d->end, sizeof state);
	bool good = crumb_rans_decode_tables(&d->tables, src, count);
	for (int i = 0; i < RANS_STATES; i++)
		good = good && state[i] >= RANS_LOW && state[i] < 1u << 31;
	d->even = v16_loadi(state);
	d->odd = v16_loadi(state + V16);
	return good;
}

/* The loop of rans_next. Before a pair of groups is decoded no more words were taken than there are: it reads
 * at most 64 bytes of the states behind them. */
V16_FN bool rans_groups(struct rans_decoder *const d[], const size_t side, const bool few,
                        uint8_t *const symbol[], size_t groups)
{
	struct rans_decode_registers t[RANS_SIDE];
	const uint8_t *at[RANS_SIDE];
	v16i even[RANS_SIDE], odd[RANS_SIDE];
	bool good = true;
	for (size_t k = 0; k < side; k++) {
		t[k] = rans_decode_registers_of(&d[k]->tables);
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
	return d->tables.few ? rans_groups(&d, 1, true, &symbol, groups)
	                     : rans_groups(&d, 1, false, &symbol, groups);
}
static inline bool rans_next_beside(struct rans_decoder *const d[], uint8_t *const symbol[], size_t groups)
{
	return d[0]->tables.few ? rans_groups(d, RANS_SIDE, true, symbol, groups)
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
